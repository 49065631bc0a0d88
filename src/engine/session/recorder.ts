import { messageOf } from "../../base/error-message.ts";
import type { Rejection } from "../../domain/conversation.ts";
import { InvalidEventError } from "../../domain/events/event.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import { EventTooLargeError } from "../../log/ports/event-store.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { RunInProgressError } from "../../log/writer/owner.ts";
import type { Made } from "../../projections/apply-to-turns.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import { type Interceptor, intercept } from "./breakpoint.ts";
import { runTakenOver } from "./errors.ts";

/** Who appends: also one who only looks at what would be. */
type Writer = Pick<ConversationWriter, "view" | "commit" | "dropProposed">;

/** Who makes an event happen, and at which frame. */
export type RecordedBy = Omit<ProposedEvent, "event" | "runId">;

/** What records the events of one run. */
type RecorderOptions = {
  readonly stream: Writer;
  readonly runId: string;
  /** Nothing is written before it has resolved. */
  readonly barrier: () => Promise<void>;
  readonly interceptor: Interceptor | null;
  /** The Turns of the run, to which what is recorded was applied; null where they do not hold all of its log. */
  readonly turns: RunTurns | null;
  /** Told at once, before it is durable. */
  readonly onRecord: (proposed: ProposedEvent, made?: Made) => void;
  /** Asked before every append, on the folds at the head; may throw. */
  readonly guard: (view: ConversationView) => void;
  readonly onDurable: (events: readonly RecordedEvent[]) => void;
  /** Told once, when an append has failed for good. */
  readonly onFailure: (error: Error) => void;
};

/**
 * Collects what a run does and appends it before the next effect (rule: One append before each effect): what nothing waits between is one append.
 * Appends go one after another; once one has failed, everything after it fails with its error.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #buffer: ProposedEvent[] = [];
  /** The append that was refused for one of its entries. */
  readonly #refused: ProposedEvent[] = [];
  #scheduled: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  #failure: Error | null = null;
  #hasWritten = false;
  #isParked = false;
  /** What a parked run had recorded, and did not append any more. */
  readonly #unwritten: ProposedEvent[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Why nothing more can be recorded; null while all is well. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Whether the run is being left as its log has it. */
  get isParked(): boolean {
    return this.#isParked;
  }

  /** @param made - The objects that the event was made of. */
  record(event: ProposedEvent["event"], origin: RecordedBy, made?: Made): void {
    const proposed = { event, runId: this.#options.runId, ...origin };
    if (!this.#isParked || isResult(event)) this.#buffer.push(proposed);
    this.#options.onRecord(proposed, made);
  }

  /**
   * Records what came before the one thing that was refused: it happened, and no more than that is lost. Of an answer that was
   * refused it records that it came.
   */
  async recordUpToRefused(): Promise<void> {
    await this.#options.stream.dropProposed();
    for (const entry of this.#refused.splice(0)) {
      try {
        await this.#options.stream.commit([entry], this.#options.guard);
      } catch (error) {
        const failure = isRefusal(error) ? failureInPlaceOf(entry, error) : null;
        if (failure !== null) await this.#options.stream.commit([failure], this.#options.guard).catch(ignoreRefusal);
        return;
      }
    }
  }

  /**
   * Appends nothing more of what the run does, and aborts it. False where the run has failed already, and where nothing of it was written
   * by this process, so that there is nothing to leave.
   */
  async park(reason: Error): Promise<boolean> {
    this.#isParked = this.#failure === null;
    this.fail(reason);
    await this.#last.catch(() => undefined);
    return this.#isParked && this.#hasWritten;
  }

  /** What has happened in a parked run and is not in its log: results, and what came before the abort, without what had not begun. */
  takeUnwritten(): readonly ProposedEvent[] {
    const left = [...this.#unwritten.splice(0), ...this.#buffer.splice(0)];
    return left.filter(({ event }) => !intents.has(event.type));
  }

  /** Records what ends this process's part of a run, past the failure. */
  async recordEnd(entries: readonly ProposedEvent[]): Promise<void> {
    await this.#options.stream.commit(entries, this.#options.guard);
  }

  /** Lets nothing more be recorded, and tells the caller of the run. */
  fail(reason: Error): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#options.onFailure(reason);
  }

  /**
   * Resolves when everything recorded so far is durable. What is recorded in the same tick joins the same append.
   *
   * @throws {TurnlogError} `run-taken-over` when the run is no longer this process's.
   */
  flush(): Promise<void> {
    this.#scheduled ??= this.#options.barrier().then(() => {
      this.#scheduled = null;
      const batch = this.#buffer;
      this.#buffer = [];
      this.#last = this.#last.then(() => this.#append(batch));
      // The caller awaits it; this only keeps a failure from being unhandled when nobody did.
      this.#last.catch(() => undefined);
      return this.#last;
    });
    return this.#scheduled;
  }

  async #append(batch: readonly ProposedEvent[]): Promise<void> {
    if (this.#failure !== null) {
      if (this.#isParked) this.#unwritten.push(...batch);
      throw this.#failure;
    }
    if (batch.length === 0) return;
    try {
      const effect = { kind: "append", entries: batch } as const;
      const work = () => this.#options.stream.commit(batch, this.#options.guard, this.#options.turns);
      const result = await intercept(this.#options.interceptor, effect, { work, injected: notInjected });
      if (result.status === "rejected") throw this.#refusal(result.rejection);
      this.#hasWritten = true;
      this.#options.onDurable(result.events);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(messageOf(error));
      if (isRefusal(failure)) this.#refused.push(...batch);
      this.fail(failure);
      throw failure;
    }
  }

  #refusal(rejection: Rejection): Error {
    switch (rejection.code) {
      case "run-open":
      case "run-taken-over":
        return new RunInProgressError(rejection.runId, this.#options.stream.view.client.run?.owner ?? null);
      case "run-not-open":
        return runTakenOver(this.#options.runId);
      default:
        return new Error(`the log refuses what the engine does: ${JSON.stringify(rejection)}`);
    }
  }
}

/** What was asked for has come: it is recorded also where it came after the abort. */
const isResult = ({ type }: ProposedEvent["event"]): boolean => type === "ResponseReceived" || type === "ToolFinished";

/** What is recorded before something begins. Nothing begins before that is durable. */
const intents: ReadonlySet<string> = new Set(["ToolStarted", "EffectStarted", "InferenceRequested"]);

/** The end of the run says it as well. */
function ignoreRefusal(error: unknown): void {
  if (!isRefusal(error)) throw error;
}

const notInjected = (): never => {
  throw new TypeError("a durable write has no answer that could take its place");
};

/** An event that no store takes: it could not be read again, or is over a bound although what is big stands beside it. */
export type UnstorableEvent = InvalidEventError | EventTooLargeError;

export const isRefusal = (error: unknown): error is UnstorableEvent =>
  error instanceof InvalidEventError || error instanceof EventTooLargeError;

/** What is recorded in the place of an answer that was refused: that there was one, and why it is not here. */
function failureInPlaceOf(refused: ProposedEvent, { message }: UnstorableEvent): ProposedEvent | null {
  const { event } = refused;
  const why = `the answer cannot be stored: ${message}`;
  switch (event.type) {
    case "ResponseReceived": {
      const { inferenceId } = event.data;
      const nothing = { status: null, code: null, param: null, partial: [] };
      const data = { inferenceId, kind: "unstorable", outcome: "unknown", message: why, ...nothing } as const;
      return { ...refused, event: { type: "InferenceFailed", version: 1, data } };
    }
    case "EffectFinished": {
      const data = { ...event.data, answer: { outcome: "error", message: why } } as const;
      return { ...refused, event: { ...event, data } };
    }
    default:
      return null;
  }
}
