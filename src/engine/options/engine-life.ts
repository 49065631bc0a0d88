import { TurnlogError } from "../../base/turnlog-error.ts";

/** The life of an engine's provider: it ends when the engine is disposed of and the runs then in progress have ended. */
export class EngineLife {
  readonly #release: () => Promise<void>;
  readonly #runs = new Set<Promise<unknown>>();
  #ended: Promise<void> | null = null;

  /** @param release - Releases what the engine holds; called once. */
  constructor(release: () => Promise<void>) {
    this.#release = release;
  }

  /**
   * Runs work that needs the engine.
   *
   * @throws {TurnlogError} `engine-disposed` if the engine was disposed of.
   */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended !== null)
      throw new TurnlogError("engine-disposed", "this engine was disposed of; make a new one with createEngine");
    const run = work();
    this.#runs.add(run);
    try {
      return await run;
    } finally {
      this.#runs.delete(run);
    }
  }

  end(): Promise<void> {
    this.#ended ??= Promise.allSettled(this.#runs).then(() => this.#release());
    return this.#ended;
  }
}
