import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../../base/error-message.ts";
import { UsageError } from "../exit-codes.ts";
import { watchForBlocks } from "./block-watch.ts";
import { type LayerCell, newLayerCell } from "./layer-cell.ts";
import type { FromThread, RegressTask, ThreadData, ThreadLayers, ToThread } from "./messages.ts";

/** A layer blocked the thread, which was ended. A new one answers the next question. */
export class ThreadBlockedError extends Error {
  override readonly name = "ThreadBlockedError";
}

type Question = { readonly asked: ToThread; readonly answer: PromiseWithResolvers<FromThread> };

/** How long a thread may take to load its modules and to open the store. */
const maxLoadMs = 60_000;

/** A thread that answers one question after another. A thread that a layer blocks is replaced by a new one. */
export class LabThread {
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
