import { excerpt } from "../../base/printable.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type Actor, describeActor, isActor } from "../../domain/actor.ts";
import { type ConversationEvent, isRequest } from "../../domain/events/event.ts";
import type { RecordedEvent, SkippedBy } from "../../domain/events/recorded.ts";
import { Turn } from "../../domain/turn.ts";
import { turnDifference } from "../../domain/turn-difference.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import { type SentRequest, sentRequest } from "../../engine/recorded/recorded-request.ts";
import { actorOf } from "../../log/codec/actor-line.ts";
import { checkEnvelope, foundDigest } from "../../log/codec/envelope.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { readHistory } from "../../log/history/lineage.ts";
import { lookAt, skipOf } from "../../log/history/read-events.ts";
import { existingRevision } from "../../log/history/revision.ts";
import type { RecordedSkip, SkippedEvents } from "../../log/history/skipped-events.ts";
import type { Head, StoredEnvelope } from "../../log/ports/event-store.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { skippedOf } from "../../log/snapshots/open.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { type ConversationView, conversationView } from "../../projections/views/conversation-view.ts";
import { describeEvent } from "../descriptions/describe-event.ts";
import { type BlockLabels, noLabels, noteLabels } from "../descriptions/labels.ts";
import { changersOf } from "../time-travel/diff.ts";
import { changedBy, isEmptyDifference, type TurnChanges, turnChanges } from "../time-travel/turn-changes.ts";
import type { WalkOptions } from "./walk-options.ts";

/** The log to read, and the codecs to rebuild bodies of requests with. */
type WalkTools = { readonly log: EventLog; readonly codecs: ReadonlyMap<string, Codec> };

/** One event of a conversation, and what it did. */
export type WalkedEvent = {
  readonly stream: string;
  readonly revision: number;
  /** When it happened, as an ISO time. */
  readonly at: string;
  readonly type: string;
  /** Null if the event cannot be read. */
  readonly actor: Actor | null;
  readonly runId: string | null;
  readonly frame: string | null;
  /** The event in one line, as `turnlog log` prints it. */
  readonly words: string;
  /**
   * Why the event, or the body of its request, cannot be read, or that it has changed since it was written; null if nothing is wrong
   * with this event, or an operator skipped it. `verify` says whether the whole conversation is sound.
   */
  readonly problem: string | null;
  /** Who skipped the event, because it was damaged, and why; null for all others. Folds ignore its content. */
  readonly skipped: SkippedBy | null;
  /** The event as it was recorded; null if it cannot be read, and if it was skipped. */
  readonly event: ConversationEvent | null;
  /** The change to the Turn, and its author; null if there is none, or if earlier damage hides it. */
  readonly changes: TurnChanges | null;
  /** The request that it records, with the body that was sent; null at other events. */
  readonly request: SentRequest | null;
};

/** The details of each event to report beside its words; each costs a fold of the conversation. */
export type WalkParts = {
  readonly changes: boolean;
  /** The codecs to rebuild bodies with; null to omit bodies. */
  readonly bodies: ReadonlyMap<string, Codec> | null;
};

/**
 * Walks a conversation's own events in order. The changes of an event are relative to the Turn that is handed on while a run is open,
 * with the blocks that wait for its end; otherwise to the committed Turn. A bad event is reported as such, and the walk continues; from
 * there on, what events changed is unknown.
 */
export class Walker {
  readonly #log: EventLog;
  readonly #parts: WalkParts;
  readonly #words: BlockLabels = noLabels();
  readonly #view: ConversationView;
  readonly #skipped: SkippedEvents;
  #before = Turn.empty;
  #isLost = false;
  /** The head that the event before states for itself, so each change of what is stored shows where it was made. */
  #previous: Head | null = null;

  private constructor(
    log: EventLog,
    stream: string,
    { skipped, ...parts }: WalkParts & { readonly skipped: SkippedEvents },
  ) {
    this.#log = log;
    this.#parts = parts;
    this.#skipped = skipped;
    this.#view = conversationView.initial(stream);
  }

  /** Starts before the first event of a conversation: a fork continues from its ancestors' events. */
  static async start(log: EventLog, stream: string, parts: WalkParts): Promise<Walker> {
    const walker = new Walker(log, stream, { ...parts, skipped: await skippedOf(log, stream) });
    await walker.#takeAncestors(stream);
    return walker;
  }

  /** Whether the walk has met damage; from there on, the changes of events are unknown. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The next event of the stream. */
  async take(envelope: StoredEnvelope): Promise<WalkedEvent> {
    const checked = checkEnvelope(this.#previous, envelope);
    this.#previous = { revision: envelope.revision, digest: envelope.digest };
    const skip = await skipOf(this.#log, envelope, this.#skipped);
    if (skip !== null) return hole(envelope, skip, checked.ok ? null : checked.error.reason);
    const walked = await this.#read(envelope);
    // If it cannot be read, the reason says more.
    return checked.ok || walked.event === null ? walked : { ...walked, problem: checked.error.reason };
  }

  async #read(envelope: StoredEnvelope): Promise<WalkedEvent> {
    const recorded = await lookAt(this.#log, envelope);
    if (recorded instanceof Error) return unreadable(envelope, recorded);
    noteLabels(this.#words, recorded);
    const { stream, revision, at, actor, runId, frame, event } = recorded;
    const changes = this.#changesOf(recorded);
    return {
      ...{ stream, revision, at, type: event.type, actor, runId, frame, event, skipped: null },
      words: describeEvent(this.#words, recorded),
      changes: this.#parts.changes ? changes : null,
      ...this.#requestOf(recorded),
    };
  }

  get #isFolding(): boolean {
    return !this.#isLost && (this.#parts.changes || this.#parts.bodies !== null);
  }

  #changesOf(recorded: RecordedEvent): TurnChanges | null {
    if (!this.#isFolding) return null;
    try {
      conversationView.apply(this.#view, recorded);
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      this.#isLost = true;
      return null;
    }
    const { run, committed } = this.#view.client;
    const [from, to] = [this.#before, run === null ? committed : run.turns.get(run.turns.newest).concat(run.pending)];
    this.#before = to;
    const difference = from === to ? null : turnDifference(from, to);
    if (difference === null || isEmptyDifference(difference)) return null;
    // One event's changes are its actor's own; the engine hands on the output of tools.
    const { actor } = recorded;
    return turnChanges(
      difference,
      { from, to, labels: this.#words.labels },
      actor.kind === "engine" ? changersOf(this.#view) : changedBy(actor),
    );
  }

  #requestOf(recorded: RecordedEvent): Pick<WalkedEvent, "request" | "problem"> {
    const { bodies } = this.#parts;
    if (bodies === null || !isRequest(recorded.event)) return { request: null, problem: null };
    if (this.#isLost) return { request: null, problem: "its body cannot be rebuilt, because of the damage before it" };
    try {
      return { request: sentRequest(this.#view, recorded, bodies), problem: null };
    } catch (error) {
      const isDamage = error instanceof StoreCorruptedError;
      if (!isDamage && !(error instanceof TurnlogError && error.code === "unknown-codec")) throw error;
      return { request: null, problem: error.message };
    }
  }

  /** A fork's events name blocks of its ancestors. If those are damaged, labels and changes are missing. */
  async #takeAncestors(own: string): Promise<void> {
    try {
      for await (const recorded of readHistory(this.#log, own, { to: 0, skipped: this.#skipped })) {
        if (recorded.stream === own) continue;
        noteLabels(this.#words, recorded);
        this.#changesOf(recorded);
      }
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      this.#isLost = true;
    }
  }
}

const unreadable = (envelope: StoredEnvelope, error: Error): WalkedEvent => ({
  ...unread(envelope),
  ...{ words: `${excerpt(envelope.type, 40)} cannot be read`, problem: excerpt(error.message, 160), skipped: null },
});

/** A skipped event is not a problem as long as it is unchanged since it was skipped. */
function hole(envelope: StoredEnvelope, { found, ...skipped }: RecordedSkip, changed: string | null): WalkedEvent {
  const { by, reason, skippedAt } = skipped;
  return {
    ...unread(envelope),
    words: `${excerpt(envelope.type, 40)} skipped by ${describeActor(by)}: ${excerpt(reason, 160)}`,
    problem: changed === null || found === foundDigest(envelope) ? null : changed,
    skipped: { by, reason, skippedAt },
  };
}

function unread(envelope: StoredEnvelope): Omit<WalkedEvent, "words" | "problem" | "skipped"> {
  const { stream, revision, at, type, runId = null, frame = null } = envelope;
  const actor = isActor(envelope.actor) ? actorOf(envelope) : null;
  return { stream, revision, at, type, actor, runId, frame, event: null, changes: null, request: null };
}

/** Walks a stream, each event with everything known of it, with checked options. */
export async function* walk(
  { log, codecs }: WalkTools,
  stream: string,
  { from, to, direction }: WalkOptions,
): AsyncIterable<WalkedEvent> {
  const { store } = log;
  if (from === undefined && to === undefined && (await store.head(stream)) === null) return;
  const first = await existingRevision(store, stream, from ?? 0);
  const last = await existingRevision(store, stream, to ?? -1);
  if (first > last) throw new RangeError(`walk: from must not be after to: it goes from revision ${first} to ${last}`);
  const range = { changes: true, bodies: codecs, from: first, to: last };
  yield* (direction === "backwards" ? walkBackwards : walkForwards)(log, stream, range);
}

type Walk = WalkParts & { readonly from: number; readonly to: number };

/** The events of a stream from one revision to another. */
async function* walkForwards(log: EventLog, stream: string, walk: Walk): AsyncIterable<WalkedEvent> {
  const walker = await Walker.start(log, stream, walk);
  for await (const envelope of log.store.readStream(stream, { limit: walk.to + 1 })) {
    const walked = await walker.take(envelope);
    if (walked.revision >= walk.from) yield walked;
  }
}

/** How many events a walk backwards holds at once; it folds the conversation again for each stretch. */
const stretchEvents = 1_000;

/** The same, newest first. */
async function* walkBackwards(log: EventLog, stream: string, walk: Walk): AsyncIterable<WalkedEvent> {
  for (let to = walk.to; to >= walk.from; to -= stretchEvents) {
    const stretch: WalkedEvent[] = [];
    const from = Math.max(walk.from, to - stretchEvents + 1);
    for await (const walked of walkForwards(log, stream, { ...walk, from, to })) stretch.push(walked);
    yield* stretch.reverse();
  }
}
