import { AsyncLocalStorage } from "node:async_hooks";

type Effect = { readonly runId: string; readonly name: string };

/** The effect whose work the current code belongs to. */
const within = new AsyncLocalStorage<Effect>();

/** Runs the work of an effect, which must not use its run. */
export const asEffect = <T>(effect: Effect, work: () => T): T => within.run(effect, work);

/**
 * Rejects a use of the run from within an effect's work. Once the log answers for the effect, its work is not done again, so a
 * replay would never repeat that use.
 *
 * @throws {TypeError} with the effect's name.
 */
export function refuseWithinEffect(runId: string, asked: string): void {
  const effect = within.getStore();
  if (effect?.runId !== runId) return;
  throw new TypeError(
    `${asked} was called inside the effect '${effect.name}', which a replay does not repeat: call it before or after the effect`,
  );
}
