import { emitWarning } from "node:process";
import type { Decision } from "../../domain/events/inference-events.ts";
import type { RunSession } from "../session/session.ts";
import type { AnyEngine, EngineOptions } from "../stack/engine.ts";

/** How many requests each layer of an engine had sent whole; null where nobody is to be warned. */
const counted = new WeakMap<EngineOptions["life"], Map<string, number> | null>();

/** For an engine whose layers are there to edit: nobody is warned of what they cost. */
export function expectWholeTurns({ options: { life } }: AnyEngine): void {
  counted.set(life, null);
}

/** As many as mode `auto` looks at: fewer may be a layer's first words on an old conversation. */
const requestsBeforeWarning = 4;

/**
 * Warns, once for each layer of an engine, of one whose changes have whole Turns sent where the caller has chosen to chain. Mode `auto`
 * warns of its own choice.
 */
export function warnOfWholeTurns({ engine }: RunSession, { strategy, rejected }: Decision): void {
  const actor = rejected?.divergence?.actor;
  const { mode, chosen } = engine.chain;
  if (mode !== "chained" || chosen !== undefined || strategy !== "full" || actor?.kind !== "middleware") return;
  const known = counted.get(engine.life);
  if (known === null) return;
  const counts = known ?? new Map<string, number>();
  counted.set(engine.life, counts);
  const count = (counts.get(actor.name) ?? 0) + 1;
  counts.set(actor.name, count);
  if (count !== requestsBeforeWarning) return;
  emitWarning(
    `the layer '${actor.name}' changed what the server held, so ${count} requests sent the whole Turn: docs/CHAINING.md says which layers keep a chain, and \`turnlog why\` which block it was`,
    "TurnlogWarning",
  );
}
