import type { Turn } from "../../domain/turn.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { changeTurn } from "../../log/writer/revert.ts";
import { type CompactOptions, checkedCompaction } from "../stack/compact-policy.ts";
import { compacted } from "./record-compaction.ts";
import { droppableIn, truncateResults, withoutStretch } from "./shorten.ts";

/**
 * Makes the Turn shorter between two runs, without a model: cuts tool results, or leaves out the oldest exchanges. Writes nothing where
 * there is nothing to make shorter.
 *
 * @throws {RunInProgressError} while a run is open.
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
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
