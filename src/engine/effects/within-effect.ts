import { AsyncLocalStorage } from "node:async_hooks";

type Effect = { readonly runId: string; readonly name: string };

/** What code is a part of which effect's work. */
const within = new AsyncLocalStorage<Effect>();

/** Does the work of an effect, from which nothing may be asked of its run. */
export const asEffect = <T>(effect: Effect, work: () => T): T => within.run(effect, work);

/**
 * Refuses what a layer asks of its run from within an effect's work: once the log answers for the effect, its work is not done, and
 * what was asked in it would not be met again.
 *
 * @throws {TypeError} with the effect's name.
 */
export function refuseWithinEffect(runId: string, asked: string): void {
  const effect = within.getStore();
  if (effect?.runId !== runId) return;
  throw new TypeError(
    `${asked} was called within the effect '${effect.name}', whose work no replay does again: call it before the effect, or after it`,
  );
}
