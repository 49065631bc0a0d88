import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Liveness } from "./liveness.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import type { ViewStore } from "./view-store.ts";

/** The newest event of a stream: its revision (from 0) and its chained digest. */
export type Head = { readonly revision: number; readonly digest: string };

/**
 * An event as it is stored, before its data is parsed. Every member but `position` and `data` is hashed into `digest`;
 * `data` is hashed into `dataDigest`. Nothing but `data` holds content of a conversation.
 */
export type Envelope = {
  /** A random, time-ordered UUID (version 7), drawn when the append was prepared. */
  readonly id: string;
  readonly stream: string;
  /** Place in the stream, from 0 and without gaps. */
  readonly revision: number;
  readonly type: string;
  readonly version: number;
  /** ISO 8601 in UTC with milliseconds, never before the `at` of the previous event, unless it is a run's (decision 0006). */
  readonly at: string;
  /** What was stored in its place where that is damaged: who reads events looks (`isActor`). */
  readonly actor: Actor;
  readonly runId?: string;
  readonly frame?: string;
  readonly causationId?: string;
  /** Reserved, and hashed from the first version on. */
  readonly tenant?: string;
  readonly keyId?: string;
  readonly nonce?: string;
  /** How `data` is written. Of an event that was erased (`erased`) only its place, its digest and what the erasure kept are left. */
  readonly encoding: "json" | "erased";
  /** `JSON.stringify` output, written once and copied as it is. Of an erased event: which order erased it (`erasedBy`). */
  readonly data: string;
  readonly dataDigest: string;
  readonly digest: string;
};

/** An envelope with its place in the whole log: an opaque text that orders with `comparePositions`. */
export type StoredEnvelope = Envelope & { readonly position: string };

/**
 * Events whose ids, times, digests and place are fixed. It is never changed: the same writer may repeat it after an
 * unknown outcome; a known conflict ends it, and a caller who goes on prepares a new one.
 */
export type PreparedAppend = {
  readonly stream: string;
  /** The head that the stream must still have; null for a stream without events. */
  readonly expectedHead: Head | null;
  readonly envelopes: readonly Envelope[];
};

/** A conflict is a value, so that every caller looks at it. `position` is that of the head's event. */
export type AppendResult =
  | { readonly status: "appended"; readonly head: Head; readonly position: string }
  | { readonly status: "conflict"; readonly actual: Head | null };

export type ReadStreamOptions = {
  /** The first revision to give; by default 0 forwards and the head backwards. */
  readonly from?: number;
  readonly direction?: "forwards" | "backwards";
  /** At most so many events. */
  readonly limit?: number;
  /** Ends the read with the signal's reason: an end without an error would look like the end of the stream. */
  readonly signal?: AbortSignal;
};

export type ReadLogOptions = {
  /** Only events after this position; from the beginning when absent. */
  readonly after?: string;
  /** Only events of streams whose name begins so. */
  readonly streamPrefix?: string;
  /**
   * The one stream that a subscriber wants, whose name is the prefix then: `authorize` is asked for that stream alone. A store may still
   * give events of other streams with the prefix, so use `ofStream`.
   */
  readonly stream?: string;
  readonly limit?: number;
  readonly signal?: AbortSignal;
};

/** Whole streams whose content is taken out of a store (rule: Erasure). */
export type StreamErasure = {
  /** The order that asks for it: every erased event names it. */
  readonly orderId: string;
  /**
   * One append for each stream, at the head that it must still have: the event in it says that all events before it were erased.
   */
  readonly fences: readonly PreparedAppend[];
  /** What stays of each erased event beside its place and digest: its type, version and time, or nothing. */
  readonly kept: "skeleton" | "digests";
  /** Streams that go with their events, their heads and their names: blobs, whose names tell what they hold. */
  readonly removed: readonly string[];
  /** Keys of rows that go, in all builds of all projections. */
  readonly rows: readonly string[];
};

/** What was erased, in counts. A conflict names the stream that is not at the expected head: then nothing was erased. */
export type ErasureResult =
  | {
      readonly status: "erased";
      readonly events: number;
      readonly removedEvents: number;
      readonly snapshots: number;
      readonly rows: number;
      /** The projections that keep rows here: those of other keys may still hold words of what was erased. */
      readonly projections: readonly string[];
    }
  | { readonly status: "conflict"; readonly stream: string };

/** Whether what was erased is gone from the store's files; `busy`: a reader holds on to an older state of them, so call it again. */
export type ScrubResult = { readonly status: "done" | "busy"; readonly isRewritten: boolean };

/** Events that no stream has any more, so that no reading gives them: damage. `place` is what the store knows of where. */
export type OrphanEvents = { readonly place: string; readonly revision: number; readonly events: number };

/**
 * Where events live. The port moves envelopes as they are; parsing, upcasting and the hash chain stand above it.
 *
 * - An append is all or nothing, and durable when it has resolved (the memory store excepted).
 * - An append of no events writes nothing. It answers `appended` when the stream is at the expected head, else
 *   `conflict`; a stream without events is never at one.
 * - An append whose ids and digests are all stored already, at their revisions, answers `appended` with its own last
 *   event as head, whatever came after: a repeat after a lost acknowledgement is harmless. The same id at the same
 *   revision with another digest is a `StoreCorruptedError`; a partial overlap is a conflict.
 * - An unknown stream reads as empty and has the head null.
 * - Events of one stream are given in the order of their revisions, and of the whole log in the order of their positions;
 *   a reader that has seen a position never later finds an event before it.
 * - Positions are never used again.
 * - After `close` every call throws `StoreClosedError` (an iterable when it is iterated), and open subscriptions end.
 *   Appends that were called before are still written and answered.
 */
export interface EventStore extends AsyncDisposable {
  /**
   * Drawn when the store was created: tells another store from this one. A restored backup is this store at an earlier
   * time and has the same id; a reader who had seen more finds another event at that position, or none.
   */
  readonly storeId: string;

  /**
   * How many milliseconds a call goes on trying before it throws StoreUnavailableError, and a reading without progress; what
   * repeats a call stays within it, too. Absent where nothing is waited for.
   */
  readonly deadlineMs?: number;

  /** A disposable cache beside the events, where the store has room for one. */
  readonly snapshots?: SnapshotStore;

  /** Where projections keep their rows, disposable as well. */
  readonly views?: ViewStore;

  /** Tells whether the processes live that own runs; without it, others judge an owner by its process, and else wait. */
  readonly liveness?: Liveness;

  /**
   * Appends all events or none, provided the stream is still at `prepared.expected`.
   *
   * @throws {EventTooLargeError} before anything is sent, for an event over 256 KiB or an append over 896 KiB.
   * @throws {StoreUnavailableError} when the outcome is unknown: the events may have been written.
   * @throws {StoreReplacedError} when the store's place holds another store by now, or none, or less than this process has seen.
   */
  append(prepared: PreparedAppend): Promise<AppendResult>;

  /** The events of one stream; what is appended while it is read may or may not be given. */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<StoredEnvelope>;

  /** The events of the whole log in the order of their positions, to the end as it is when the reading gets there. */
  readLog(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;

  /** As `readLog`, then every event as it comes, until the signal aborts (which ends it without an error) or `close`. */
  subscribe(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;

  /**
   * The position of the newest event of the whole log that can be read now; null where there is none. Nothing that comes later is
   * before it. A follower of one stream asks for it, reads the stream, and subscribes from there, instead of having the store search
   * its log.
   */
  end?(): Promise<string | null>;

  head(stream: string): Promise<Head | null>;

  /**
   * All streams whose name begins so, in the order of their names' UTF-8 bytes, with the heads that the store keeps
   * beside them.
   */
  heads(streamPrefix?: string): AsyncIterable<{ readonly stream: string; readonly head: Head }>;

  /**
   * The stream of the newest event among the streams whose name begins so; null when there is none. Only of stores that find
   * it without reading their log.
   */
  newestStream?(streamPrefix: string): Promise<string | null>;

  /** Looks for events of no stream, in a store whose streams are kept apart from their events. */
  orphanEvents?(): Promise<readonly OrphanEvents[]>;

  /** Heads that the store keeps apart from its events, for `verify`: what a store has lost whose end was cut in silence. */
  savedHeads?(): Promise<ReadonlyMap<string, Head>>;

  /** Saves the heads of now in their place, once all events were found to be sound; where they cannot be kept, that is told. */
  saveHeads?(): Promise<void>;

  /**
   * Erases streams as a whole, all or nothing, in one transaction: appends the fences, empties the events before them, removes the
   * `removed` streams, the snapshots of all these streams and the rows, and moves the checkpoint of each build whose event is gone to
   * the newest event before it that is left, so that no other row is made again. Each build counts as saved once more: a projector that
   * has read what is gone cannot save it. Absent of stores that cannot take anything out.
   */
  erase?(erasure: StreamErasure): Promise<ErasureResult>;

  /**
   * Takes what was erased out of the store's files: logs are cut off, saved heads are written anew, and a file that once deleted without
   * overwriting (`force`: any file) is written anew as a whole.
   */
  scrub?(options?: { readonly force?: boolean }): Promise<ScrubResult>;

  /** May be called again, to no effect. */
  close(): Promise<void>;
}

/** A store that takes things out of what it holds. */
export type ErasingStore = EventStore & Required<Pick<EventStore, "erase" | "scrub">>;

/** The event of a stream at a revision; null when it is not there. */
export async function envelopeAt(store: EventStore, stream: string, revision: number): Promise<StoredEnvelope | null> {
  for await (const envelope of store.readStream(stream, { from: revision, limit: 1 })) {
    return envelope.revision === revision ? envelope : null;
  }
  return null;
}

/** The events of one stream: a prefix is the beginning of other names, too. */
export async function* ofStream(events: AsyncIterable<StoredEnvelope>, stream: string): AsyncIterable<StoredEnvelope> {
  for await (const event of events) if (event.stream === stream) yield event;
}

/** Orders two positions of one store: negative when the left one comes first. */
export function comparePositions(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0);
}

/** Bound of an event on every store: the UTF-8 bytes of its envelope as JSON, `data` being a string in it. */
export const maxEventBytes = 256 * 1024;

/** Bound of an append on every store: the sum over its events. */
export const maxAppendBytes = 896 * 1024;

/** The store cannot be reached or used; for an append, its outcome is unknown. */
export class StoreUnavailableError extends TurnlogError<"store-unavailable"> {
  override readonly name = "StoreUnavailableError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-unavailable", message, options);
  }
}

/** There is no store at this place, and the caller asked not to create one. */
export class StoreNotFoundError extends TurnlogError<"store-not-found"> {
  override readonly name = "StoreNotFoundError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-not-found", message, options);
  }
}

/** The store was closed by this process. */
export class StoreClosedError extends TurnlogError<"store-closed"> {
  override readonly name = "StoreClosedError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-closed", message, options);
  }
}

/** Another store, or none, stands where this one was opened: nothing was written, and nothing can be from here. */
export class StoreReplacedError extends TurnlogError<"store-replaced"> {
  override readonly name = "StoreReplacedError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-replaced", message, options);
  }
}

/** What the store holds contradicts itself: damage, or two writers with one id. */
export class StoreCorruptedError extends TurnlogError<"store-corrupted"> {
  override readonly name = "StoreCorruptedError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-corrupted", message, options);
  }
}

/** The store was written by a newer turnlog. */
export class StoreTooNewError extends TurnlogError<"store-too-new"> {
  override readonly name = "StoreTooNewError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-too-new", message, options);
  }
}

/** An event or an append is over its bound; nothing was sent. */
export class EventTooLargeError extends TurnlogError<"event-too-large"> {
  override readonly name = "EventTooLargeError";

  constructor(message: string, options?: ErrorOptions) {
    super("event-too-large", message, options);
  }
}
