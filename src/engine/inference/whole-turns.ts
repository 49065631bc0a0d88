import { emitWarning } from "node:process";
import type { Decision } from "../../domain/events/inference-events.ts";
import type { AnyEngine, EngineOptions } from "../options/engine.ts";
import type { RunSession } from "../session/session.ts";

/** How many requests were sent whole because of each layer of an engine; null if no warning is wanted. */
const counted = new WeakMap<EngineOptions["life"], Map<string, number> | null>();

/** Turns the warning off for an engine whose layers are meant to edit. */
export function expectWholeTurns({ options: { life } }: AnyEngine): void {
  counted.set(life, null);
}

/** As many as mode `auto` looks at: fewer may be a layer's first edits of an old conversation. */
const requestsBeforeWarning = 4;

/**
 * Warns once for each layer of an engine whose changes cause whole Turns to be sent although the caller chose to chain. Mode `auto` warns
 * of its own choice.
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
    `the layer '${actor.name}' changed what the server held, so ${count} requests sent the whole Turn: docs/CHAINING.md lists the layers that keep a chain, and \`turnlog why\` shows the changed block`,
    "TurnlogWarning",
  );
}
