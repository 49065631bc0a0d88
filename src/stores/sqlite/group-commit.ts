import type { DatabaseSync } from "node:sqlite";
import type { AppendResult, PreparedAppend } from "../../engine/ports/event-store.ts";
import type { AppendInTransaction } from "./append.ts";
import { createTransactions, type Transactions } from "./transaction.ts";

/** Appends of one transaction at most: a bound for how long the event loop stands still. */
export const groupAppendsMax = 256;

export type GroupCommit = {
  /** Queues an append; resolves when it is durable. */
  append(prepared: PreparedAppend): Promise<AppendResult>;
  /** Writes what is queued. */
  flush(): void;
};

export type GroupCommitOptions = {
  readonly database: DatabaseSync;
  readonly append: AppendInTransaction;
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
 * the disk. A lone append waits for nobody: the turn ends when it has nothing else to do.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const transactions = createTransactions(options.database);
  let queue: Job[] = [];

  function flush(): void {
    while (queue.length > 0) {
      const group = queue.slice(0, groupAppendsMax);
      queue = queue.slice(groupAppendsMax);
      commit(group, transactions, options);
    }
  }

  return {
    append: (prepared) =>
      new Promise((resolve, reject) => {
        if (queue.length === 0) setImmediate(flush);
        queue.push({ prepared, resolve, reject });
      }),
    flush,
  };
}

function commit(group: readonly Job[], transactions: Transactions, options: GroupCommitOptions): void {
  const { append, translate, onCommit } = options;
  const answers: (() => void)[] = [];
  const run = (job: Job): void => {
    const result = append(job.prepared);
    answers.push(() => {
      job.resolve(result);
    });
  };
  try {
    transactions.whole(() => {
      const [only] = group;
      if (only !== undefined && group.length === 1) {
        run(only);
        return;
      }
      for (const job of group) {
        const failure = transactions.part(() => {
          run(job);
        });
        if (failure === null) continue;
        answers.push(() => {
          job.reject(translate(failure.error));
        });
      }
    });
  } catch (error) {
    for (const job of group) job.reject(translate(error));
    return;
  }
  for (const answer of answers) answer();
  onCommit();
}
