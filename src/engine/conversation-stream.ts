import type { Actor } from "../domain/actor.ts";
import {
  type Command,
  type ConversationState,
  decide,
  draftState,
  evolve,
  initialState,
  type Rejection,
} from "../domain/conversation.ts";
import type { ConversationEvent } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
import type { EventLog } from "./codec/event-log.ts";
import type { Head } from "./event-store.ts";
import { type KeyframeTaker, openTaker } from "./keyframes/taker.ts";
import { readRecorded, recordedOf } from "./recorded.ts";

/** A command, and who gives it where. */
export type Entry = {
  readonly command: Command;
  readonly actor: Actor;
  readonly runId?: string;
  readonly frame?: string;
};

export type CommitResult =
  | { readonly status: "committed"; readonly events: readonly RecordedEvent[] }
  | { readonly status: "rejected"; readonly rejection: Rejection };

/** How often one commit is prepared anew because someone else wrote first. */
const preparationsMax = 50;

/**
 * The one writer of a conversation's stream in this process: it keeps the folds at the head it knows, decides commands on
 * them, and appends what they make happen. Commits go one after another.
 */
export class ConversationStream {
  readonly name: string;
  readonly #log: EventLog;
  #head: Head | null = null;
  #lastRunAt: string | null = null;
  #state: ConversationState = initialState();
  #view: ConversationView;
  #queue: Promise<unknown> = Promise.resolve();
  /** Null before the first event was read or written, and where the store keeps no keyframes. */
  #taker: KeyframeTaker | null = null;

  constructor(log: EventLog, name: string) {
    this.#log = log;
    this.name = name;
    this.#view = conversationView.initial(name);
  }

  /** Both folds, at `head`. */
  get view(): ConversationView {
    return this.#view;
  }

  get head(): Head | null {
    return this.#head;
  }

  /** When the newest event of a run happened, as its envelope says: the last sign of life of a run that is open. */
  get lastRunAt(): string | null {
    return this.#lastRunAt;
  }

  /** Reads what others wrote, and folds it. */
  refresh(): Promise<ConversationView> {
    return this.#enqueue(() => this.#catchUp());
  }

  /**
   * Appends what the commands make happen, all or nothing. On a conflict it reads what came first and decides anew;
   * `guard` may refuse by throwing.
   *
   * @throws {StoreUnavailableError} when the outcome is unknown.
   */
  commit(entries: readonly Entry[], guard?: (view: ConversationView) => void): Promise<CommitResult> {
    return this.#enqueue(() => this.#commit(entries, guard));
  }

  async #commit(entries: readonly Entry[], guard?: (view: ConversationView) => void): Promise<CommitResult> {
    if (this.#head === null) await this.#catchUp();
    for (let preparation = 1; ; preparation += 1) {
      guard?.(this.#view);
      const decided = this.#decide(entries);
      if (!Array.isArray(decided)) return { status: "rejected", rejection: decided };
      if (decided.length === 0) return { status: "committed", events: [] };
      const result = await this.#log.append(this.name, this.#head, decided.map(toNewEvent));
      if (result.status === "appended") {
        const events = result.events.map((stored, index) => recordedOf(stored, eventAt(decided, index)));
        for (const recorded of events) this.#fold(recorded);
        this.#head = result.head;
        await this.#taker?.save();
        return { status: "committed", events };
      }
      if (preparation === preparationsMax) throw new StreamContendedError(this.name);
      await this.#catchUp();
    }
  }

  #decide(entries: readonly Entry[]): Decided[] | Rejection {
    const draft = draftState(this.#state);
    const decided: Decided[] = [];
    for (const entry of entries) {
      const result = decide(draft, entry.command);
      if (!result.ok) return result.error;
      for (const event of result.value) {
        evolve(draft, event, entry.runId ?? null);
        decided.push({ entry, event });
      }
    }
    return decided;
  }

  async #catchUp(): Promise<ConversationView> {
    const from = this.#head === null ? 0 : this.#head.revision + 1;
    const { keyframes } = this.#log.store;
    if (from === 0 && keyframes !== undefined) this.#taker = await openTaker(keyframes, this.name);
    for await (const stored of this.#log.read(this.name, { from, blobs: "resolve" })) {
      this.#fold(readRecorded(stored));
      this.#head = { revision: stored.revision, digest: stored.digest };
    }
    await this.#taker?.save();
    return this.#view;
  }

  #fold(recorded: RecordedEvent): void {
    this.#state = evolve(this.#state, recorded.event, recorded.runId);
    this.#view = conversationView.apply(this.#view, recorded);
    this.#taker?.note(this.#view, recorded);
    if (recorded.runId !== null) this.#lastRunAt = recorded.at;
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

type Decided = { readonly entry: Entry; readonly event: ConversationEvent };

const toNewEvent = ({ entry, event }: Decided) => ({
  type: event.type,
  version: event.version,
  data: event.data,
  actor: entry.actor,
  runId: entry.runId,
  frame: entry.frame,
});

function eventAt(decided: readonly Decided[], index: number): ConversationEvent {
  const event = decided[index]?.event;
  if (event === undefined) throw new Error("the log answered with more events than were appended");
  return event;
}

/** Others write to the stream faster than this writer can prepare; nothing was written. */
export class StreamContendedError extends Error {
  override readonly name = "StreamContendedError";
  readonly code = "stream-contended";

  constructor(stream: string) {
    super(`${stream} changed ${preparationsMax} times while one append was prepared; try again`);
  }
}
