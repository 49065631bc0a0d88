import type { Actor } from "../../domain/actor.ts";
import type { Liveness } from "./liveness.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import type { ViewStore } from "./view-store.ts";

/** The newest event of a stream: its revision (from 0) and its chained digest. */
export type Head = { readonly revision: number; readonly digest: string };

/**
 * An event as it is stored, before its data is parsed. `digest` hashes every member but `position` and `data`; `dataDigest` hashes
 * `data`, or the commitments of its lines. Only `data` holds content of a conversation.
 */
export type Envelope = {
  /** A random, time-ordered UUID (version 7), generated when the append is prepared. */
  readonly id: string;
  readonly stream: string;
  /** Place in the stream, from 0 and without gaps. */
  readonly revision: number;
  readonly type: string;
  readonly version: number;
  /** ISO 8601 in UTC with milliseconds. Never before the `at` of the previous event, except for events of a run (decision 0006). */
  readonly at: string;
  /** The stored value, even if it is damaged: readers check it with `isActor`. */
  readonly actor: Actor;
  readonly runId?: string;
  readonly frame?: string;
  readonly causationId?: string;
  /** Reserved. Part of the hash from the first version on. */
  readonly tenant?: string;
  readonly keyId?: string;
  readonly nonce?: string;
  /** How `data` is written. An erased event (`erased`) keeps only its place, its digest and what the erasure kept. */
  readonly encoding: "json" | "lines" | "erased";
  /**
   * Written once and copied unchanged. `json`: `JSON.stringify` output. `lines`: the facts and the content, each line with a salt (log/codec/lines).
   * For an erased event: the order that erased it (`erasedBy`).
   */
  readonly data: string;
  readonly dataDigest: string;
  readonly digest: string;
};

/** An envelope with its position in the whole log: an opaque text; compare two with `comparePositions`. */
export type StoredEnvelope = Envelope & { readonly position: string };

/**
 * Events with fixed ids, times, digests and place. It never changes. After an unknown outcome the same writer may append it again.
 * After a conflict it is of no use: to go on, the caller prepares a new one.
 */
export type PreparedAppend = {
  readonly stream: string;
  /** The head that the stream must still have; null if the stream must have no events. */
  readonly expectedHead: Head | null;
  readonly envelopes: readonly Envelope[];
  /** With the first append of a conversation in lines: its naming key, 64 hexadecimal digits, stored in the same transaction. */
  readonly namingKey?: string;
};

/** A conflict is a value, so that every caller handles it. `position` is the position of the head's event. */
export type AppendResult =
  | { readonly status: "appended"; readonly head: Head; readonly position: string }
  | { readonly status: "conflict"; readonly actual: Head | null };

export type ReadStreamOptions = {
  /** The first revision to read. Default: 0 forwards, the head backwards. */
  readonly from?: number;
  readonly direction?: "forwards" | "backwards";
  /** The maximum number of events. */
  readonly limit?: number;
  /** Ends the read by throwing the signal's reason: without an error, the reader would take it for the end of the stream. */
  readonly signal?: AbortSignal;
};

export type ReadLogOptions = {
  /** Only events after this position. Default: from the beginning of the log. */
  readonly after?: string;
  /** Only events of streams whose name has this prefix. */
  readonly streamPrefix?: string;
  /**
   * The only stream that a subscriber wants; the prefix is then its name. `authorize` is asked about this stream alone. A store may
   * still give events of other streams with the prefix, so filter with `ofStream`.
   */
  readonly stream?: string;
  readonly limit?: number;
  readonly signal?: AbortSignal;
};

/** A stream to erase from, and the revisions; empty if only events that it inherits are erased. */
export type ErasedStream = {
  readonly stream: string;
  readonly places: readonly { readonly from: number; readonly to: number }[];
};

/** Lines of a stream's events to empty. The stream goes on. */
export type LineErasure = {
  /** The append of the event that says what was emptied, at the head that the stream must still have. */
  readonly fence: PreparedAppend;
  /** The numbers of the content lines to empty, from 1, by revision. */
  readonly places: readonly { readonly revision: number; readonly lines: readonly number[] }[];
  /** Replaces the stream's naming key, which is destroyed. If another stream would keep that key, nothing is erased: a conflict. */
  readonly namingKey: string;
};

/** What to erase from a store: whole streams, and lines of others (rule: Erasure). */
export type StreamErasure = {
  /** The id of the erasure order: every erased event names it. */
  readonly orderId: string;
  /**
   * One append per stream, at the head that the stream must still have. Its event says that all events before it were erased.
   */
  readonly fences: readonly PreparedAppend[];
  /** Streams that keep their events, and lose lines or only their naming key. */
  readonly lines: readonly LineErasure[];
  /** What each erased event keeps besides its place and digest: its type, version and time, or nothing. */
  readonly kept: "skeleton" | "digests";
  /** Streams to remove with their events, heads and names: blobs, because their names reveal their content. */
  readonly removed: readonly string[];
  /** Keys of the rows to delete, in all builds of all projections. */
  readonly rows: readonly string[];
};

/** Counts of what was erased. A conflict names the stream that is not at the expected head; nothing was erased then. */
export type ErasureResult =
  | {
      readonly status: "erased";
      readonly events: number;
      /** Lines that were emptied, of events that stay. */
      readonly lines: number;
      readonly removedEvents: number;
      readonly snapshots: number;
      readonly rows: number;
      /** The projections that keep rows here: their other rows may still contain erased text. */
      readonly projections: readonly string[];
    }
  | { readonly status: "conflict"; readonly stream: string };

/** Whether the erased data is gone from the store's files. `busy`: a reader holds an older state of them, so call it again. */
export type ScrubResult = { readonly status: "done" | "busy"; readonly isRewritten: boolean };

/** Events that belong to no stream, so that no read returns them: damage. `place` is what the store knows about where they are. */
export type OrphanEvents = { readonly place: string; readonly revision: number; readonly events: number };

/**
 * Stores events. The port moves envelopes unchanged; the layers above it parse, upcast and verify the hash chain.
 *
 * - An append is all or nothing. It is durable once it has resolved (except in the memory store).
 * - An append of no events writes nothing. It returns `appended` if the stream is at the expected head, otherwise
 *   `conflict`. A stream without events is never at an expected head.
 * - If all ids and digests of an append are already stored at their revisions, it returns `appended` with its own last
 *   event as head, whatever came after: repeating an append after a lost acknowledgement is harmless. The same id at the same
 *   revision with another digest throws `StoreCorruptedError`. A partial overlap is a conflict.
 * - An unknown stream reads as empty; its head is null.
 * - Reads return the events of one stream in the order of their revisions, and the whole log in the order of its positions.
 *   A reader that has seen a position never later finds an event before it.
 * - Positions are never reused.
 * - After `close` every call throws `StoreClosedError` (an iterable throws when it is iterated), and open subscriptions end.
 *   Appends called before `close` are still written and still resolve.
 */
export interface EventStore extends AsyncDisposable {
  /**
   * Generated when the store was created; distinguishes this store from others. A restored backup has the same id: it is this store at
   * an earlier time. A reader that had read further finds another event at its position, or none.
   */
  readonly storeId: string;

  /**
   * For how many milliseconds a call retries before it throws StoreUnavailableError, and a read without progress. Callers that repeat
   * a call stay within it, too. Absent if the store never waits.
   */
  readonly deadlineMs?: number;

  /** A disposable cache beside the events, if the store has one. */
  readonly snapshots?: SnapshotStore;

  /** Where projections keep their rows; disposable, too. */
  readonly views?: ViewStore;

  /** Tells whether the owners of runs are alive. Without it, other processes check the owner's process, or else wait. */
  readonly liveness?: Liveness;

  /**
   * Appends all events or none, provided the stream is still at `prepared.expected`.
   *
   * @throws {EventTooLargeError} before anything is sent, if an event is over 256 KiB or the append over 896 KiB.
   * @throws {StoreUnavailableError} if the outcome is unknown: the events may have been written.
   * @throws {StoreReplacedError} if the store's place now holds another store, none, or less than this process has seen.
   */
  append(prepared: PreparedAppend): Promise<AppendResult>;

  /**
   * Whether events of a new conversation can be written as lines, which can be erased one by one. A store may have to prepare its files,
   * so ask before the first append of a conversation. Absent if it cannot.
   */
  takesLines?(): boolean | Promise<boolean>;

  /**
   * The naming key that was stored with the first append of a stream; null if there is none, or it was destroyed. Kept apart from the
   * events: erasing the stream destroys it.
   */
  namingKey?(stream: string): Promise<string | null>;

  /** The events of one stream. Events appended during the read may be missing. */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<StoredEnvelope>;

  /** The events of the whole log in the order of their positions, up to the end of the log when the read reaches it. */
  readLog(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;

  /** As `readLog`, then every new event, until the signal aborts (which ends the subscription without an error) or `close`. */
  subscribe(options?: ReadLogOptions): AsyncIterable<StoredEnvelope>;

  /**
   * The position of the newest event of the whole log that can be read now; null if there is none. No later event comes before it.
   * A follower of one stream takes this position, reads the stream, and subscribes from there, so that the store need not search its
   * log.
   */
  end?(): Promise<string | null>;

  head(stream: string): Promise<Head | null>;

  /**
   * All streams whose name has the prefix, in the order of their names' UTF-8 bytes, with the heads that the store keeps
   * beside them.
   */
  heads(streamPrefix?: string): AsyncIterable<{ readonly stream: string; readonly head: Head }>;

  /**
   * The stream of the newest event among the streams whose name has the prefix; null if there is none. Only for stores that find
   * it without reading their log.
   */
  newestStream?(streamPrefix: string): Promise<string | null>;

  /** Finds events that belong to no stream, in a store that keeps its streams apart from their events. */
  orphanEvents?(): Promise<readonly OrphanEvents[]>;

  /** Heads that the store keeps apart from its events. `verify` compares them, to find a store whose end was cut silently. */
  savedHeads?(): Promise<ReadonlyMap<string, Head>>;

  /** Saves the current heads, after all events were found sound. If they cannot be saved, the store warns. */
  saveHeads?(): Promise<void>;

  /**
   * Erases whole streams and lines in one transaction, all or nothing. It appends the fences and empties the events before them or the lines,
   * then deletes the `removed` streams, the snapshots of all these streams, and the rows, and destroys or replaces the naming keys. If the event of a build's checkpoint is gone, it moves the
   * checkpoint to the newest remaining event before it, so that no other row has to be rebuilt. It counts as one more save of each
   * build, so a projector that has read erased events cannot save. Absent if the store cannot erase.
   */
  erase?(erasure: StreamErasure): Promise<ErasureResult>;

  /**
   * Asks whether the caller may erase these conversations, before an order is recorded. `erase` asks again. Absent if every caller may.
   *
   * @throws {TurnlogError} `access-denied`.
   */
  checkErasure?(streams: readonly ErasedStream[]): Promise<void>;

  /**
   * Asks whether the caller may decide about calls that wait for approval in this stream. Absent if every caller who may append may.
   *
   * @throws {TurnlogError} `access-denied`.
   */
  checkApproval?(stream: string): Promise<void>;

  /**
   * Removes erased data from the store's files: truncates logs, rewrites saved heads, and rewrites each file that once deleted without
   * overwriting (with `force`: every file).
   */
  scrub?(options?: { readonly force?: boolean }): Promise<ScrubResult>;

  /** All files of the store, each as its bytes in pieces: an erasure searches them. Absent if the store has none. */
  files?(): AsyncIterable<AsyncIterable<Uint8Array>>;

  /** May be called again without effect. */
  close(): Promise<void>;
}

/** A store that can erase. */
export type ErasingStore = EventStore & Required<Pick<EventStore, "erase" | "scrub">>;

/** The event of a stream at a revision; null if there is none. */
export async function envelopeAt(store: EventStore, stream: string, revision: number): Promise<StoredEnvelope | null> {
  for await (const envelope of store.readStream(stream, { from: revision, limit: 1 })) {
    return envelope.revision === revision ? envelope : null;
  }
  return null;
}

/** The events of one stream only: a prefix also matches longer names. */
export async function* ofStream(events: AsyncIterable<StoredEnvelope>, stream: string): AsyncIterable<StoredEnvelope> {
  for await (const event of events) if (event.stream === stream) yield event;
}

/** Orders two positions of one store: negative when the left one comes first. */
export function comparePositions(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0);
}
