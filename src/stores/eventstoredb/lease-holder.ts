import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import type { LeaseNews, LeaseTask } from "./lease-renewal.ts";

/** A lease that is held by a thread of this process. */
export type HeldLease = {
  /** Ends it, so that others see it at once where the server answers, and resolves when the thread is gone. */
  readonly end: () => Promise<void>;
};

type Holding = {
  /** Aborts when the store is closed: a thread that does not hold the lease yet is not waited for. */
  readonly closing: AbortSignal;
  /** It is not held any more, or was not renewed for too long; why. */
  readonly onTrouble: (kind: "lost" | "late", reason: string) => void;
};

/** How much longer than a call of the store a thread may take until it holds its lease. */
const startMs = 10_000;

/** How long closing a store waits for a server to take the end of its lease. */
const endMs = 3_000;

/**
 * Starts the thread that holds a lease. It does not keep the process alive once it does.
 *
 * @throws {Error} when the thread cannot start, or the lease cannot be held.
 */
export async function startHolder(task: LeaseTask, { closing, onTrouble }: Holding): Promise<HeldLease> {
  // How the text of a program is read, which was given instead of a file, says nothing of this file.
  const execArgv = process.execArgv.filter((flag) => !flag.startsWith("--input-type"));
  const thread = new Worker(threadFile(), { workerData: task, name: "turnlog-lease", execArgv });
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
  const late = setTimeout(() => lose("its thread does not start"), task.address.deadlineMs + startMs);
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

/** The program of the thread: beside this file as a source; a bundle may keep this file's code in its folder of chunks. */
function threadFile(): string {
  const name = import.meta.filename.endsWith(".ts") ? "lease-thread.ts" : "lease-thread.js";
  const files = ["../stores/eventstoredb", "."].map((folder) => join(import.meta.dirname, folder, name));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error(`${name} is not beside turnlog's other files: it is a program of its own`);
  return file;
}
