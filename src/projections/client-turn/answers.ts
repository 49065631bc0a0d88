import { idOf } from "../../domain/block.ts";
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

/**
 * Which messages were answered (rule: Answered once): it decides whether a run asks the model. Which run answered a block, and which
 * run ended with a block, are names that runs leave: the fold of a conversation keeps them, and looks up earlier ones.
 */
export type AnswersView = {
  /** How many leading blocks of the Turn a completed run has had before it: the appended ones among them have names. */
  answeredLength: number;
  /** The newest run that broke off while a model answered, until a block tells the model about it or a run completes. */
  interrupted: Interruption | null;
  /** What the engine has told the model of interruptions since a run completed: these blocks wait for no answer. */
  notes: readonly BlockId[];
  /** The newest completed run of the folded events; it is not part of a snapshot. */
  completed: Completed | null;
};

export type Completed = {
  readonly run: CompletedRun;
  /** The appended blocks that it had before it. Of several runs the first one answered a block. */
  readonly answered: readonly BlockId[];
  /** The last block of its Turn; null if that Turn is empty. Of several runs the newest one counts. */
  readonly last: BlockId | null;
};

export const noAnswers = (): AnswersView => ({ answeredLength: 0, interrupted: null, notes: [], completed: null });

/**
 * The blocks that say whether a Turn is answered: the last appended one, which a run has to have answered (null if layers left none), and
 * its last block, with which a run has to have ended. Null if the Turn ends with an appended block: it is unanswered. The engine's notes do not count.
 */
export function endOf(
  turn: Turn,
  notes: readonly BlockId[],
): { readonly message: BlockId | null; readonly last: BlockId } | null {
  let last: BlockId | null = null;
  for (let index = turn.length - 1; index >= 0; index -= 1) {
    const block = turn.at(index);
    if (block === undefined || notes.includes(idOf(block))) continue;
    const id = idOf(block);
    if (isAppended(id)) return last === null ? null : { message: id, last };
    last ??= id;
  }
  return last === null ? null : { message: null, last };
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
  { base, result }: { readonly base: Turn; readonly result: Turn },
): void {
  const answered = base.after(view.answeredLength).map(idOf).filter(isAppended);
  view.completed = { run, answered, last: lastOf(result) };
  view.answeredLength = result.length;
  view.interrupted = null;
  view.notes = [];
}

/** The engine told the model that the last run broke off. */
export function noteTold(view: AnswersView, id: BlockId): void {
  view.interrupted = null;
  view.notes = [...view.notes, id];
}

const lastOf = ({ last }: Turn): BlockId | null => (last === undefined ? null : idOf(last));

/** Ids of blocks made in a run begin with the run's id. */
const isAppended = (id: BlockId): boolean => id.startsWith("blk_");

/** The Turn changed without an answer: a revert, a compaction, or the end of a run that did not complete. */
export function noteTurn(view: AnswersView, before: Turn, committed: Turn): void {
  view.answeredLength = Math.min(view.answeredLength, before.commonPrefixLength(committed));
}
