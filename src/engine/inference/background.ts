import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { OpenRun } from "../../projections/client-turn.ts";
import type { RunSession } from "../session/session.ts";
import type { Provider } from "../stack/provider.ts";

/** Notes that a response that is made in the background has ended, unless only the waiting for it has. */
export function noteEnded(
  { underWay }: Pick<RunSession, "underWay">,
  inferenceId: string,
  failure: { readonly kind: string } | null,
): void {
  if (failure === null || !waitingEnded.has(failure.kind)) underWay.delete(inferenceId);
}

/** Failures of the waiting, which say nothing of the response. */
const waitingEnded: ReadonlySet<string> = new Set([
  ...["aborted", "connection", "stream-cut", "provider-failed"],
  ...["body-too-large", "item-too-large", "stream-too-large", "answer-stalled"],
]);

/**
 * The responses that this endpoint makes in the background for a run that was cut off, by inference id: begun by its log, and
 * not ended.
 */
export async function underWayOf(
  stream: Pick<ConversationWriter, "read">,
  { id: runId, startedRevision }: OpenRun,
  provider: Provider,
): Promise<Map<string, string>> {
  const underWay = new Map<string, string>();
  if (provider.cancel === undefined) return underWay;
  const asked = new Set<string>();
  for await (const { runId: of, event } of stream.read(startedRevision)) {
    if (of !== runId) continue;
    if (event.type === "InferenceRequested" && event.data.scope === provider.scope) asked.add(event.data.inferenceId);
    else if (event.type === "ResponseStarted" && asked.has(event.data.inferenceId)) {
      underWay.set(event.data.inferenceId, event.data.responseId);
    } else if (event.type === "ResponseReceived") noteEnded({ underWay }, event.data.inferenceId, null);
    else if (event.type === "InferenceFailed") noteEnded({ underWay }, event.data.inferenceId, event.data);
  }
  return underWay;
}

/**
 * Has servers stop what nobody waits for any more, once the end of the run is durable: that, and the `ResponseStarted` before
 * it, is the record of it. What cannot be told a server is made in vain, and nothing else.
 */
export async function cancelUnderWay({ underWay, engine }: Pick<RunSession, "underWay" | "engine">): Promise<void> {
  const { provider } = engine;
  if (underWay.size === 0) return;
  const signal = AbortSignal.timeout(cancelTimeoutMs);
  await Promise.allSettled([...underWay.values()].map(async (id) => provider.cancel?.(id, { signal })));
}

const cancelTimeoutMs = 10_000;
