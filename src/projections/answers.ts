import type { Block } from "../domain/block.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";

/** A run that completed, by where its events stand: from `RunStarted` to `RunCompleted`. */
export type CompletedRun = {
  readonly runId: string;
  readonly stream: string;
  readonly from: number;
  readonly to: number;
  /** How many blocks at the end of its result the Turn that it started from did not have. */
  readonly brought: number;
};

/**
 * What was answered, and by which run (law 8). It decides whether a run asks anybody, so it is folded from all events: a
 * conversation that was restored from a snapshot, to look back, does not have it.
 */
export type AnswersView = {
  /** The run that left nothing to answer; null once something was said since. */
  answeredBy: CompletedRun | null;
  /** The run that answered each appended block: the first that completed with it in its Turn. */
  readonly byBlock: Map<BlockId, CompletedRun>;
  /** Appended blocks that no run has answered, also those that a revert took out. */
  readonly unanswered: Set<BlockId>;
  /** Runs that left nothing to answer, by the digest of the Turn that they left. */
  readonly byTurn: Map<string, CompletedRun>;
};

export const noAnswers = (): AnswersView => ({
  answeredBy: null,
  byBlock: new Map(),
  unanswered: new Set(),
  byTurn: new Map(),
});

/** Somebody said something, which waits for an answer. */
export function noteAppended(view: AnswersView, { id }: Block): void {
  view.answeredBy = null;
  if (id !== null) view.unanswered.add(id);
}

/** How many blocks stand behind the last one that was there before. */
export function countBrought(base: Turn, result: Turn): number {
  const shared = base.commonPrefixLength(result);
  const known = new Set(base.after(shared).map(({ id }) => id));
  const behind = result.after(shared);
  return behind.length - 1 - behind.findLastIndex(({ id }) => known.has(id));
}

/** A run completed on this Turn; what was appended meanwhile waits for the next one. */
export function noteCompleted(
  view: AnswersView,
  run: CompletedRun,
  { base, result, pending }: { readonly base: Turn; readonly result: Turn; readonly pending: readonly Block[] },
): void {
  const isPending = new Set(pending.map(({ id }) => id));
  for (const id of view.unanswered) {
    if (isPending.has(id) || base.find(id) === undefined) continue;
    view.byBlock.set(id, run);
    view.unanswered.delete(id);
  }
  view.answeredBy = pending.length > 0 ? null : run;
  if (pending.length === 0) view.byTurn.set(result.digest, run);
}

/** The Turn became another one without an answer: a revert, or the end of a run that did not complete. */
export function noteTurn(view: AnswersView, committed: Turn): void {
  view.answeredBy = view.byTurn.get(committed.digest) ?? null;
}
