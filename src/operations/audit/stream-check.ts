import { err, ok, type Result } from "../../base/result.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { isRequest } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import { CheckedFold, damageWords } from "../../engine/recorded/checked-fold.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { isErased, linesErased } from "../../log/codec/erased.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import { isOfTheStore, readEvent } from "../../log/codec/recorded.ts";
import { namesOf } from "../../log/codec/stream-names.ts";
import { readAncestors } from "../../log/history/lineage.ts";
import { foldAround, type SkippedEvents } from "../../log/history/skipped-events.ts";
import { type EventStore, envelopeAt, type Head, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { SnapshotCheck } from "../../log/snapshots/snapshot-check.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { ErasureCheck } from "./erasure-check.ts";

/** The first thing that is wrong with a stream. Later events are not checked. */
export type StreamProblem = {
  /** The first revision that differs from what was written; for a missing event, its own. */
  readonly revision: number;
  readonly kind: /** An event is missing, or it, its place or an earlier event was changed. */
    | "chain"
    /** The store's head, or one saved elsewhere, is not the newest event. */
    | "head"
    /** The event cannot be read, or one of its blobs is incomplete. */
    | "unreadable"
    /** The event does not follow from the events before it. */
    | "fold"
    /** The request body cannot be built again as it was sent. */
    | "request"
    /** Everything else is right, but the request was not checked because its codec was not given. */
    | "codec"
    /** Its content is gone without an erasure order, or there is an order and the content is still there. */
    | "hole"
    /** The events are right, but a snapshot differs from them, so conversations opened from it are wrong. */
    | "snapshot"
    /** The events are right, but a read model differs from them. */
    | "view";
  readonly message: string;
};

export type StreamOptions = {
  readonly codecs: Codecs;
  /** The stream's heads that were saved elsewhere, at any time. */
  readonly savedHeads: readonly Head[];
  /** The last event to check. */
  readonly last: number;
  /** Called for every event checked. */
  readonly onEvent?: () => void;
};

/** The damage that operators have examined and skipped. */
export type LookedAt = {
  /** Events that folds leave out. */
  readonly skipped: SkippedEvents;
  /** Events that differ from what was written: the next event follows from their stored digest. */
  readonly changed: SkippedEvents;
};

/** Checks one stream, event by event, up to the first problem. */
export class StreamCheck {
  readonly #reader: EventReader;
  readonly #store: EventStore;
  readonly #stream: string;
  readonly #options: StreamOptions & LookedAt;
  readonly #isConversation: boolean;
  #folds: CheckedFold;
  #snapshots: SnapshotCheck;
  readonly #erasure: ErasureCheck;
  head: Head | null = null;
  requests = 0;
  problem: StreamProblem | null = null;
  /** The first request whose codec was not given, and all such codecs. */
  #unchecked: StreamProblem | null = null;
  readonly #missing = new Set<string>();

  constructor(reader: EventReader, stream: string, options: StreamOptions & LookedAt) {
    this.#reader = reader;
    this.#store = reader.store;
    this.#stream = stream;
    this.#options = options;
    this.#isConversation = conversationOfStream(stream) !== null;
    this.#folds = new CheckedFold(stream, options.codecs);
    this.#snapshots = new SnapshotCheck(reader.store, stream);
    this.#erasure = new ErasureCheck(reader.store);
  }

  get #due(): number {
    return this.head === null ? 0 : this.head.revision + 1;
  }

  async run(): Promise<void> {
    this.problem = (await this.#firstProblem()) ?? this.#snapshotProblem() ?? this.#uncheckedRequests();
  }

  #uncheckedRequests(): StreamProblem | null {
    const [, ...others] = this.#missing;
    if (this.#unchecked === null || others.length === 0) return this.#unchecked;
    const names = others.map((name) => `'${name}'`).join(", ");
    return { ...this.#unchecked, message: `${this.#unchecked.message}; others were encoded by ${names}` };
  }

  async #firstProblem(): Promise<StreamProblem | null> {
    for (;;) {
      const damage = await this.#checkEvents();
      // Later events were not checked, so the head is not checked either.
      if (damage !== null || this.#due > this.#options.last) return damage;
      const cut = this.#checkSavedHead();
      if (cut !== null) return cut;
      const kept = await this.#keptHead();
      if (!kept.ok) return kept.error;
      if (!kept.value.isThere) return this.#checkKeptHead(kept.value.head);
    }
  }

  /** The head that the store keeps, and whether the next expected event exists by now. */
  async #keptHead(): Promise<Result<{ readonly head: Head | null; readonly isThere: boolean }, StreamProblem>> {
    try {
      // Read after the events, so it is at least as new: a newer head means that events were appended meanwhile.
      const head = await this.#store.head(this.#stream);
      const isLater = head !== null && head.revision >= this.#due;
      return ok({ head, isThere: isLater && (await envelopeAt(this.#store, this.#stream, this.#due)) !== null });
    } catch (error) {
      return err(this.#problem("unreadable", describe(error)));
    }
  }

  async #checkEvents(): Promise<StreamProblem | null> {
    try {
      for await (const envelope of this.#store.readStream(this.#stream, { from: this.#due })) {
        if (this.#due > this.#options.last) return await this.#holeProblem(envelope);
        const problem =
          this.#checkChain(envelope) ??
          (this.#isConversation && isErased(envelope)
            ? await this.#checkErasure(envelope)
            : await this.#checkContent(envelope));
        if (problem !== null) return problem;
        this.head = { revision: envelope.revision, digest: envelope.digest };
        this.#options.onEvent?.();
      }
      const missing = this.#erasure.problem;
      return missing === null ? await this.#holeProblem(null) : this.#problem("hole", missing);
    } catch (error) {
      return this.#problem("unreadable", describe(error));
    }
  }

  /** An erased line that nothing explains. @param next - The event after the last one that is checked, if there is one. */
  async #holeProblem(next: StoredEnvelope | null): Promise<StreamProblem | null> {
    if (this.#erasure.unexplained !== null && next !== null)
      // It may have been erased while the stream was checked.
      for await (const later of this.#store.readStream(this.#stream, { from: next.revision }))
        await this.#explain(later);
    const hole = this.#erasure.unexplained;
    return hole === null ? null : { revision: hole.revision, kind: "hole", message: hole.words };
  }

  async #explain(envelope: StoredEnvelope): Promise<string | null> {
    if (envelope.type !== linesErased) return null;
    const { event } = await readEvent(this.#store, envelope);
    if (event.type !== "LinesErased") return null;
    return this.#erasure.problemOfLines({ stream: this.#stream, data: event.data });
  }

  async #checkErasure(envelope: StoredEnvelope): Promise<StreamProblem | null> {
    const problem = await this.#erasure.problemOf(envelope);
    return problem === null ? null : this.#problem("hole", problem);
  }

  #checkChain(envelope: StoredEnvelope): StreamProblem | null {
    if (envelope.revision > this.#due) {
      return this.#problem("chain", `it is missing: the next event has revision ${envelope.revision}`);
    }
    if (this.#erasure.isOver) return this.#problem("chain", "it follows the end of a conversation that was erased");
    // Only the digest of an erased event is left. The event after all of them follows from it.
    const isEmpty = this.#isConversation && envelope.encoding === "erased" && envelope.revision === this.#due;
    const checked = isEmpty ? ok(null) : checkEnvelope(this.head, envelope);
    const isKnown = this.#options.changed.has(envelope.stream, envelope.revision);
    if (!checked.ok && !isKnown) return this.#problem("chain", checked.error.reason);
    const isOther = this.#options.savedHeads.some(
      ({ revision, digest }) => revision === envelope.revision && digest !== envelope.digest,
    );
    return isOther ? this.#problem("head", "it, or an event before it, has changed since its head was saved") : null;
  }

  async #checkContent(envelope: StoredEnvelope): Promise<StreamProblem | null> {
    if (!this.#isConversation) return null;
    if (this.#options.skipped.has(this.#stream, envelope.revision)) {
      const isChanged = this.#options.changed.has(this.#stream, envelope.revision);
      await this.#erasure.noteSkipped(envelope, { isChanged });
      return null;
    }
    this.#erasure.noteLines(envelope);
    const unsound = await this.#explain(envelope);
    if (unsound !== null) return this.#problem("hole", unsound);
    const recorded = await readEvent(this.#store, envelope);
    if (recorded.revision === 0) {
      const inherited = await this.#inherit(recorded);
      if (inherited !== null) return inherited;
    }
    const wrong = this.#folds.take(recorded, await namesOf(this.#store, this.#stream, envelope));
    if (wrong !== null) return this.#problem("fold", wrong.words);
    await this.#snapshots.take(recorded, this.#folds.view);
    if (!isRequest(recorded.event)) return null;
    this.requests += 1;
    try {
      const other = this.#folds.checkRequest(recorded);
      return other && this.#problem("request", other.words);
    } catch (error) {
      if (!(error instanceof TurnlogError && error.code === "unknown-codec"))
        return this.#problem("request", describe(error));
      this.#unchecked ??= this.#problem("codec", error.message);
      this.#missing.add(recorded.event.data.encoder);
      return null;
    }
  }

  /** Folds a fork's ancestors. The checks of their own streams decide whether they are sound. */
  async #inherit(first: RecordedEvent): Promise<StreamProblem | null> {
    try {
      await foldAround(this.#reader, async (skipped) => {
        this.#folds = new CheckedFold(this.#stream, this.#options.codecs);
        this.#snapshots = new SnapshotCheck(this.#store, this.#stream);
        for await (const recorded of readAncestors(this.#reader, first, skipped)) {
          this.#folds.inherit(recorded);
          await this.#snapshots.take(recorded, this.#folds.view);
        }
      });
      return null;
    } catch (error) {
      const isDamaged = error instanceof ConversationDamagedError && error.stream !== this.#stream;
      const words = isDamaged ? `what it was forked from is damaged ${error.message}` : describe(error);
      return this.#problem("fold", words);
    }
  }

  #checkSavedHead(): StreamProblem | null {
    const last = Math.max(...this.#options.savedHeads.map(({ revision }) => revision));
    if (last < this.#due) return null;
    return this.#problem("head", `the tail is missing: revision ${last} existed when the heads were saved`);
  }

  #checkKeptHead(kept: Head | null): StreamProblem | null {
    if (kept === null) return this.#problem("head", "the store keeps no head of this stream");
    if (kept.revision >= this.#due)
      return this.#problem("head", `it is missing: the head is revision ${kept.revision}`);
    if (kept.revision < this.#due - 1) {
      return {
        revision: kept.revision + 1,
        kind: "head",
        message: `it comes after the head, revision ${kept.revision}`,
      };
    }
    if (kept.digest === this.head?.digest) return null;
    return { revision: kept.revision, kind: "head", message: "it is not the event that the store keeps as the head" };
  }

  #snapshotProblem(): StreamProblem | null {
    const { wrong } = this.#snapshots;
    if (wrong === null) return null;
    const { revision, what } = wrong;
    const message = `the events are right, but the snapshot at this revision is wrong: ${what}; delete the snapshots, turnlog rebuilds them`;
    return { revision, kind: "snapshot", message };
  }

  #problem(kind: StreamProblem["kind"], message: string): StreamProblem {
    return { revision: this.#due, kind, message };
  }
}

/** Describes what is wrong; rethrows an error that says nothing about the events. */
function describe(error: unknown): string {
  if (isOfTheStore(error)) throw error;
  return damageWords(error);
}
