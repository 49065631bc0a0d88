/**
 * Whether a skip (rule: Damage) ends the open run. It does if the skipped event belongs to that run, because what the run did is no longer
 * known. The skip of an event outside runs, or of a run that ended earlier, ends nothing; a fork has left its parent's runs. Every fold
 * that knows of an open run, or of what a run left open, asks this function.
 *
 * @param runId - The run of the skipped event, as the `EventSkipped` says; null if it has none.
 * @param open - The open run, or the run that an open item belongs to; null if there is none.
 */
export const isEndedBySkip = (runId: string | null, open: string | null): boolean => runId !== null && runId === open;
