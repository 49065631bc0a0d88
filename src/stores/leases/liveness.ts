import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { randomId } from "../../log/codec/ids.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import { backgroundTime } from "../time.ts";
import type { LeaseNews } from "./lease-renewal.ts";
import { createLeaseWatch, type LeasePace, type LeaseSight } from "./lease-watch.ts";

export type LeaseLiveness = Required<Liveness> & {
  /** Releases the lease. */
  readonly end: () => Promise<void>;
};

export type LeaseLivenessOptions = {
  readonly pace: LeasePace;
  /** The server's address for messages. */
  readonly shown: string;
  readonly closing: AbortSignal;
  readonly refuseIfClosed: () => void;
  readonly warn: (message: string) => void;
  /** The thread that holds a lease with this id. */
  readonly threadOf: (leaseId: string) => LeaseThread;
  /** See `createLeaseWatch`. */
  readonly look: (leaseId: string) => Promise<{ readonly sight: LeaseSight; readonly hasFailed: boolean }>;
  readonly translate: (error: unknown, leaseId: string) => unknown;
};

const leasePattern = /^lse_\w+$/;

/** A lease on a server, which a thread of the holder's process renews while the process is alive. */
export function createLeaseLiveness(options: LeaseLivenessOptions): LeaseLiveness {
  const { pace, shown, closing, refuseIfClosed, warn, threadOf, look, translate } = options;
  let held: { readonly id: string; readonly lease: Promise<HeldLease | null> } | null = null;
  let hasWarned = false;
  const seconds = Math.ceil(pace.deadAfterMs / 1_000);

  async function start(id: string): Promise<HeldLease | null> {
    const forget = (): void => {
      if (held?.id === id) held = null;
    };
    try {
      return await startHolder(threadOf(id), {
        closing,
        onTrouble(kind, reason) {
          if (kind === "lost") forget();
          const what =
            kind === "lost"
              ? `nothing at ${shown} shows any longer that this process is alive`
              : `for ${seconds} s nothing at ${shown} showed that this process is alive`;
          warn(
            `${what} (${reason}): other processes may take over its open runs, and the next append of a run that was taken over is rejected`,
          );
        },
      });
    } catch (error) {
      forget();
      const what = `this process could write nothing at ${shown} to show that it is alive`;
      const follows = "so other machines and containers wait for takeoverAfterMs before they take over its runs";
      // The next run tries again.
      if (!hasWarned && !closing.aborted) warn(`${what}, ${follows}: ${messageOf(error)}`);
      hasWarned = true;
      return null;
    }
  }

  const watch = createLeaseWatch({ look, pace, time: backgroundTime, closing });

  /** Asks about a lease, and translates failures into errors of the port. */
  async function asking(leaseId: string, ask: () => Promise<boolean>): Promise<boolean> {
    refuseIfClosed();
    if (held?.id === leaseId && (await held.lease) !== null) return true;
    if (!leasePattern.test(leaseId)) return false;
    try {
      return await ask();
    } catch (error) {
      refuseIfClosed();
      throw translate(error, leaseId);
    }
  }

  return {
    deadAfterMs: pace.deadAfterMs,
    async hold() {
      refuseIfClosed();
      if (held === null) {
        const id = randomId("lse");
        held = { id, lease: start(id) };
      }
      const { id, lease } = held;
      const isHeld = (await lease) !== null;
      refuseIfClosed();
      return isHeld ? id : null;
    },
    isAlive: (leaseId) => asking(leaseId, async () => (await watch.look(leaseId)) !== "dead"),
    async whenKnown(leaseId, signal) {
      signal?.throwIfAborted();
      return asking(leaseId, async () => {
        const waiting = innerSignal(signal ?? new AbortController().signal);
        // The watch alone would not keep the process alive.
        const alive = setInterval(() => undefined, pace.deadAfterMs);
        try {
          return (await Promise.race([watch.untilKnown(leaseId), rejectionOf(waiting.signal)])) === "alive";
        } finally {
          clearInterval(alive);
          waiting.end(undefined);
        }
      });
    },
    async end() {
      const lease = await held?.lease;
      await lease?.end();
      held = null;
    },
  };
}

/** A lease held by a thread of this process. */
type HeldLease = {
  /** Ends it so that others see that at once, if the server answers. Resolves when the thread is gone. */
  readonly end: () => Promise<void>;
};

/** The thread that holds a lease. */
type LeaseThread = {
  /** The folder of `stores` with the program of the thread, `lease-thread.ts`. */
  readonly store: string;
  /** What the thread is started with, as copied by `postMessage`. */
  readonly task: object;
  /** How long a call of the store may take. */
  readonly deadlineMs: number;
};

type Holding = {
  /** Aborts when the store is closed, which does not wait for a thread that does not hold the lease yet. */
  readonly closing: AbortSignal;
  /** Called with the reason when it is no longer held, or was not renewed for too long. */
  readonly onTrouble: (kind: "lost" | "late", reason: string) => void;
};

/** How much longer than a call of the store a thread may take to acquire its lease. */
const startMs = 10_000;

/** How long closing a store waits for a server to accept the end of its lease. */
const endMs = 3_000;

/**
 * Starts the thread that holds a lease. Once it does, it does not keep the process alive.
 *
 * @throws {Error} if the thread cannot start, or cannot acquire the lease.
 */
async function startHolder(lease: LeaseThread, { closing, onTrouble }: Holding): Promise<HeldLease> {
  // `--input-type` applies to a program given as text, not to this file.
  const execArgv = process.execArgv.filter((flag) => !flag.startsWith("--input-type"));
  const thread = new Worker(threadFile(lease.store), { workerData: lease.task, name: "turnlog-lease", execArgv });
  const begun = Promise.withResolvers<undefined>();
  const over = Promise.withResolvers<undefined>();
  let isHeld = false;
  let isEnding = false;
  const lose = (reason: string): void => {
    begun.reject(new Error(reason));
    over.resolve(undefined);
    if (isHeld && !isEnding) onTrouble("lost", reason);
    isHeld = false;
  };
  thread.on("message", (news: LeaseNews) => {
    if (news.kind === "held") {
      isHeld = true;
      begun.resolve(undefined);
    } else if (news.kind === "late") onTrouble("late", news.reason);
    else lose(news.kind === "ended" ? "it was ended" : news.reason);
  });
  thread.on("error", (error: unknown) => lose(messageOf(error)));
  thread.once("exit", (code) => lose(`its thread ended with code ${code}`));
  const late = setTimeout(() => lose("its thread did not start"), lease.deadlineMs + startMs);
  const waiting = innerSignal(closing);
  try {
    await Promise.race([begun.promise, rejectionOf(waiting.signal)]);
  } catch (error) {
    await thread.terminate();
    throw error;
  } finally {
    clearTimeout(late);
    waiting.end(undefined);
  }
  thread.unref();
  return {
    async end() {
      isEnding = true;
      thread.postMessage("end");
      const waiting = new AbortController();
      await Promise.race([over.promise, sleep(endMs, undefined, { signal: waiting.signal })]);
      waiting.abort();
      await thread.terminate();
    },
  };
}

/** The thread's program: in a store's folder, beside this one; in a bundle, this file's code may be in a folder of chunks. */
function threadFile(store: string): string {
  const name = import.meta.filename.endsWith(".ts") ? "lease-thread.ts" : "lease-thread.js";
  const files = ["..", "../stores"].map((folder) => join(import.meta.dirname, folder, store, name));
  const file = files.find((each) => existsSync(each));
  if (file === undefined)
    throw new Error(`${name} is missing beside turnlog's other files: keep it there, because it is a separate program`);
  return file;
}
