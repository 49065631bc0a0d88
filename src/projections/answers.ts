import { type Block, idOf } from "../domain/block.ts";
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

/** A run that broke off when it had asked a model that may have heard it. */
export type Interruption = { readonly runId: string; readonly how: "cancelled" | "failed" };

/** What was answered, and by which run (rule: Answered once): it decides whether a run asks anybody. */
export type AnswersView = {
  /** The run that left nothing to answer; null once something was said since. */
  answeredBy: CompletedRun | null;
  /** The digest of a Turn that was come back to, of which this fold knows no run that left it; an earlier one may have. */
  cameBackTo: string | null;
  /** The digest that the Turn had before it was made shorter between two runs, since anything else came to it. */
  compactedFrom: string | null;
  /** How many blocks at the beginning of the Turn were answered. */
  answeredLength: number;
  /** The newest run that broke off while a model answered, as long as no block tells the model of it and no run has completed since. */
  interrupted: Interruption | null;
  /** The run that answered each appended block: the first that completed with it in its Turn. */
  readonly byBlock: Answered;
  /** Runs that left nothing to answer, by the digest of the Turn that they left: the newest of each. */
  readonly byTurn: Answered;
};

type Answered = {
  readonly get: (name: string) => CompletedRun | undefined;
  readonly set: (name: string, run: CompletedRun) => unknown;
  /** All of them, in the order in which they were set, and how many they are, where the fold began with the first event. */
  readonly entries?: () => Iterator<readonly [name: string, run: CompletedRun]>;
  readonly size?: number;
};

export const noAnswers = (): AnswersView => ({
  answeredBy: null,
  cameBackTo: null,
  compactedFrom: null,
  answeredLength: 0,
  interrupted: null,
  byBlock: new Map(),
  byTurn: new Map(),
});

/** Somebody said something, which waits for an answer. */
export function noteAppended(view: AnswersView): void {
  view.answeredBy = null;
  view.cameBackTo = null;
  view.compactedFrom = null;
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
  for (const id of base.after(view.answeredLength).map(idOf)) {
    if (isAppended(id) && view.byBlock.get(id) === undefined) view.byBlock.set(id, run);
  }
  view.answeredLength = result.length;
  view.cameBackTo = null;
  view.compactedFrom = null;
  view.interrupted = null;
  view.answeredBy = pending.length > 0 ? null : run;
  if (pending.length === 0) view.byTurn.set(result.digest, run);
}

/** Blocks that are made in a run are named for it. */
const isAppended = (id: BlockId): boolean => id.startsWith("blk_");

/** The Turn became another one without an answer: a revert, or the end of a run that did not complete. */
export function noteTurn(view: AnswersView, before: Turn, committed: Turn): void {
  view.answeredLength = Math.min(view.answeredLength, before.commonPrefixLength(committed));
  view.answeredBy = view.byTurn.get(committed.digest) ?? null;
  view.cameBackTo = view.answeredBy === null ? committed.digest : null;
  view.compactedFrom = null;
}

/**
 * Nothing was said, and the Turn is another: it was made shorter, or the engine told the model that a run broke off. What was answered
 * stays answered, by the same run.
 */
export function noteUnasked(view: AnswersView, before: Turn, committed: Turn): void {
  view.answeredLength = Math.min(view.answeredLength, before.commonPrefixLength(committed));
  view.compactedFrom ??= before.digest;
  if (view.answeredBy !== null) view.byTurn.set(committed.digest, view.answeredBy);
}
