import type { Time } from "../time.ts";

/** How often a lease is renewed, and how it is judged. */
export type LeasePace = {
  readonly renewMs: number;
  /** How long a reader itself has to see a lease unrenewed before it takes the holder for dead. */
  readonly deadAfterMs: number;
  /** How often a reader looks that wants to know. */
  readonly lookMs: number;
};

export const leasePace: LeasePace = { renewMs: 10_000, deadAfterMs: 45_000, lookMs: 2_000 };

/** What the server shows of a lease: the number of its newest renewal, that its holder ended it, or nothing. */
export type LeaseSight = number | "ended" | "none";

/** What is known of the holder; `unsure` before the reader has seen a renewal, or has waited long enough for one. */
type Verdict = Certain | "unsure";
type Certain = "alive" | "dead";

export type LeaseWatch = {
  /** What one look at the server shows, together with those before it. While that is not certain, it is looked at in the background. */
  readonly look: (leaseId: string) => Promise<Verdict>;
  /** Waits until the verdict is certain; rejects when the watch ends, and with an error that does not pass. */
  readonly untilKnown: (leaseId: string) => Promise<Certain>;
};

type WatchOptions = {
  /**
   * What the server shows now, and whether a try failed before it answered; rejects when the deadline of a call is over, and with an
   * error that does not pass.
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
  /** How long this number was seen unchanged. */
  readonly silentMs: number;
  /** Until when the holder counts as alive without another renewal, by the last look that came before one. */
  readonly aliveUntil: number;
};

/** Leases that are remembered; one that is forgotten is waited for anew. */
const maxLeases = 1_000;

/**
 * Judges leases by the reader's own stopwatch: no clock of a server or holder is asked. Only time counts in which the server
 * answered every look, for while nobody reaches it no holder can renew its lease either. So a look that fails begins the wait
 * anew, and between two looks no more counts than two pauses take: what was in a longer one, nobody has seen.
 */
export function createLeaseWatch({ look, pace, time, closing }: WatchOptions): LeaseWatch {
  const { deadAfterMs, lookMs } = pace;
  const seenById = new Map<string, Seen>();
  const watches = new Map<string, Promise<Certain>>();

  /** What a look at a lease shows, and whether it shows a renewal since the one before. */
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
    // Where nobody waits for it, the next look meets the same error.
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
