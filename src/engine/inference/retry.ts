import { sha256Hex } from "../../base/sha256.ts";
import { ownEffectsOf } from "../options/own-effects.ts";
import type { Settings } from "../ports/codec.ts";
import type { ProviderError } from "../ports/provider-error.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { RunSession } from "../session/session.ts";

type Refused = {
  readonly error: ProviderError;
  readonly frame: string;
  /** How often the step was already sent again. */
  readonly retries: Retries;
  /** The settings of the request. */
  readonly settings: Settings;
};

/** How often a step was sent again: after the server refused it, and after an unknown outcome. */
export type Retries = { readonly rejected: number; readonly unknown: number };

export const noRetries: Retries = { rejected: 0, unknown: 0 };

/** A request that was sent again because its process had died does not count against this policy. */
export const countRetry = (retries: Retries, { kind, outcome }: Pick<ProviderError, "kind" | "outcome">): Retries =>
  outcome === "rejected" || brokenOff.has(kind) ? { ...retries, [outcome]: retries[outcome] + 1 } : retries;

/**
 * The delay before a failed request is sent again, in milliseconds; null if it is not. It doubles each time, and is never shorter than the
 * server asks. The jitter follows from run and frame, so the same run always waits the same.
 */
export function retryDelayMs({ run, engine }: RunSession, { error, frame, retries, settings }: Refused): number | null {
  const { maxRetries, unknownOutcome, maxDelayMs } = engine.retry;
  const isRefused = error.outcome === "rejected";
  const askedMs = error.retryAfterMs ?? 0;
  const isLeft = isRefused ? retries.rejected < maxRetries : retries.unknown < unknownOutcome;
  const mayBe = isRefused ? mayBeSentAgain(error) : mayBeSentTwice(error, engine, settings);
  if (!isLeft || !mayBe || askedMs > maxDelayMs) return null;
  const times = retries.rejected + retries.unknown;
  const backoffMs = Math.min(maxBackoffMs, backoffMsMin * 2 ** times);
  const chance = Number.parseInt(sha256Hex(`${run.id} ${frame} retry ${times}`).slice(0, 8), 16) / 2 ** 32;
  return Math.round(Math.min(maxDelayMs, askedMs + backoffMs * (0.5 + chance / 2)));
}

const backoffMsMin = 500;
const maxBackoffMs = 8_000;

/** Only requests that were refused before the server acted, and that may be accepted unchanged later. */
function mayBeSentAgain({ shouldRetry, kind, status }: ProviderError): boolean {
  if (shouldRetry === false) return false;
  return (
    shouldRetry === true ||
    kind === "rate-limited" ||
    kind === "conversation-locked" ||
    kind === "connection" ||
    status === 503 ||
    status === 529
  );
}

/**
 * Failures in which the server or the connection breaks off. This policy retries no other failures after which the server may have acted,
 * such as aborts.
 */
const brokenOff: ReadonlySet<string> = new Set([
  ...["server-error", "connection", "stream-cut", "answer-stalled", "timeout", "rate-limited"],
]);

/** The server may have acted: the caller must have asked for such retries, and a second request may only cost twice. */
function mayBeSentTwice(
  { shouldRetry, kind }: ProviderError,
  { chain, provider }: RunSession["engine"],
  settings: Settings,
): boolean {
  if (shouldRetry === false || !brokenOff.has(kind) || chain.mode === "conversation") return false;
  return ownEffectsOf(provider.codec, settings) === null;
}

/** The delay after which the step is sent again, and the time of the failure. */
type Awaited = { readonly retryInMs: number; readonly failedAt: number };

/**
 * Waits for the rest of the delay before a step is sent again. The failure is durable first, so a process that takes over the run continues
 * to wait. Not called if the log has the next attempt.
 */
export async function waitToRetry(
  session: RunSession,
  scope: CallScope,
  { retryInMs, failedAt }: Awaited,
): Promise<void> {
  const leftMs = Math.min(retryInMs, failedAt + retryInMs - session.engine.clock());
  if (leftMs <= 0) return;
  await session.run.recorder.flush();
  scope.throwIfEnded();
  const { sleep } = session.engine;
  try {
    await sleep(leftMs, scope.signal);
  } finally {
    scope.throwIfEnded();
  }
}
