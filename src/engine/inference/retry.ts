import { sha256Hex } from "../../base/sha256.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { RunSession } from "../session/session.ts";
import type { ProviderError } from "../stack/provider.ts";

type Refused = {
  readonly error: ProviderError;
  readonly frame: string;
  /** How often the step was sent again already. */
  readonly retries: number;
};

/**
 * How long is waited before a refused request is sent again, in milliseconds; null where it is not. Twice as long each time,
 * never shorter than the server asks, and jittered by what follows from run and frame, so that the same run waits the same.
 */
export function retryDelayMs({ runId, engine }: RunSession, { error, frame, retries }: Refused): number | null {
  const { maxRetries, maxDelayMs } = engine.retry;
  const askedMs = error.retryAfterMs ?? 0;
  if (!mayBeSentAgain(error) || retries >= maxRetries || askedMs > maxDelayMs) return null;
  const backoffMs = Math.min(maxBackoffMs, backoffMsMin * 2 ** retries);
  const chance = Number.parseInt(sha256Hex(`${runId} ${frame} retry ${retries}`).slice(0, 8), 16) / 2 ** 32;
  return Math.round(Math.min(maxDelayMs, askedMs + backoffMs * (0.5 + chance / 2)));
}

const backoffMsMin = 500;
const maxBackoffMs = 8_000;

/** Only what was refused before the server acted, and may be taken at another time as it stands. */
function mayBeSentAgain({ outcome, shouldRetry, kind, status }: ProviderError): boolean {
  if (outcome !== "rejected" || shouldRetry === false) return false;
  return (
    shouldRetry === true ||
    kind === "rate-limited" ||
    kind === "conversation-locked" ||
    kind === "connection" ||
    status === 503 ||
    status === 529
  );
}

/** A failure after which the step is asked again, and when it came. */
type Awaited = { readonly retryInMs: number; readonly failedAt: number };

/**
 * Waits for what is left of the time until a step is asked again. The failure is durable before: who takes the run up goes
 * on waiting. Of an attempt that the log has nobody waits for the next.
 */
export async function waitToRetry(
  session: RunSession,
  scope: CallScope,
  { retryInMs, failedAt }: Awaited,
): Promise<void> {
  const leftMs = Math.min(retryInMs, failedAt + retryInMs - session.engine.clock());
  if (leftMs <= 0) return;
  await session.recorder.flush();
  scope.throwIfEnded();
  const { sleep } = session.engine;
  try {
    await sleep(leftMs, scope.signal);
  } finally {
    scope.throwIfEnded();
  }
}
