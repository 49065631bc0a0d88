import { realTime } from "../time.ts";
import type { LeasePace } from "./lease-watch.ts";

/** Messages from the thread of a lease. */
export type LeaseNews =
  | { readonly kind: "held" }
  | { readonly kind: "ended" }
  /** It could not be acquired, or is no longer held: the server rejects it, or was set back. */
  | { readonly kind: "lost"; readonly reason: string }
  /** It was not renewed for so long that others may consider its holder dead. */
  | { readonly kind: "late"; readonly reason: string };

/** A lease on a server. Each call tries until its deadline; the signal ends the pauses between tries. */
export type RenewedLease = {
  /** Shows every reader that the lease is held. */
  readonly acquire: (signal: AbortSignal) => Promise<void>;
  readonly renew: (signal: AbortSignal) => Promise<void>;
  /** Shows every reader that the lease has ended. */
  readonly end: (signal: AbortSignal) => Promise<void>;
};

export type RenewalOptions = {
  readonly pace: LeasePace;
  /** Ends the lease. */
  readonly ending: AbortSignal;
  readonly say: (news: LeaseNews) => void;
  /** Whether the server no longer has a lease that it acknowledged. */
  readonly isGone: (error: Error) => boolean;
  readonly reasonOf: (error: unknown) => string;
};

/** Holds a lease until the signal aborts, and then ends it. Reports every problem. */
export async function renewLease(lease: RenewedLease, options: RenewalOptions): Promise<void> {
  const { say } = options;
  const { signal } = new AbortController();
  await lease.acquire(signal);
  say({ kind: "held" });
  const isRenewed = await goOn(lease, options);
  // Do not wait for a server that did not answer: others then see the same as when a process was killed.
  if (isRenewed) await lease.end(signal);
  say({ kind: "ended" });
}

/** The pause after a failed renewal: short compared to the time after which others consider the holder dead. */
const pauseAfterFailureMs = 1_000;

/** Renews a lease until the signal aborts, even while the server is unreachable. Returns whether the last renewal succeeded. */
async function goOn(lease: RenewedLease, { pace, ending, say, isGone, reasonOf }: RenewalOptions): Promise<boolean> {
  const { renewMs, deadAfterMs } = pace;
  let renewedAt = realTime.nowMs();
  let failure: Error | null = null;
  let isLate = false;
  for (;;) {
    await realTime.wait(failure === null ? renewMs : Math.min(renewMs, pauseAfterFailureMs), ending);
    if (ending.aborted) return failure === null;
    try {
      await lease.renew(ending);
      renewedAt = realTime.nowMs();
      failure = null;
      isLate = false;
    } catch (error) {
      if (!(error instanceof Error) || isGone(error)) throw error;
      failure = error;
      const mayCountAsDead = realTime.nowMs() - renewedAt >= deadAfterMs;
      if (mayCountAsDead && !isLate) say({ kind: "late", reason: reasonOf(error) });
      isLate ||= mayCountAsDead;
    }
  }
}
