import { sha256Hex } from "../../base/sha256.ts";
import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { Pass } from "../../domain/events/shared.ts";
import { type BlockId, blockIdSchema } from "../../domain/ids.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import type { Entry } from "../conversation-stream.ts";
import { resultBlock } from "./tools.ts";

/** How a run that did not complete is ended. */
export type Closing = {
  readonly runId: string;
  readonly turns: RunTurns;
  readonly how:
    | { readonly type: "RunFailed"; readonly kind: string; readonly message: string }
    | { readonly type: "RunCancelled"; readonly reason: string };
  readonly actor: Actor;
  readonly passes?: Pass[];
};

/**
 * What ends a run that did not complete (MODEL 9): an answer to every call that the remaining Turn leaves open, and the
 * end itself with the digest of that Turn.
 */
export function closingEntries({ runId, turns, how, actor, passes }: Closing): readonly Entry[] {
  const results = new Map(turns.openCalls.map((call) => [idOf(call), recoveryResult(runId, turns, call)]));
  const after = turns.unfinishedTurn(new Map([...results].map(([id, { block }]) => [id, block]))).digest;
  const discarded = turns.discardedTools;
  const rest = {
    after,
    ...(discarded.length === 0 ? {} : { discardedTools: [...discarded] }),
    ...(passes === undefined ? {} : { passes }),
  };
  const event =
    how.type === "RunFailed"
      ? ({ type: "RunFailed", version: 1, data: { kind: how.kind, message: how.message, ...rest } } as const)
      : ({ type: "RunCancelled", version: 1, data: { reason: how.reason, ...rest } } as const);
  return [
    ...[...results].map(([blockId, { block, outcome }]): Entry => {
      const data = { blockId, result: blockToJson(block), outcome, durationMs: 0 };
      return { command: { type: "FinishTool", runId, data }, actor: { kind: "recovery" }, runId };
    }),
    { command: { type: "EndRun", runId, event }, actor, runId },
  ];
}

type RecoveryResult = { readonly block: Block; readonly outcome: "aborted" | "in-doubt" };

/** A call that never began was aborted; of one that began nobody knows whether it took effect. */
function recoveryResult(runId: string, turns: RunTurns, call: Block): RecoveryResult {
  const id = idOf(call);
  const outcome = turns.isToolStarted(id) ? "in-doubt" : "aborted";
  const output =
    outcome === "aborted" ? "aborted" : "in doubt: the run ended while this tool ran; it may have taken effect";
  return { block: resultBlock(call, output).withId(recoveryId(runId, id)), outcome };
}

const recoveryId = (runId: string, callId: BlockId): BlockId =>
  blockIdSchema.parse(`blk_${sha256Hex(`recovery ${runId} ${callId}`).slice(0, 21)}`);
