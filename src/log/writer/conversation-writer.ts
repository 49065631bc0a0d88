import { decide, type Rejection } from "../../domain/conversation.ts";
import { type ConversationState, draftState, evolve, initialState } from "../../domain/conversation-state.ts";
import { type ConversationEvent, recordable } from "../../domain/events/event.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import type { EventLog } from "../codec/event-log.ts";
import type { NewEvent } from "../codec/prepare.ts";
import { followEnvelopes, readEvent } from "../codec/recorded.ts";
import { inheritedInvalidations } from "../history/inherited-invalidations.ts";
import { readHistory } from "../history/lineage.ts";
import { foldAround } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import { openSnapshotWriter, type SnapshotWriter } from "../snapshots/snapshot-writer.ts";

export type CommitResult =
  | { readonly status: "committed"; readonly events: readonly RecordedEvent[] }
  | { readonly status: "rejected"; readonly rejection: Rejection };

/** How often one commit is prepared anew because someone else wrote first. */
const maxPreparations = 50;

/**
 * The one writer of a conversation's stream in this process: it keeps the folds at the head it knows, decides on them what is
 * proposed, and appends what is to be recorded. Commits go one after another.
 */
export class ConversationWriter {
  readonly name: string;
  readonly log: EventLog;
  #head: Head | null = null;
  #lastRunAt: string | null = null;
  #lastRunRevision: number | null = null;
  #lastAt: string | null = null;
  /** How far each ancestor's stream was looked at. */
  readonly #ancestors = new Map<string, number>();
  #state: ConversationState = initialState();
  #view: ConversationView;
  #queue: Promise<unknown> = Promise.resolve();
  /** Null before the first event was read or written, and where the store keeps no snapshots. */
  #taker: SnapshotWriter | null = null;

  constructor(log: EventLog, name: string) {
    this.log = log;
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

  /** The latest time that an event of the stream has. */
  get lastAt(): string | null {
    return this.#lastAt;
  }

  /** When the newest event of the run that is open happened, as its envelope says: its last sign of life. */
  get lastRunAt(): string | null {
    return this.#lastRunAt;
  }

  /** The newest event of the run that is open. */
  get lastRunRevision(): number | null {
    return this.#lastRunRevision;
  }

  /** The stream's own events, from a revision on. */
  read(from: number): AsyncIterable<RecordedEvent> {
    return this.log.read(this.name, { from });
  }

  /**
   * The events of the stream from a revision on, whoever writes them, until the signal aborts. By default those that come after
   * what this writer knows now.
   */
  async *follow(from: number | undefined, signal: AbortSignal): AsyncIterable<RecordedEvent> {
    const { store } = this.log;
    const known = from === undefined ? (this.#head ?? (await store.head(this.name))) : null;
    const first = from ?? (known === null ? 0 : known.revision + 1);
    for await (const envelope of followEnvelopes(store, this.name, { from: first, signal })) {
      yield await readEvent(store, envelope);
    }
  }

  /** Reads what others wrote, and folds it. */
  refresh(): Promise<ConversationView> {
    return this.#enqueue(() => this.#catchUp());
  }

  /**
   * Records what the ancestors of a fork have learnt since (MODEL 2): a response that a server lost for the parent is lost
   * for the fork. What is planned then follows from this conversation's own events, whatever the ancestors go on to do.
   * The own events have to be at hand.
   */
  async learnFromAncestors(): Promise<ConversationView> {
    for (const [stream, seen] of this.#ancestors) {
      const { invalidations, revision } = await inheritedInvalidations(
        this.log.store,
        { stream, seen, own: this.name },
        this.#view,
      );
      if (invalidations.length > 0)
        await this.commit(invalidations.map((event) => ({ event, actor: { kind: "engine" } })));
      this.#ancestors.set(stream, revision);
    }
    return this.#view;
  }

  /**
   * Appends what is to be recorded of the proposed events, all or nothing unless it is too big for one append. On a conflict it
   * reads what came first and decides anew what is not there yet; `guard` may refuse by throwing.
   *
   * @throws {StoreUnavailableError} when the outcome is unknown.
   * @throws {InvalidEventError} for what could not be read again; nothing was appended.
   */
  commit(proposed: readonly ProposedEvent[], guard?: (view: ConversationView) => void): Promise<CommitResult> {
    return this.#enqueue(() => this.#commit(proposed, guard));
  }

  async #commit(proposed: readonly ProposedEvent[], guard?: (view: ConversationView) => void): Promise<CommitResult> {
    if (this.#head === null) await this.#catchUp();
    const written: RecordedEvent[] = [];
    let left = proposed;
    for (let preparation = 1; ; preparation += 1) {
      guard?.(this.#view);
      const decided = this.#decide(left);
      if (!Array.isArray(decided)) return { status: "rejected", rejection: decided };
      if (decided.length === 0) return { status: "committed", events: written };
      const result = await this.log.append(this.name, this.#head, decided);
      const { events } = result;
      written.push(...events);
      if (result.status === "appended") {
        if (events.some(isFork)) await this.#catchUp();
        else for (const recorded of events) this.#fold(recorded);
        await this.#taker?.save();
        return { status: "committed", events: written };
      }
      if (preparation === maxPreparations) throw new StreamContendedError(this.name);
      // What was too big for one append may be there in part: the rest of it follows what came between.
      const next = events.length === 0 ? undefined : decided[events.length]?.proposed;
      if (next !== undefined) left = left.slice(left.indexOf(next));
      await this.#catchUp();
    }
  }

  #decide(proposals: readonly ProposedEvent[]): Decided[] | Rejection {
    const draft = draftState(this.#state);
    const decided: Decided[] = [];
    for (const proposed of proposals) {
      const result = decide(draft, proposed.event, proposed.runId ?? null);
      if (!result.ok) return result.error;
      for (const event of result.value) {
        const made = recordable(event, proposed.actor);
        evolve(draft, made.event, proposed.runId ?? null);
        decided.push({ ...proposed, ...made, proposed });
      }
    }
    return decided;
  }

  /** A fork is folded as its lineage: its ancestors' events come before its own first one. */
  async #catchUp(): Promise<ConversationView> {
    return foldAround(this.log, async (skipped) => {
      try {
        const from = this.#head === null ? 0 : this.#head.revision + 1;
        if (from === 0) this.#taker = await openSnapshotWriter(this.log.store, this.name);
        for await (const recorded of readHistory(this.log, this.name, { from, skipped })) {
          if (from > 0 && recorded.event.type === "EventSkipped") {
            // The folds at hand may hold what is to be left out.
            this.#forget();
            return await this.#catchUp();
          }
          this.#fold(recorded);
        }
      } catch (error) {
        // What took half of an event in is of no use.
        this.#forget();
        throw error;
      }
      await this.#taker?.save();
      return this.#view;
    });
  }

  #forget(): void {
    this.#head = null;
    this.#ancestors.clear();
    this.#state = initialState();
    this.#view = conversationView.initial(this.name);
  }

  /** The head is that of the newest event folded, whoever wrote it: set by anything else, an event would be folded twice. */
  #fold(recorded: RecordedEvent): void {
    this.#state = evolve(this.#state, recorded.event, recorded.runId);
    this.#view = conversationView.apply(this.#view, recorded);
    this.#taker?.note(this.#view, recorded);
    if (recorded.stream === this.name) this.#head = { revision: recorded.revision, digest: recorded.digest };
    else this.#ancestors.set(recorded.stream, recorded.revision);
    // A tool of an earlier run may come back in the middle of this one.
    if (recorded.runId !== null && recorded.runId === this.#view.client.run?.id) {
      this.#lastRunAt = recorded.at;
      this.#lastRunRevision = recorded.revision;
    }
    if (this.#lastAt === null || recorded.at > this.#lastAt) this.#lastAt = recorded.at;
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

const isFork = ({ event }: RecordedEvent): boolean =>
  event.type === "ConversationStarted" && event.data.origin.type === "fork";

/** An event to record, and what was proposed. */
type Decided = NewEvent<ConversationEvent> & { readonly proposed: ProposedEvent };

/** Others write to the stream faster than this writer can prepare; nothing was written. */
export class StreamContendedError extends Error {
  override readonly name = "StreamContendedError";
  readonly code = "stream-contended";

  constructor(stream: string) {
    super(`${stream} changed ${maxPreparations} times while one append was prepared; try again`);
  }
}
