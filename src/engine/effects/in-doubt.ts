import type { Actor } from "../../domain/actor.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import { recordableSettlement } from "../options/doubt.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { Journal } from "../session/journal.ts";
import { engineActor } from "../session/session.ts";

/** The settlements of a resumed run's effects in doubt, and the calls and effects that it still waits for. */
export type Doubts = {
  readonly events: readonly ProposedEvent[];
  readonly left: ReadonlySet<BlockId>;
};

type Doubtful = {
  readonly runId: string;
  readonly journal: Journal;
  /** What the log says that the run waits for. */
  readonly waiting: readonly BlockId[];
};

/**
 * Asks the app about every tool call and effect that, by the log, began, may have happened, and is not idempotent. This depends on
 * the log alone, so it is decided before anything is executed; the journal answers the settled effects.
 *
 * @throws {TypeError} if the app settles one with a value that is not JSON.
 */
export async function decideDoubts({ runId, journal, waiting }: Doubtful, engine: EngineOptions): Promise<Doubts> {
  const events: ProposedEvent[] = [];
  const left = new Set(waiting);
  for (const { id: blockId, name, frame, call, past } of journal.unfinishedEffects()) {
    const tool = engine.tools.find((candidate) => candidate.name === name);
    // Running an unknown tool has no effect, so it may be repeated.
    const isIdempotent = (): boolean => tool === undefined || tool.idempotent;
    if (past.state === "started" && (call === null ? past.isIdempotent : isIdempotent())) continue;
    const note = (event: ProposedEvent["event"], actor: Actor): void => {
      events.push({ event, runId, actor, frame });
    };
    note({ type: "ToolParked", version: 1, data: { blockId, name } }, engineActor);
    const decided = (await engine.onInDoubt?.({ runId, blockId, name, idempotencyKey: blockId, call })) ?? null;
    if (decided === null) left.add(blockId);
    else {
      const settlement = recordableSettlement(decided, name);
      const actor = { kind: "app" } as const;
      note({ type: "ToolSettled", version: 1, data: { blockId, settlement } }, actor);
      journal.settle(blockId, { state: "settled", settlement, actor });
    }
  }
  return { events, left };
}

/** The text that the model or the layer gets for an effect whose outcome will never be known. */
export const inDoubtText = "in doubt: no result came; it may have taken effect";
