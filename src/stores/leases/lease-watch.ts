import type { Time } from "../time.ts";

/** How often a lease is renewed, and how it is judged. */
export type LeasePace = {
  readonly renewMs: number;
  /** How long a reader must itself see no renewal before it considers the holder dead. */
  readonly deadAfterMs: number;
  /** How often a waiting reader looks. */
  readonly lookMs: number;
};

export const leasePace: LeasePace = { renewMs: 10_000, deadAfterMs: 45_000, lookMs: 2_000 };

/** What the server shows of a lease: the number of its newest renewal, `ended` by its holder, or nothing. */
export type LeaseSight = number | "ended" | "none";

/** Whether the holder is alive; `unsure` until the reader has seen a renewal, or has waited long enough for one. */
type Verdict = Certain | "unsure";
type Certain = "alive" | "dead";

export type LeaseWatch = {
  /** The verdict after one look at the server and all earlier ones. While it is unsure, further looks follow in the background. */
  readonly look: (leaseId: string) => Promise<Verdict>;
  /** Waits for a certain verdict. Rejects when the watch ends, and with a permanent error. */
  readonly untilKnown: (leaseId: string) => Promise<Certain>;
};

type WatchOptions = {
  /**
   * What the server shows now, and whether a try failed before it answered. Rejects when the deadline of a call is over, and with a
   * permanent error.
   */
  readonly look: (leaseId: string) => Promise<{ readonly sight: LeaseSight; readonly hasFailed: boolean }>;
  readonly pace: Pick<LeasePace, "deadAfterMs" | "lookMs">;
  readonly time: Time;
  /** Ends all watching, with its reason. */
  readonly closing: AbortSignal;
};

type Seen = {
  readonly number: number;
  readonly lookedAt: number;
  /** How long the reader has seen this number unchanged. */
  readonly silentMs: number;
  /** Until when the holder counts as alive without another renewal: a fixed time after the last look before a renewal. */
  readonly aliveUntil: number;
};

/** How many leases to remember; for a forgotten one the wait starts again. */
const maxLeases = 1_000;

/**
 * Judges leases by the reader's own stopwatch, without a clock of a server or holder. Only time in which the server
 * answered every look counts, because while the server is unreachable no holder can renew its lease either. So a failed look restarts
 * the wait, and the time between two looks counts as two pauses at most: nothing is known about the rest of a longer gap.
 */
export function createLeaseWatch({ look, pace, time, closing }: WatchOptions): LeaseWatch {
  const { deadAfterMs, lookMs } = pace;
  const seenById = new Map<string, Seen>();
  const watches = new Map<string, Promise<Certain>>();

  /** Looks at a lease once. Returns the verdict, and whether there was a renewal since the last look. */
  async function lookOnce(leaseId: string): Promise<{ readonly verdict: Verdict; readonly isNew: boolean }> {
    const { sight, hasFailed } = await look(leaseId);
    const seen = seenById.get(leaseId);
    seenById.delete(leaseId);
    if (sight === "ended" || sight === "none") return { verdict: "dead", isNew: true };
    const next = following(seen, sight, hasFailed);
    seenById.set(leaseId, next);
    const [oldest] = seenById.keys();
    if (seenById.size > maxLeases && oldest !== undefined) seenById.delete(oldest);
    return { verdict: verdictOf(next), isNew: seen?.number !== sight };
  }

  function following(seen: Seen | undefined, number: number, hasFailed: boolean): Seen {
    const lookedAt = time.nowMs();
    if (seen === undefined) return { number, lookedAt, silentMs: 0, aliveUntil: lookedAt };
    if (seen.number !== number) return { number, lookedAt, silentMs: 0, aliveUntil: seen.lookedAt + deadAfterMs };
    const passed = Math.min(lookedAt - seen.lookedAt, 2 * lookMs);
    return { ...seen, lookedAt, silentMs: hasFailed ? 0 : seen.silentMs + passed };
  }

  function verdictOf({ silentMs, aliveUntil }: Seen): Verdict {
    if (silentMs >= deadAfterMs) return "dead";
    return time.nowMs() < aliveUntil ? "alive" : "unsure";
  }

  /** Looks until the lease is renewed once more, or its holder is known to be dead. */
  async function watch(leaseId: string): Promise<Certain> {
    for (;;) {
      await time.wait(lookMs, closing);
      closing.throwIfAborted();
      const { verdict, isNew } = await lookOnce(leaseId);
      if (verdict === "dead" || (verdict === "alive" && isNew)) return verdict;
    }
  }

  function watching(leaseId: string): Promise<Certain> {
    const known = watches.get(leaseId);
    if (known !== undefined) return known;
    const begun = watch(leaseId).finally(() => {
      watches.delete(leaseId);
    });
    watches.set(leaseId, begun);
    // If no caller awaits it, the next look gets the same error.
    begun.catch(() => undefined);
    return begun;
  }

  async function lookNow(leaseId: string): Promise<Verdict> {
    const { verdict, isNew } = await lookOnce(leaseId);
    if (verdict === "unsure" || (verdict === "alive" && !isNew)) void watching(leaseId);
    return verdict;
  }

  return {
    look: lookNow,
    async untilKnown(leaseId) {
      const verdict = await lookNow(leaseId);
      return verdict === "unsure" ? watching(leaseId) : verdict;
    },
  };
}
