/**
 * Whether a skip (rule: Damage) ends the run that is open: it does where the skipped event stood in that run, of which nobody can say any
 * more what it did. A skip ends nothing else: not for an event outside runs, nor for one of a run that ended, or was left, before; and a
 * fork has left its parent's runs. Every fold that knows of an open run, or of what a run left open, asks this.
 *
 * @param runId - The run that the skipped event stood in, as the event that skips it says; null for none.
 * @param open - The run that is open, or that something which is open belongs to; null for none.
 */
export const isEndedBySkip = (runId: string | null, open: string | null): boolean => runId !== null && runId === open;
