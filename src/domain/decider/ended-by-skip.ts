/**
 * Whether a skip (rule: Damage) ends the open run. It does if the skipped event belongs to that run, because what the run did is then
 * unknown. Skipping an event outside runs, or of a run that ended earlier, ends nothing; nor does it in a fork, which left its parent's
 * runs. Every fold that tracks the open run, or what a run left open, calls this function.
 *
 * @param runId - The run of the skipped event, as the `EventSkipped` says; null if it has none.
 * @param open - The open run, or the run that an open item belongs to; null if there is none.
 */
export const isEndedBySkip = (runId: string | null, open: string | null): boolean => runId !== null && runId === open;
