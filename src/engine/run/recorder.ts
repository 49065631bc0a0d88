import type { Actor } from "../../domain/actor.ts";
import type { Command, Rejection } from "../../domain/conversation.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { ConversationStream, Entry } from "../conversation-stream.ts";
import { RunInProgressError, RunTakenOverError } from "./errors.ts";

/** Who gives a command, and at which frame. */
export type Origin = { readonly actor: Actor; readonly frame?: string };

/**
 * Collects what a run does and appends it before the next effect (MODEL 7): what nothing waits between is one append.
 * Appends go one after another; once one has failed, everything after it fails with its error.
 */
export class Recorder {
  readonly #stream: ConversationStream;
  readonly #runId: string;
  readonly #guard: (view: ConversationView) => void;
  readonly #onDurable: (events: readonly RecordedEvent[]) => void;
  readonly #onFailure: (error: Error) => void;
  #buffer: Entry[] = [];
  #scheduled: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  #failure: Error | null = null;

  constructor(options: {
    readonly stream: ConversationStream;
    readonly runId: string;
    /** Asked before every append, on the folds at the head; may throw. */
    readonly guard: (view: ConversationView) => void;
    readonly onDurable: (events: readonly RecordedEvent[]) => void;
    /** Told once, when an append has failed for good. */
    readonly onFailure: (error: Error) => void;
  }) {
    this.#stream = options.stream;
    this.#runId = options.runId;
    this.#guard = options.guard;
    this.#onDurable = options.onDurable;
    this.#onFailure = options.onFailure;
  }

  /** Why nothing more can be recorded; null while all is well. */
  get failure(): Error | null {
    return this.#failure;
  }

  record(command: Command, { actor, frame }: Origin): void {
    const entry = { command, actor, runId: this.#runId };
    this.#buffer.push(frame === undefined ? entry : { ...entry, frame });
  }

  /**
   * Resolves when everything recorded so far is durable. What is recorded in the same tick joins the same append.
   *
   * @throws {RunTakenOverError} when the run is no longer this process's.
   */
  flush(): Promise<void> {
    this.#scheduled ??= Promise.resolve().then(() => {
      this.#scheduled = null;
      const batch = this.#buffer;
      this.#buffer = [];
      this.#last = this.#last.then(() => this.#append(batch));
      // Whoever asked awaits it; this only keeps a failure from being unhandled when nobody did.
      this.#last.catch(() => undefined);
      return this.#last;
    });
    return this.#scheduled;
  }

  async #append(batch: readonly Entry[]): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (batch.length === 0) return;
    try {
      const result = await this.#stream.commit(batch, this.#guard);
      if (result.status === "rejected") throw this.#refusal(result.rejection);
      this.#onDurable(result.events);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#onFailure(this.#failure);
      throw this.#failure;
    }
  }

  #refusal(rejection: Rejection): Error {
    switch (rejection.code) {
      case "run-open":
        return new RunInProgressError(rejection.runId, this.#stream.view.client.run?.started.owner ?? null);
      case "run-not-open":
        return new RunTakenOverError(`run ${this.#runId} was ended or taken over by someone else`);
      default:
        return new Error(`the log refuses what the engine does: ${JSON.stringify(rejection)}`);
    }
  }
}
