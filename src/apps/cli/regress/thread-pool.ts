import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../../base/error-message.ts";
import type { ConversationRegression } from "../../../replay/regression/conversation-result.ts";
import { UsageError } from "../exit-codes.ts";
import { type LayerCell, newLayerCell, readLayerCell } from "./layer-cell.ts";
import type { FromThread, RegressTask, ThreadData, ThreadLayers, ToThread } from "./messages.ts";

export type PoolOptions = {
  readonly task: RegressTask;
  readonly jobs: number;
  readonly signal: AbortSignal;
  /** Gets what the modules print, which is not part of the command's output. */
  readonly onPrinted: (text: string) => void;
};

/**
 * Compares conversations in threads, and yields them in the order of their ids in the list. A conversation that differs is compared once
 * more in a thread of another date and other random numbers. A conversation in which a layer blocks its thread is unknown, and a new thread
 * goes on with the rest. Ends early when the signal aborts.
 *
 * @throws {UsageError} if a module cannot be loaded, takes longer than the limit for that, or ends its thread.
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
      const compared = await answerOf(thread, { kind: "compare", id });
      const known = compared.kind === "blocked" ? await finalOf(thread, { ...compared, id }) : null;
      free.push(thread);
      fill();
      if (known !== null) return known;
      if (compared.kind !== "result") throw new Error(otherAnswer);
      const { result, traces } = compared.compared;
      if (traces.length === 0) return result;
      other ??= start(true);
      const again = await answerOf(other, { kind: "again", id, found: compared.compared });
      if (again.kind === "final") return again.result;
      if (again.kind !== "blocked") throw new Error(otherAnswer);
      return { ...result, message: `it was not executed a second time: ${again.message}` };
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

type Answer = FromThread | { readonly kind: "blocked"; readonly message: string };

/** The thread's answer, or that a layer blocked the thread. */
async function answerOf(thread: LabThread, asked: ToThread): Promise<Answer> {
  try {
    return await thread.ask(asked);
  } catch (error) {
    if (error instanceof ThreadBlockedError) return { kind: "blocked", message: error.message };
    throw error;
  }
}

async function finalOf(thread: LabThread, asked: ToThread): Promise<ConversationRegression> {
  const answer = await thread.ask(asked);
  if (answer.kind !== "final") throw new Error(otherAnswer);
  return answer.result;
}

const otherAnswer = "a thread gave another answer than it was asked for";

const whenAborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    const end = (): void => {
      resolve(null);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

/** A layer blocked the thread, which was ended. A new one answers the next question. */
class ThreadBlockedError extends Error {
  override readonly name = "ThreadBlockedError";
}

type Question = { readonly asked: ToThread; readonly answer: PromiseWithResolvers<FromThread> };

/** How long a thread may take to load its modules and to open the store. */
const maxLoadMs = 60_000;

/** A thread that answers one question after another. A thread that a layer blocks is replaced by a new one. */
class LabThread {
  readonly #task: RegressTask;
  readonly #onPrinted: (text: string) => void;
  /** The first is being answered, if the thread is ready. */
  readonly #questions: Question[] = [];
  readonly #ready = Promise.withResolvers<undefined>();
  #worker: Worker;
  #cell: LayerCell = newLayerCell();
  /** Null until the thread is ready. */
  #layers: ThreadLayers | null = null;
  #endWatch: () => void = () => undefined;
  #loading: NodeJS.Timeout | undefined;
  #failure: Error | null = null;

  constructor(task: RegressTask, onPrinted: (text: string) => void) {
    this.#task = task;
    this.#onPrinted = onPrinted;
    this.#ready.promise.catch(() => undefined);
    this.#worker = this.#start();
  }

  /** Settles once its modules are loaded. */
  get ready(): Promise<undefined> {
    return this.#ready.promise;
  }

  /** @throws {ThreadBlockedError} if a layer blocks the thread meanwhile. */
  ask(asked: ToThread): Promise<FromThread> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const answer = Promise.withResolvers<FromThread>();
    this.#questions.push({ asked, answer });
    if (this.#questions.length === 1) this.#askFirst();
    return answer.promise;
  }

  async end(): Promise<void> {
    this.#endWatch();
    clearTimeout(this.#loading);
    this.#worker.removeAllListeners("exit");
    await this.#worker.terminate();
  }

  #start(): Worker {
    const data: ThreadData = { task: this.#task, atWork: this.#cell };
    const worker = new Worker(threadFile(), { workerData: data, stdout: true, stderr: true });
    for (const stream of [worker.stdout, worker.stderr])
      stream.on("data", (text: Buffer) => this.#onPrinted(text.toString("utf8")));
    worker.on("message", (message: FromThread) => {
      // What a thread said before it was replaced is about a question that has its answer.
      if (worker === this.#worker) this.#take(message);
    });
    worker.on("error", (error) => this.#fail(new UsageError(threw(this.#task, error), { cause: error })));
    worker.on("exit", (code) => this.#fail(new UsageError(code === unsettledAwait ? neverLoads(this.#task) : exits)));
    // A module that blocks its thread lets no timer fire there.
    this.#loading = setTimeout(() => this.#fail(new UsageError(tooSlow(this.#task))), maxLoadMs);
    return worker;
  }

  #take(message: FromThread): void {
    if (message.kind === "ready") {
      clearTimeout(this.#loading);
      this.#layers = message;
      this.#ready.resolve(undefined);
      this.#askFirst();
      return;
    }
    if (message.kind === "failed" && this.#layers === null) {
      this.#fail(errorOf(message));
      return;
    }
    this.#endWatch();
    const { answer } = this.#questions.shift() ?? {};
    if (message.kind === "failed") answer?.reject(errorOf(message));
    else answer?.resolve(message);
    this.#askFirst();
  }

  #askFirst(): void {
    const [first] = this.#questions;
    if (first === undefined || this.#layers === null) return;
    this.#endWatch = watchForBlocks(this.#cell, this.#layers, (message) => void this.#replace(message));
    this.#worker.postMessage(first.asked);
  }

  async #replace(message: string): Promise<void> {
    const { answer } = this.#questions.shift() ?? {};
    const blocked = this.#worker;
    blocked.removeAllListeners("exit");
    this.#layers = null;
    this.#cell = newLayerCell();
    this.#worker = this.#start();
    answer?.reject(new ThreadBlockedError(message));
    await blocked.terminate();
  }

  #fail(error: Error): void {
    this.#endWatch();
    clearTimeout(this.#loading);
    this.#failure ??= error;
    this.#ready.reject(error);
    for (const { answer } of this.#questions.splice(0)) answer.reject(error);
  }
}

/** The exit code of a Node thread in which a top-level await is left with nothing that could settle it. */
const unsettledAwait = 13;

const exits = "the module ended its thread: it must not call process.exit";

/** The thread catches its own errors, so what nothing caught is the module's. */
const threw = (task: RegressTask, error: unknown): string =>
  `${modulesOf(task)} threw outside of its layers, where nothing catches it: ${messageOf(error)}`;

const modulesOf = ({ with: changed, compareWith }: RegressTask): string =>
  compareWith === null ? changed : `${changed} or ${compareWith}`;

const neverLoads = (task: RegressTask): string =>
  `${modulesOf(task)} never finishes loading: a top-level await in it, or in what it imports, never settles`;

const tooSlow = (task: RegressTask): string =>
  `${modulesOf(task)} did not load within ${maxLoadMs / 1_000} s: look for an endless loop or a top-level await that never settles, in it or in what it imports`;

const errorOf = ({ message, code }: Extract<FromThread, { readonly kind: "failed" }>): Error =>
  code === "usage" ? new UsageError(message) : Object.assign(new Error(message), code === null ? {} : { code });

/** The thread's program: beside this folder; in a bundle, this file's code may be in a folder of chunks. */
function threadFile(): string {
  const name = import.meta.filename.endsWith(".ts") ? "regress-thread.ts" : "regress-thread.js";
  const files = ["..", "../apps/cli", "."].map((folder) => join(import.meta.dirname, folder, name));
  const file = files.find((each) => existsSync(each));
  if (file === undefined)
    throw new Error(`${name} is missing beside turnlog's other files: keep it there, because it is a separate program`);
  return file;
}

/** How much longer than the thread itself this one waits: a layer that only waits is ended by its thread, and fails its run. */
const graceMs = 1_000;

/**
 * Calls `onBlocked` once with the message if a layer of a thread works for longer than its limit, although the thread should have ended
 * it: then it blocks the thread. Returns a function that ends the watch.
 */
function watchForBlocks(
  cell: LayerCell,
  { layers, layerLimitMs }: ThreadLayers,
  onBlocked: (message: string) => void,
): () => void {
  const limitMs = layerLimitMs + graceMs;
  let seen = readLayerCell(cell);
  let since = performance.now();
  const timer = setInterval(() => {
    const now = readLayerCell(cell);
    if (now.changes !== seen.changes || now.working === 0) {
      seen = now;
      since = performance.now();
      return;
    }
    if (performance.now() - since < limitMs) return;
    clearInterval(timer);
    onBlocked(`the layer ${layers[now.working - 1]} blocked its thread for longer than ${layerLimitMs} ms`);
  }, limitMs / 8);
  return () => clearInterval(timer);
}
