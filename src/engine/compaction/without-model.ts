import type { Turn } from "../../domain/turn.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { changeTurn } from "../../log/writer/revert.ts";
import { type CompactOptions, checkedCompaction } from "../options/compact-policy.ts";
import { compacted } from "./record-compaction.ts";
import { droppableIn, truncateResults, withoutStretch } from "./shorten.ts";

/**
 * Shortens the Turn between two runs, without a model: cuts tool results, or drops the oldest exchanges. Writes nothing if nothing
 * can be shortened.
 *
 * @throws {RunInProgressError} while a run is open.
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export async function compactTurn(stream: ConversationWriter, options: CompactOptions): Promise<Turn> {
  const { how, keep, maxResultLength: maxLength } = checkedCompaction(options);
  const target = (turn: Turn): Turn => {
    if (how === "truncate-results") return truncateResults(turn, { maxLength });
    const stretch = droppableIn(turn, keep);
    return stretch === null ? turn : withoutStretch(turn, stretch);
  };
  return changeTurn(stream, { target, event: compacted({ how, because: "asked" }), actor: { kind: "engine" } });
}
