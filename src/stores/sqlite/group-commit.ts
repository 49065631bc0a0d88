import type { DatabaseSync } from "node:sqlite";
import type { AppendResult, PreparedAppend } from "../../log/ports/event-store.ts";
import { realTime, type Time } from "../time.ts";
import type { AppendInTransaction } from "./append.ts";
import { isLocked } from "./errors.ts";
import { patiently } from "./guarded.ts";
import { createTransactions, type Transactions } from "./transaction.ts";

/** Appends of one transaction at most: a bound for how long the event loop stands still. */
export const maxGroupAppends = 256;

/** The same in UTF-16 units of data; an append that has more goes alone. */
export const maxGroupUnits = 1024 * 1024;

export type GroupCommit = {
  /** Queues an append; resolves when it is durable. */
  readonly append: (prepared: PreparedAppend) => Promise<AppendResult>;
  /** Resolves when all that was queued is answered. */
  readonly idle: () => Promise<void>;
};

export type GroupCommitOptions = {
  readonly database: DatabaseSync;
  readonly append: AppendInTransaction;
  /** Called with each append that comes in; what it throws refuses it. */
  readonly admit: (prepared: PreparedAppend) => void;
  /** How long an append waits for another process's lock, from when it is called. */
  readonly deadlineMs: number;
  /** Called before a transaction is committed; what it throws undoes all of it. */
  readonly confirmPlace: () => void;
  readonly translate: (error: unknown) => unknown;
  /** Called after each transaction that wrote something. */
  readonly onCommit: () => void;
  readonly time?: Time;
};

type Job = {
  /** When its time is over. */
  readonly until: number;
  readonly prepared: PreparedAppend;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Puts appends that are called in the same turn of the event loop into one transaction, so that they share the wait for
 * the disk. A lone append waits for nobody: the turn ends when it has nothing else to do. The loop turns between two groups,
 * and while another process has the file.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { database, deadlineMs, time = realTime } = options;
  const transactions = createTransactions(database);
  const queue: Job[] = [];
  let isWorking = false;
  let whenIdle: (() => void)[] = [];

  function goOn(): void {
    isWorking = queue.length > 0;
    if (isWorking) setImmediate(commitNext);
    else {
      for (const resolve of whenIdle) resolve();
      whenIdle = [];
    }
  }
  // No promise where nobody has to wait: an append is little more than its wait for the disk.
  function commitNext(): void {
    const group = queue.splice(0, groupLength(queue));
    const goOnWith = (left: readonly Job[]): void => {
      queue.unshift(...left);
      goOn();
    };
    const waiting = commit(group, transactions, { ...options, time });
    if (waiting instanceof Promise) void waiting.then(goOnWith);
    else goOnWith(waiting);
  }

  return {
    append: (prepared) =>
      new Promise((resolve, reject) => {
        options.admit(prepared);
        queue.push({ until: time.nowMs() + deadlineMs, prepared, resolve, reject });
        if (!isWorking) goOn();
      }),
    idle: () =>
      new Promise((resolve) => {
        if (isWorking) whenIdle.push(resolve);
        else resolve();
      }),
  };
}

/** How many of the queue go into one transaction. */
function groupLength(queue: readonly Job[]): number {
  if (queue.length === 1) return 1;
  let units = 0;
  for (const [index, { prepared }] of queue.entries()) {
    for (const { data } of prepared.envelopes) units += data.length;
    if (index === maxGroupAppends || (index > 0 && units > maxGroupUnits)) return index;
  }
  return queue.length;
}

/**
 * Answers the appends of a group, in a promise where another process's lock has to be waited for. Gives back those whose time
 * was not over when that of the oldest was.
 */
function commit(
  group: readonly Job[],
  transactions: Transactions,
  options: GroupCommitOptions & { readonly time: Time },
): readonly Job[] | Promise<readonly Job[]> {
  const { translate, onCommit, time } = options;
  const succeed = (answers: readonly (() => void)[]): readonly Job[] => {
    for (const answer of answers) answer();
    onCommit();
    return [];
  };
  const fail = (error: unknown): readonly Job[] => {
    const isLeft = ({ until }: Job): boolean => isLocked(error) && until > time.nowMs();
    for (const job of group) if (!isLeft(job)) job.reject(translate(error));
    return group.filter(isLeft);
  };
  const leftMs = Math.min(...group.map(({ until }) => until)) - time.nowMs();
  try {
    const answers = patiently(leftMs, () => write(group, transactions, options), time);
    return answers instanceof Promise ? answers.then(succeed).catch(fail) : succeed(answers);
  } catch (error) {
    return fail(error);
  }
}

/** Writes a group in one transaction; how to answer its appends once it is durable. */
function write(
  group: readonly Job[],
  transactions: Transactions,
  { append, confirmPlace, translate }: GroupCommitOptions,
): readonly (() => void)[] {
  const answers: (() => void)[] = [];
  const run = (job: Job): void => {
    const result = append(job.prepared);
    answers.push(() => {
      job.resolve(result);
    });
  };
  transactions.whole(() => {
    const [only] = group;
    if (only !== undefined && group.length === 1) run(only);
    else for (const job of group) runAlone(job, run);
    confirmPlace();
  });
  return answers;

  /** One that cannot be written keeps no other from being written. */
  function runAlone(job: Job, work: (job: Job) => void): void {
    const failure = transactions.part(() => {
      work(job);
    });
    if (failure === null) return;
    answers.push(() => {
      job.reject(translate(failure.error));
    });
  }
}
