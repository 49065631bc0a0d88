import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import type { LeaseNews } from "./lease-renewal.ts";

/** A lease held by a thread of this process. */
export type HeldLease = {
  /** Ends it so that others see that at once, if the server answers. Resolves when the thread is gone. */
  readonly end: () => Promise<void>;
};

/** The thread that holds a lease. */
export type LeaseThread = {
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
export async function startHolder(lease: LeaseThread, { closing, onTrouble }: Holding): Promise<HeldLease> {
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
