import { messageOf } from "../../base/error-message.ts";
import type { Rejection } from "../../domain/decider/decide.ts";
import { InvalidEventError } from "../../domain/events/event.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import { EventTooLargeError } from "../../log/ports/store-errors.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { RunInProgressError } from "../../log/writer/owner.ts";
import type { Made } from "../../projections/client-turn/apply-to-turns.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { type Interceptor, intercept } from "./breakpoint.ts";
import { runTakenOver } from "./errors.ts";

/** The writer that appends, or a replay's, which only looks. */
type Writer = Pick<ConversationWriter, "view" | "commit" | "dropProposed">;

/** The author of an event, and its frame. */
export type RecordedBy = Omit<ProposedEvent, "event" | "runId">;

type RecorderOptions = {
  readonly stream: Writer;
  readonly runId: string;
  /** Nothing is written before this has resolved. */
  readonly barrier: () => Promise<void>;
  readonly interceptor: Interceptor | null;
  /** The Turns of the run, to which recorded events were already applied; null if they do not hold all of its log. */
  readonly turns: RunTurns | null;
  /** Called at once, before the event is durable. */
  readonly onRecord: (proposed: ProposedEvent, made?: Made) => void;
  /** Called before every append, with the view at the head; may throw. */
  readonly guard: (view: ConversationView) => void;
  readonly onDurable: (events: readonly RecordedEvent[]) => void;
  /** Called with the events of every append, also of those that are made after the run has failed. */
  readonly onAppended: (events: readonly RecordedEvent[]) => void;
  /** Called once, when an append has failed for good. */
  readonly onFailure: (error: Error) => void;
};

/**
 * Collects what a run does and appends it before the next effect (rule: One append before each effect): events without a wait between them
 * are one append. Appends go one after another; once one has failed, all later ones fail with its error.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #buffer: ProposedEvent[] = [];
  /** The append that was refused because of one of its entries. */
  readonly #refused: ProposedEvent[] = [];
  #scheduled: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  #failure: Error | null = null;
  #hasWritten = false;
  #isParked = false;
  /** The events that a parked run had recorded but not appended. */
  readonly #unwritten: ProposedEvent[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Why nothing more can be recorded; null if nothing has failed. */
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

  /** Commits the events before the refused one, so only that one is lost. If it was an answer, records that the answer came. */
  async recordUpToRefused(): Promise<void> {
    await this.#options.stream.dropProposed();
    for (const entry of this.#refused.splice(0)) {
      try {
        await this.recordEnd([entry]);
      } catch (error) {
        const failure = isRefusal(error) ? failureInPlaceOf(entry, error) : null;
        if (failure !== null) await this.recordEnd([failure]).catch(ignoreRefusal);
        return;
      }
    }
  }

  /**
   * Stops appending what the run does, and aborts it. Returns false if the run has already failed, or if this process has written nothing
   * of it, so that there is nothing to leave.
   */
  async park(reason: Error): Promise<boolean> {
    this.#isParked = this.#failure === null;
    this.fail(reason);
    await this.#last.catch(() => undefined);
    return this.#isParked && this.#hasWritten;
  }

  /** The events of a parked run that are not in its log: results, and events from before the abort, except of effects that had not begun. */
  takeUnwritten(): readonly ProposedEvent[] {
    const left = [...this.#unwritten.splice(0), ...this.#buffer.splice(0)];
    return left.filter(({ event }) => !intents.has(event.type));
  }

  /** Records events despite the failure, such as the end of this process's part of a run. */
  async recordEnd(entries: readonly ProposedEvent[]): Promise<void> {
    const result = await this.#options.stream.commit(entries, this.#options.guard);
    if (result.status !== "rejected") this.#options.onAppended(result.events);
  }

  /** Stops recording, and informs the run. */
  fail(reason: Error): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#options.onFailure(reason);
  }

  /**
   * Resolves when everything recorded so far is durable. Events recorded in the same tick join the same append.
   *
   * @throws {TurnlogError} `run-taken-over` if this process no longer owns the run.
   */
  flush(): Promise<void> {
    this.#scheduled ??= this.#options.barrier().then(() => {
      this.#scheduled = null;
      const batch = this.#buffer;
      this.#buffer = [];
      this.#last = this.#last.then(() => this.#append(batch));
      // The caller awaits it; this only keeps a failure from being unhandled if no caller did.
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
      this.#options.onAppended(result.events);
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

/** A requested result has come: it is recorded even after the abort. */
const isResult = ({ type }: ProposedEvent["event"]): boolean => type === "ResponseReceived" || type === "ToolFinished";

/** Events recorded before something begins. It does not begin before they are durable. */
const intents: ReadonlySet<string> = new Set(["ToolStarted", "EffectStarted", "InferenceRequested"]);

/** The end of the run reports the refusal as well. */
function ignoreRefusal(error: unknown): void {
  if (!isRefusal(error)) throw error;
}

const notInjected = (): never => {
  throw new TypeError("a durable write cannot be replaced by an injected answer");
};

/** An event that no store accepts: it could not be read back, or is over a bound although long strings are stored beside it. */
export type UnstorableEvent = InvalidEventError | EventTooLargeError;

export const isRefusal = (error: unknown): error is UnstorableEvent =>
  error instanceof InvalidEventError || error instanceof EventTooLargeError;

/** The event recorded instead of a refused answer: it says that an answer came, and why it is missing. */
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
