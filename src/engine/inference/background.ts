import type { OpenRun } from "../../projections/client-turn.ts";
import type { EngineOptions } from "../stack/create-engine.ts";

/**
 * Has the server stop what it makes in the background and nobody waits for any more, once the end of the run is durable: that,
 * and the `ResponseStarted` before it, is the record of it. What cannot be told a server is made in vain, and nothing else.
 */
export async function cancelUnderWay(run: OpenRun | null, { provider }: EngineOptions): Promise<void> {
  const ours = [...(run?.underWay.values() ?? [])].filter(({ scope }) => scope === provider.scope);
  if (ours.length === 0) return;
  const signal = AbortSignal.timeout(cancelTimeoutMs);
  await Promise.allSettled(ours.map(async ({ responseId }) => provider.cancel?.(responseId, { signal })));
}

const cancelTimeoutMs = 10_000;
