import type { Actor } from "../../domain/actor.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Journal } from "../session/journal.ts";
import { engineActor } from "../session/session.ts";
import { recordableSettlement } from "../stack/doubt.ts";
import type { EngineOptions } from "../stack/engine.ts";

/** What is said of the effects in doubt of a run that is taken up, and those of which nobody can say anything yet. */
export type Doubts = {
  readonly events: readonly ProposedEvent[];
  readonly left: ReadonlyMap<BlockId, string>;
};

/**
 * Asks the app about every tool call and effect that the log says began, may have happened, and is not idempotent. It
 * follows from the log alone, so nothing is executed before it is known; the journal answers what is settled.
 *
 * @throws {TypeError} when the app settles one with what is no JSON.
 */
export async function decideDoubts(runId: string, journal: Journal, engine: EngineOptions): Promise<Doubts> {
  const events: ProposedEvent[] = [];
  const left = new Map<BlockId, string>();
  for (const { id: blockId, name, frame, call, past } of journal.unfinishedEffects()) {
    const tool = engine.tools.find((candidate) => candidate.name === name);
    // A tool that never was there has nothing to do twice.
    const isIdempotent = (): boolean => tool === undefined || tool.idempotent;
    if (past.state === "started" && (call === null ? past.isIdempotent : isIdempotent())) continue;
    const note = (event: ProposedEvent["event"], actor: Actor): void => {
      events.push({ event, runId, actor, frame });
    };
    note({ type: "ToolParked", version: 1, data: { blockId, name } }, engineActor);
    const decided = (await engine.onInDoubt?.({ runId, blockId, name, idempotencyKey: blockId, call })) ?? null;
    if (decided === null) left.set(blockId, name);
    else {
      const settlement = recordableSettlement(decided, name);
      const actor = { kind: "app" } as const;
      note({ type: "ToolSettled", version: 1, data: { blockId, settlement } }, actor);
      journal.settle(blockId, { state: "settled", settlement, actor });
    }
  }
  return { events, left };
}

/** What the model, or the layer, is told of an effect that nobody will ever know the end of. */
export const inDoubtText = "in doubt: the run was cut off while this ran; it may have taken effect";
