import type { DatabaseSync } from "node:sqlite";
import type { AppendResult, PreparedAppend } from "../../log/ports/event-store.ts";
import type { AppendInTransaction } from "./append.ts";
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
  /** How long a group waits for another process's lock. */
  readonly busyTimeoutMs: number;
  /** Called before a transaction is committed; what it throws undoes all of it. */
  readonly confirmPlace: () => void;
  readonly translate: (error: unknown) => unknown;
  /** Called after each transaction that wrote something. */
  readonly onCommit: () => void;
};

type Job = {
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
  const transactions = createTransactions(options.database);
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
    const waiting = commit(queue.splice(0, groupLength(queue)), transactions, options);
    if (waiting === null) goOn();
    else void waiting.then(goOn);
  }

  return {
    append: (prepared) =>
      new Promise((resolve, reject) => {
        options.admit(prepared);
        queue.push({ prepared, resolve, reject });
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

/** Answers the appends of a group; a promise where another process's lock has to be waited for. */
function commit(group: readonly Job[], transactions: Transactions, options: GroupCommitOptions): Promise<void> | null {
  const { busyTimeoutMs, translate, onCommit } = options;
  const succeed = (answers: readonly (() => void)[]): void => {
    for (const answer of answers) answer();
    onCommit();
  };
  const fail = (error: unknown): void => {
    for (const job of group) job.reject(translate(error));
  };
  try {
    const answers = patiently(busyTimeoutMs, () => write(group, transactions, options));
    if (answers instanceof Promise) return answers.then(succeed).catch(fail);
    succeed(answers);
  } catch (error) {
    fail(error);
  }
  return null;
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
