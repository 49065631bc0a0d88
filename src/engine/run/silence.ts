type LastSign = {
  /** The newest event of the run that this process has read. */
  readonly revision: number | null;
  readonly at: string;
};

/**
 * How long nothing was heard of a run, in milliseconds. Its newest event tells the time of its owner's clock; where that is
 * ahead of the reader's, one of the two has jumped, and what counts is how long the reader itself has waited since it first
 * saw that event.
 */
export function silenceOf(runId: string, { revision, at }: LastSign, now: number): number {
  const happenedAt = Date.parse(at);
  if (happenedAt <= now) return now - happenedAt;
  const seen = seenByRun.get(runId);
  if (seen !== undefined && seen.revision === revision && seen.since <= now) return now - seen.since;
  seenByRun.delete(runId);
  seenByRun.set(runId, { revision, since: now });
  const [oldest] = seenByRun.keys();
  if (seenByRun.size > maxRememberedRuns && oldest !== undefined) seenByRun.delete(oldest);
  return 0;
}

/** When this process first saw the newest event of a run whose time is still to come. */
const seenByRun = new Map<string, { readonly revision: number | null; readonly since: number }>();

/** A run that is forgotten is waited for anew. */
const maxRememberedRuns = 1_000;
