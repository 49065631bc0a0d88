import { type Block, idOf } from "../../domain/block.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";

/** A completed run, by the places of its events, from `RunStarted` to `RunCompleted`. */
export type CompletedRun = {
  readonly runId: string;
  readonly stream: string;
  readonly from: number;
  readonly to: number;
  /** How many blocks at the end of its result are not in the Turn that it started from. */
  readonly brought: number;
};

/** A run that broke off after it had asked a model that may have received the request. */
export type Interruption = { readonly runId: string; readonly how: "cancelled" | "failed" };

/** Which messages were answered, and by which run (rule: Answered once): it decides whether a run asks the model. */
export type AnswersView = {
  /** The run that left nothing unanswered; null once something was appended since. */
  answeredBy: CompletedRun | null;
  /** The digest of a restored Turn, if this fold knows no run that left it; a fold of earlier events may know one. */
  cameBackTo: string | null;
  /** The digest of the Turn before it was shortened between two runs; null once the Turn has changed otherwise. */
  compactedFrom: string | null;
  /** How many leading blocks of the Turn were answered. */
  answeredLength: number;
  /** The newest run that broke off while a model answered, until a block tells the model about it or a run completes. */
  interrupted: Interruption | null;
  /** The run that answered each appended block: the first one that completed with it in its Turn. */
  readonly byBlock: Answered;
  /** Runs that left nothing unanswered, by the digest of the Turn that they left: the newest for each digest. */
  readonly byTurn: Answered;
};

type Answered = {
  readonly get: (name: string) => CompletedRun | undefined;
  readonly set: (name: string, run: CompletedRun) => unknown;
  /** All entries in the order in which they were set, if the fold began with the first event; also their number. */
  readonly entries?: () => IterableIterator<readonly [name: string, run: CompletedRun]>;
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

/** A block was appended, which is unanswered. */
export function noteAppended(view: AnswersView): void {
  view.answeredBy = null;
  view.cameBackTo = null;
  view.compactedFrom = null;
}

/** How many blocks come after the last one that was in the base. */
export function countBrought(base: Turn, result: Turn): number {
  const shared = base.commonPrefixLength(result);
  const known = new Set(base.after(shared).map(({ id }) => id));
  const behind = result.after(shared);
  return behind.length - 1 - behind.findLastIndex(({ id }) => known.has(id));
}

/** A run completed with this Turn. Blocks appended meanwhile are unanswered. */
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

/** Ids of blocks made in a run begin with the run's id. */
const isAppended = (id: BlockId): boolean => id.startsWith("blk_");

/** The Turn changed without an answer: a revert, or the end of a run that did not complete. */
export function noteTurn(view: AnswersView, before: Turn, committed: Turn): void {
  view.answeredLength = Math.min(view.answeredLength, before.commonPrefixLength(committed));
  view.answeredBy = view.byTurn.get(committed.digest) ?? null;
  view.cameBackTo = view.answeredBy === null ? committed.digest : null;
  view.compactedFrom = null;
}

/**
 * The Turn changed although no message was added: it was shortened, or the engine told the model that a run broke off. What was
 * answered stays answered, by the same run.
 */
export function noteUnasked(view: AnswersView, before: Turn, committed: Turn): void {
  view.answeredLength = Math.min(view.answeredLength, before.commonPrefixLength(committed));
  view.compactedFrom ??= before.digest;
  if (view.answeredBy !== null) view.byTurn.set(committed.digest, view.answeredBy);
}
