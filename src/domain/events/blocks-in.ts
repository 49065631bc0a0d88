import type { BlockJson } from "../block-json.ts";
import { blocksOfEdits } from "../edits.ts";
import type { ConversationEvent } from "./event.ts";

/** The blocks that an event holds, in its order. */
export function blocksIn(event: ConversationEvent): readonly BlockJson[] {
  switch (event.type) {
    case "BlockAppended":
      return [event.data.block];
    case "ResponseReceived":
      return event.data.output;
    case "ToolFinished":
      return [event.data.result];
    case "TurnEdited":
    case "TurnReverted":
    case "TurnCompacted":
      return blocksOfEdits(event.data.edits);
    default:
      return [];
  }
}
