import type { DatabaseSync } from "node:sqlite";
import { ok, type Result } from "../../base/result.ts";
import type { AppendResult, PreparedAppend } from "../../log/ports/event-store.ts";
import { realTime, type Time } from "../time.ts";
import type { AppendInTransaction } from "./append.ts";
import { isLocked } from "./errors.ts";
import { tryAgain } from "./guarded.ts";
import { createTransactions } from "./transaction.ts";

/** The maximum number of appends in a transaction: it limits how long the event loop blocks. */
export const maxGroupAppends = 256;

/** The same limit in UTF-16 units of data; a larger append goes alone. */
export const maxGroupUnits = 1024 * 1024;

/** How long groups may follow each other without a turn of the event loop in between. */
export const maxStandStillMs = 1;

export type GroupCommit = {
  /** Queues an append; resolves when it is durable. */
  readonly append: (prepared: PreparedAppend) => Promise<AppendResult>;
  /** Resolves when every queued append has its result. */
  readonly idle: () => Promise<void>;
};

export type GroupCommitOptions = {
  readonly database: DatabaseSync;
  readonly append: AppendInTransaction;
  /** Called with each new append; throwing rejects it. */
  readonly admit: (prepared: PreparedAppend) => void;
  /** How long an append waits for another process's lock, from the call on. */
  readonly deadlineMs: number;
  /** Called before a transaction is committed; throwing rolls it back. */
  readonly confirmPlace: () => void;
  readonly translate: (error: unknown) => unknown;
  /** Called after each transaction that wrote something. */
  readonly onCommit: () => void;
  readonly time?: Time;
};

type Job = {
  /** The end of its deadline. */
  readonly until: number;
  readonly prepared: PreparedAppend;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
};

/** The result of one append in a committed group: if it cannot be written, the others still are. */
type Outcome = Result<AppendResult, unknown>;

/**
 * Puts appends called in the same turn of the event loop into one transaction, so that they share the wait for
 * the disk. A single append does not wait for others: the turn ends when it has nothing else to do. Appends called as soon
 * as a group has its results form the next group, without a turn of the loop in between. The loop does turn between two groups if
 * `maxStandStillMs` have passed since its last turn, if a group could not take the whole queue, or if another process
 * holds the lock.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { database, append, admit, deadlineMs, confirmPlace, translate, onCommit, time = realTime } = options;
  const transactions = createTransactions(database);
  const queue: Job[] = [];
  let isWorking = false;
  let turnedMs = 0;
  let whenIdle: (() => void)[] = [];

  function commitAfterTurn(): void {
    turnedMs = time.nowMs();
    commitNext();
  }

  // Synchronous unless it has to wait: besides waiting for the disk, an append has little to do.
  function commitNext(): void {
    const group = queue.splice(0, groupLength(queue));
    try {
      succeed(group, write(group));
    } catch (error) {
      // The first append in the queue was called first, so its deadline ends first.
      const { until } = group[0] ?? { until: 0 };
      if (isLocked(error) && until > time.nowMs()) void commitLater(group, until);
      else fail(group, error);
    }
  }

  async function commitLater(group: readonly Job[], until: number): Promise<void> {
    try {
      succeed(group, await tryAgain(until, () => write(group), time));
    } catch (error) {
      fail(group, error);
    }
  }

  function write(group: readonly Job[]): readonly Outcome[] {
    return transactions.whole(() => {
      const [only] = group;
      const outcomes =
        only !== undefined && group.length === 1
          ? [ok(append(only.prepared))]
          : group.map(({ prepared }) => transactions.part(() => append(prepared)));
      confirmPlace();
      return outcomes;
    });
  }

  function succeed(group: readonly Job[], outcomes: readonly Outcome[]): void {
    outcomes.forEach((outcome, index) => {
      if (outcome.ok) group[index]?.resolve(outcome.value);
      else group[index]?.reject(translate(outcome.error));
    });
    onCommit();
    goOn();
  }

  /** Rejects appends whose deadline has passed; later ones are tried again. */
  function fail(group: readonly Job[], error: unknown): void {
    const isLeft = ({ until }: Job): boolean => isLocked(error) && until > time.nowMs();
    for (const job of group) if (!isLeft(job)) job.reject(translate(error));
    queue.unshift(...group.filter(isLeft));
    goOn();
  }

  // A tick scheduled from a microtask runs after all microtasks, and so after the code that awaited the results.
  function goOn(): void {
    if (queue.length > 0) setImmediate(commitAfterTurn);
    else queueMicrotask(tickSoon);
  }

  const tickSoon = (): void => process.nextTick(lookAgain);

  function lookAgain(): void {
    if (queue.length === 0) rest();
    else if (time.nowMs() - turnedMs < maxStandStillMs) commitNext();
    else setImmediate(commitAfterTurn);
  }

  function rest(): void {
    isWorking = false;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  return {
    append: (prepared) =>
      new Promise((resolve, reject) => {
        admit(prepared);
        queue.push({ until: time.nowMs() + deadlineMs, prepared, resolve, reject });
        if (isWorking) return;
        isWorking = true;
        setImmediate(commitAfterTurn);
      }),
    idle: () =>
      new Promise((resolve) => {
        if (isWorking) whenIdle.push(resolve);
        else resolve();
      }),
  };
}

/** How many queued appends go into one transaction. */
function groupLength(queue: readonly Job[]): number {
  if (queue.length === 1) return 1;
  let units = 0;
  for (const [index, { prepared }] of queue.entries()) {
    for (const { data } of prepared.envelopes) units += data.length;
    if (index === maxGroupAppends || (index > 0 && units > maxGroupUnits)) return index;
  }
  return queue.length;
}
