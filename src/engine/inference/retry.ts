import { sha256Hex } from "../../base/sha256.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { RunSession } from "../session/session.ts";
import type { Settings } from "../stack/codec.ts";
import { ownEffectsOf } from "../stack/own-effects.ts";
import type { ProviderError } from "../stack/provider.ts";

type Refused = {
  readonly error: ProviderError;
  readonly frame: string;
  /** How often the step was sent again already. */
  readonly retries: Retries;
  /** The settings of the request. */
  readonly settings: Settings;
};

/** How often a step was sent again: where the server had refused it, and where it may have acted on it. */
export type Retries = { readonly rejected: number; readonly unknown: number };

export const noRetries: Retries = { rejected: 0, unknown: 0 };

/** What was sent again when its sender had died is not the doing of this policy. */
export const countRetry = (retries: Retries, { kind, outcome }: Pick<ProviderError, "kind" | "outcome">): Retries =>
  outcome === "rejected" || brokenOff.has(kind) ? { ...retries, [outcome]: retries[outcome] + 1 } : retries;

/**
 * How long is waited before a failed request is sent again, in milliseconds; null where it is not. Twice as long each time,
 * never shorter than the server asks, and jittered by what follows from run and frame, so that the same run waits the same.
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

/** Only what was refused before the server acted, and may be taken at another time as it stands. */
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

/** How a server, or the way to it, breaks off. What a caller aborted, and what no answer of a server is, is not sent again. */
const brokenOff: ReadonlySet<string> = new Set([
  ...["server-error", "connection", "stream-cut", "answer-stalled", "timeout", "rate-limited"],
]);

/** The server may have acted on it: the caller has to have asked for it, and doing it twice may only cost twice. */
function mayBeSentTwice(
  { shouldRetry, kind }: ProviderError,
  { chain, provider }: RunSession["engine"],
  settings: Settings,
): boolean {
  if (shouldRetry === false || !brokenOff.has(kind) || chain.mode === "conversation") return false;
  return ownEffectsOf(provider.codec, settings) === null;
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
  await session.run.recorder.flush();
  scope.throwIfEnded();
  const { sleep } = session.engine;
  try {
    await sleep(leftMs, scope.signal);
  } finally {
    scope.throwIfEnded();
  }
}
