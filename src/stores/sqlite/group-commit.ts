import type { DatabaseSync } from "node:sqlite";
import { ok, type Result } from "../../base/result.ts";
import type { AppendResult, PreparedAppend } from "../../log/ports/event-store.ts";
import { realTime, type Time } from "../time.ts";
import type { AppendInTransaction } from "./append.ts";
import { isLocked } from "./errors.ts";
import { tryAgain } from "./guarded.ts";
import { createTransactions } from "./transaction.ts";

/** Appends of one transaction at most: a bound for how long the event loop stands still. */
export const maxGroupAppends = 256;

/** The same in UTF-16 units of data; an append that has more goes alone. */
export const maxGroupUnits = 1024 * 1024;

/** How long groups may follow each other without a turn of the event loop between them. */
export const maxStandStillMs = 1;

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

/** The result of one append in a committed group: an append that cannot be written does not fail the others. */
type Outcome = Result<AppendResult, unknown>;

/**
 * Puts appends that are called in the same turn of the event loop into one transaction, so that they share the wait for
 * the disk. A lone append does not wait for others: the turn ends when it has nothing else to do. Appends that callers make as soon
 * as a group is answered form the next group, without a turn of the loop between. The loop does turn between two groups when
 * `maxStandStillMs` have passed since it last did, when a group was too big to take the whole queue, and while another process
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

  // No promise where nobody has to wait: an append is little more than its wait for the disk.
  function commitNext(): void {
    const group = queue.splice(0, groupLength(queue));
    try {
      succeed(group, write(group));
    } catch (error) {
      // The first of the queue was called first, so its time is over first.
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

  /** Rejects appends whose time is over; those that were called later are tried again. */
  function fail(group: readonly Job[], error: unknown): void {
    const isLeft = ({ until }: Job): boolean => isLocked(error) && until > time.nowMs();
    for (const job of group) if (!isLeft(job)) job.reject(translate(error));
    queue.unshift(...group.filter(isLeft));
    goOn();
  }

  // A tick that is scheduled from a microtask runs after all microtasks, so after the code that awaited the answers.
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
