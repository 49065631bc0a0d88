import type { Block } from "../block.ts";
import { type BlockJson, blockToJson } from "../block-json.ts";
import type { Declaration } from "../declared-settings.ts";
import { blocksOfEdits } from "../edits.ts";
import type { ConversationEvent, ConversationEventOf } from "./event.ts";
import type { ProposedEvent } from "./recorded.ts";

/** The blocks that an event holds, in its order. */
export function blocksIn(event: ConversationEvent): readonly BlockJson[] {
  switch (event.type) {
    case "BlockAppended":
      return [event.data.block];
    case "ResponseReceived":
      return event.data.output;
    case "ToolFinished":
      return [event.data.result];
    case "ApprovalRequested":
      return event.data.call === undefined ? [] : [event.data.call];
    case "TurnEdited":
    case "TurnReverted":
    case "TurnCompacted":
      return blocksOfEdits(event.data.edits);
    default:
      return [];
  }
}

/** The settings that an event declares. */
export const declaredIn = (event: ConversationEvent): Declaration | null =>
  event.type === "SettingsDeclared" ? event.data : null;

/** The event that appends a block. */
export const blockAppending = (block: Block): ConversationEventOf<"BlockAppended"> => ({
  type: "BlockAppended",
  version: 1,
  data: { block: blockToJson(block) },
});

/** The events that create a conversation from imported blocks. */
export function importOf(source: string, blocks: readonly Block[], title?: string): readonly ProposedEvent[] {
  const data = { origin: { type: "import" as const, source }, ...(title === undefined ? {} : { title }) };
  const started: ProposedEvent["event"] = { type: "ConversationStarted", version: 1, data };
  return [started, ...blocks.map(blockAppending)].map((event) => ({ event, actor: { kind: "import" } }));
}
