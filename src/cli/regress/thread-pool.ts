import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { ConversationRegression } from "../../lab/conversation-result.ts";
import { UsageError } from "../exit-codes.ts";
import type { FromThread, RegressTask, ToThread } from "./messages.ts";

export type PoolOptions = {
  readonly task: RegressTask;
  readonly jobs: number;
  readonly signal: AbortSignal;
  /** Gets what the modules print, which is not part of the command's output. */
  readonly onPrinted: (text: string) => void;
};

/**
 * Compares conversations in threads, and yields them in the order of their ids in the list. A conversation that differs is compared once
 * more in a thread of another date and other random numbers. Ends early when the signal aborts.
 *
 * @throws {UsageError} if a module cannot be loaded, or ends its thread.
 */
export async function* compareInThreads(
  ids: readonly string[],
  { task, jobs, signal, onPrinted }: PoolOptions,
): AsyncGenerator<ConversationRegression> {
  const threads: LabThread[] = [];
  const start = (isOtherWorld: boolean): LabThread => {
    const thread = new LabThread({ ...task, isOtherWorld }, onPrinted);
    threads.push(thread);
    return thread;
  };
  const ended = whenAborted(signal);
  try {
    const free = Array.from({ length: Math.min(jobs, ids.length) }, () => start(false));
    let other: LabThread | null = null;
    await Promise.race([Promise.all(free.map((thread) => thread.ready)), ended]);
    const compare = async (thread: LabThread, id: string): Promise<ConversationRegression> => {
      const compared = await thread.ask({ id, found: null });
      free.push(thread);
      fill();
      if (compared.kind !== "result") throw new Error("a thread gave another answer than it was asked for");
      if (compared.compared.traces.length === 0) return compared.compared.result;
      other ??= start(true);
      const again = await other.ask({ id, found: compared.compared });
      if (again.kind !== "again") throw new Error("a thread gave another answer than it was asked for");
      return again.result;
    };
    const underWay: Promise<ConversationRegression>[] = [];
    let next = 0;
    const fill = (): void => {
      for (let thread = free.pop(); thread !== undefined; thread = free.pop()) {
        const id = ids[next];
        if (id === undefined || underWay.length >= 4 * jobs) {
          free.push(thread);
          return;
        }
        next += 1;
        // What fails is thrown where its turn comes.
        const comparing = compare(thread, id);
        comparing.catch(() => undefined);
        underWay.push(comparing);
      }
    };
    fill();
    for (let first = underWay.shift(); first !== undefined; first = underWay.shift()) {
      const result = await Promise.race([first, ended]);
      if (result === null) return;
      fill();
      yield result;
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

const whenAborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    const end = (): void => {
      resolve(null);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

/** A thread that answers one question after another. */
class LabThread {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<FromThread>[] = [];
  #failure: Error | null = null;
  readonly ready: Promise<unknown>;

  constructor(task: RegressTask, onPrinted: (text: string) => void) {
    this.#worker = new Worker(threadFile(), { workerData: task, stdout: true, stderr: true });
    for (const stream of [this.#worker.stdout, this.#worker.stderr])
      stream.on("data", (text: Buffer) => onPrinted(text.toString("utf8")));
    const begun = this.#next();
    this.ready = begun;
    begun.catch(() => undefined);
    this.#worker.on("message", (message: FromThread) => {
      if (message.kind === "failed") this.#waiting.shift()?.reject(errorOf(message));
      else this.#waiting.shift()?.resolve(message);
    });
    this.#worker.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    this.#worker.on("exit", () =>
      this.#fail(new UsageError("the module ended its thread: it must not call process.exit")),
    );
  }

  ask(asked: ToThread): Promise<FromThread> {
    const answer = this.#next();
    this.#worker.postMessage(asked);
    return answer;
  }

  #next(): Promise<FromThread> {
    const waiting = Promise.withResolvers<FromThread>();
    if (this.#failure === null) this.#waiting.push(waiting);
    else waiting.reject(this.#failure);
    return waiting.promise;
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  async end(): Promise<void> {
    this.#worker.removeAllListeners("exit");
    await this.#worker.terminate();
  }
}

const errorOf = ({ message, code }: Extract<FromThread, { readonly kind: "failed" }>): Error =>
  code === "usage" ? new UsageError(message) : Object.assign(new Error(message), code === null ? {} : { code });

/** The thread's program: beside this folder; in a bundle, this file's code may be in a folder of chunks. */
function threadFile(): string {
  const name = import.meta.filename.endsWith(".ts") ? "regress-thread.ts" : "regress-thread.js";
  const files = ["..", "../cli", "."].map((folder) => join(import.meta.dirname, folder, name));
  const file = files.find((each) => existsSync(each));
  if (file === undefined)
    throw new Error(`${name} is missing beside turnlog's other files: keep it there, because it is a separate program`);
  return file;
}
