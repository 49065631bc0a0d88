import { Block, idOf } from "../../domain/block.ts";
import { resultBlock } from "../../domain/calls.ts";
import { type BlockId, namedBlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { RunTurns } from "./run-turns.ts";

type RecoveryResult = { readonly block: Block; readonly outcome: "aborted" | "in-doubt" };

/**
 * The blocks that answer the calls a run leaves open, by call (rule: Runs that do not complete). They are the same however the run ends,
 * and in a fork from the middle of it.
 */
export const recoveryResults = (runId: string, turns: RunTurns): ReadonlyMap<BlockId, RecoveryResult> =>
  new Map(turns.openCalls.map((call) => [idOf(call), recoveryResult(runId, turns, call)]));

/** The Turn of an open run if it were cancelled now (rule: Runs that do not complete), with every call answered and without pending blocks. */
export const turnIfEnded = (runId: string, turns: RunTurns): Turn =>
  turns.unfinishedTurn(new Map([...recoveryResults(runId, turns)].map(([id, { block }]) => [id, block])));

/** A call that never began is aborted. For one that began, the outcome is unknown. */
function recoveryResult(runId: string, turns: RunTurns, call: Block): RecoveryResult {
  const id = idOf(call);
  const outcome = turns.isToolStarted(id) ? "in-doubt" : "aborted";
  const output =
    outcome === "aborted" ? "aborted" : "in doubt: the run ended while this tool ran; it may have taken effect";
  const block = resultBlock(call, output).withId(namedBlockId(`recovery ${runId} ${id}`));
  // A fork from the middle of the run makes it too, and no event of the fork holds it.
  return { block: Block.namedWithoutKey(block, call), outcome };
}
