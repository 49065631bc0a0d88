import { rejectionOf } from "../../base/abort.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { PastEffect } from "../session/journal-answer.ts";
import { engineActor, type RunSession, record } from "../session/session.ts";
import { recordableSettlement } from "../stack/doubt.ts";

/** An effect as it is to be begun, or what takes its place. */
export type EffectStart =
  | { readonly begin: "first" | "again" }
  | {
      readonly begin: "no";
      readonly settlement: Exclude<Settlement, { readonly how: "rerun" }>;
      readonly actor: Actor;
    };

type Doubtful = {
  readonly blockId: BlockId;
  readonly name: string;
  readonly call: Block | null;
  readonly idempotent: boolean;
  readonly frame: string;
  readonly signal: AbortSignal;
};

/**
 * How an effect begins, by what the log knows of it (the table of MODEL 10). What may have happened and is not idempotent
 * waits here until somebody settles it: the run is parked meanwhile, and this call ends with it.
 *
 * @throws {TypeError} when the app settles it with what is no JSON.
 */
export async function effectStartOf(
  session: RunSession,
  past: Exclude<PastEffect, { readonly state: "finished" }>,
  effect: Doubtful,
): Promise<EffectStart> {
  if (past.state === "none") return { begin: "first" };
  if (past.state === "started" && effect.idempotent) return { begin: "again" };
  if (past.state === "settled") return settledBy(past.settlement, past.actor);
  // Nobody is asked, and nothing is written, before the log of the run was met again.
  await session.journal.consumed();
  const { runId } = session;
  const { blockId, name, call, frame } = effect;
  if (past.state === "started") {
    record(session, { type: "ToolParked", version: 1, data: { blockId, name } }, engineActor, frame);
  }
  const decided = (await session.engine.onInDoubt?.({ runId, blockId, name, idempotencyKey: blockId, call })) ?? null;
  if (decided !== null) {
    const settlement = recordableSettlement(decided, name);
    const actor = { kind: "app" } as const;
    record(session, { type: "ToolSettled", version: 1, data: { blockId, settlement } }, actor, frame);
    return settledBy(settlement, actor);
  }
  session.parking.wait(blockId, name);
  return rejectionOf(effect.signal);
}

const settledBy = (settlement: Settlement, actor: Actor): EffectStart =>
  settlement.how === "rerun" ? { begin: "first" } : { begin: "no", settlement, actor };

/** What the model, or the layer, is told of an effect that nobody will ever know the end of. */
export const inDoubtText = "in doubt: the run was cut off while this ran; it may have taken effect";
