import type { ProviderError } from "../ports/provider.ts";
import type { RunSession } from "../run/session.ts";

/** Notes that a response that is made in the background has ended, unless only the waiting for it has. */
export function noteEnded({ underWay }: RunSession, inferenceId: string, failure: ProviderError | null): void {
  const isUnknown =
    failure !== null && ["aborted", "connection", "stream-cut", "provider-failed"].includes(failure.kind);
  if (!isUnknown) underWay.delete(inferenceId);
}

/**
 * Has servers stop what nobody waits for any more, once the end of the run is durable: that, and the `ResponseStarted` before
 * it, is the record of it. What cannot be told a server is made in vain, and nothing else.
 */
export async function cancelUnderWay({ underWay, engine }: RunSession): Promise<void> {
  const { provider } = engine;
  if (underWay.size === 0) return;
  const signal = AbortSignal.timeout(cancelTimeoutMs);
  await Promise.allSettled([...underWay.values()].map(async (id) => provider.cancel?.(id, { signal })));
}

const cancelTimeoutMs = 10_000;
