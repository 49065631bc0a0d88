import { TurnlogError } from "../../base/turnlog-error.ts";

/** How long an engine's provider is needed: until it is disposed of, and the runs that were in progress then have ended. */
export class EngineLife {
  readonly #release: () => Promise<void>;
  readonly #runs = new Set<Promise<unknown>>();
  #ended: Promise<void> | null = null;

  /** @param release - Gives back what the engine holds; called once. */
  constructor(release: () => Promise<void>) {
    this.#release = release;
  }

  /**
   * Runs something that needs the engine.
   *
   * @throws {TurnlogError} `engine-disposed` when it was disposed of.
   */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended !== null)
      throw new TurnlogError("engine-disposed", "this engine was disposed of; make another one with createEngine");
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
