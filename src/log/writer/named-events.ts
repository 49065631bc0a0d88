import { Block } from "../../domain/block.ts";
import { blockFromJson, blockToJson } from "../../domain/block-json.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { blockAppending } from "../../domain/events/blocks-in.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";

/** The same events, with the names of the conversation for the blocks that callers append, and for late results. */
export const namedBy = (names: BlockNames, proposed: readonly ProposedEvent[]): readonly ProposedEvent[] =>
  proposed.map((each) => {
    const { event } = each;
    if (event.type === "BlockAppended") {
      const block = Block.named(blockFromJson(event.data.block), names);
      return block.recordedAs === event.data.block.digest ? each : { ...each, event: blockAppending(block) };
    }
    if (event.type !== "ToolFinished") return each;
    const { result: before } = event.data;
    const block = Block.named(blockFromJson(before), names);
    if (block.recordedAs === before.digest) return each;
    return { ...each, event: { ...event, data: { ...event.data, result: blockToJson(block) } } };
  });
