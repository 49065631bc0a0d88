import { randomUUID } from "node:crypto";
import { metadataOf, type StreamMetadata } from "./stream-metadata.ts";

/** An event as a writer proposes it. */
export interface ProposedEvent {
  /** A UUID in canonical form: lower case, with hyphens. */
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event as it lies in the log. */
export interface StoredEvent extends ProposedEvent {
  readonly stream: string;
  readonly revision: bigint;
  /** Place of the record in the log, in bytes: commit and prepare position in one, as for every write that is not an explicit transaction. */
  readonly position: bigint;
  /** First byte after the record. */
  readonly end: bigint;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  /** Place among all stored events, from 0. */
  readonly index: number;
}

export type ExpectedRevision = bigint | "any" | "no_stream" | "stream_exists";

export type AppendOutcome =
  /** `revision` is -1 where nothing was ever written; `position` is that of the last event concerned. */
  | { readonly status: "appended"; readonly revision: bigint; readonly position: bigint }
  | { readonly status: "wrong-version"; readonly actual: bigint }
  | { readonly status: "deleted" };

export interface EventLogOptions {
  /** Where the log begins. Beyond 2^53 by default, so that a position that went through a number is seen. */
  readonly firstPosition: bigint;
  /** How many ids the server remembers for appends at `any`. The real one forgets (memory, restart): 0. */
  readonly rememberedIds: number;
  readonly now: () => number;
}

/** The revision of a tombstone, and the `$tb` of a soft-deleted stream: the largest signed 64-bit number. */
export const DELETED_REVISION = 9_223_372_036_854_775_807n;

export const metastreamOf = (stream: string): string => `$$${stream}`;

const described = (type: string, value: unknown): ProposedEvent => ({
  id: randomUUID(),
  type,
  isJson: true,
  data: Buffer.from(JSON.stringify(value)),
  metadata: new Uint8Array(),
});

/** What a fresh server has written before its first user: `$all` never begins with one's own event. */
const bootEvents: readonly (readonly [string, ProposedEvent])[] = [
  ["$$$stats-127.0.0.1:2113", described("$metadata", { $maxAge: 86_400 })],
  ["$user-admin", described("$UserCreated", { loginName: "admin" })],
  ["$users", described("$User", "admin")],
];

/** The stored log of one cluster: what was written, and the rules for writing. It outlives restarts of its servers. */
export class EventLog {
  readonly options: EventLogOptions;
  #records: StoredEvent[] = [];
  #streams = new Map<string, StoredEvent[]>();
  #remembered = new Map<string, StoredEvent>();
  readonly #listeners = new Set<() => void>();

  constructor(options: EventLogOptions) {
    this.options = options;
    this.clear();
  }

  get records(): readonly StoredEvent[] {
    return this.#records;
  }

  /** Everything ever written to the stream, truncated and deleted events included. */
  stream(name: string): readonly StoredEvent[] {
    return this.#streams.get(name) ?? [];
  }

  metadata(stream: string): StreamMetadata {
    return metadataOf(this.stream(metastreamOf(stream)).at(-1));
  }

  /** The last revision, or -1. A tombstone is the last event of its stream and of that stream's metadata stream. */
  lastRevision(stream: string): bigint {
    const original = stream.startsWith("$$") ? stream.slice(2) : stream;
    if (this.stream(original).at(-1)?.revision === DELETED_REVISION) return DELETED_REVISION;
    return this.stream(stream).at(-1)?.revision ?? -1n;
  }

  /** Calls back after each append, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  append(stream: string, expected: ExpectedRevision, events: readonly ProposedEvent[]): AppendOutcome {
    const refused = this.#check(stream, expected, events);
    if (refused !== null) return refused;
    const last = this.lastRevision(stream);
    // Writing to a soft-deleted stream, or to its metadata, brings it back; what was before stays hidden.
    const revived = [stream, stream.replace(/^\$\$/, "")].find((name) => this.metadata(name).isSoftDeleted);
    const hidden = revived === undefined ? 0n : this.lastRevision(revived) + 1n;
    for (const [offset, event] of events.entries()) this.#store(stream, last + 1n + BigInt(offset), event);
    if (revived !== undefined) this.#hideBefore(revived, hidden);
    this.#announce();
    const revision = last + BigInt(events.length);
    const written = events.length === 0 ? undefined : this.stream(stream).at(-1);
    return { status: "appended", revision, position: written?.position ?? this.#lastPosition() };
  }

  /** Hides the stream by truncation, as the real server does: nothing is removed, and it may be written to again. */
  softDelete(stream: string, expected: ExpectedRevision): AppendOutcome {
    const refused = this.#check(stream, expected, [described("$deletion", {})]);
    if (refused !== null) return refused;
    this.#hideBefore(stream, DELETED_REVISION);
    this.#announce();
    return { status: "appended", revision: this.lastRevision(stream), position: this.#lastPosition() };
  }

  /** Ends the stream for ever. */
  tombstone(stream: string, expected: ExpectedRevision): AppendOutcome {
    const refused = this.#check(stream, expected, [described("$deletion", {})]);
    if (refused !== null) return refused;
    this.#store(stream, DELETED_REVISION, {
      ...described("$streamDeleted", {}),
      isJson: false,
      data: new Uint8Array(),
    });
    this.#announce();
    return { status: "appended", revision: DELETED_REVISION, position: this.#lastPosition() };
  }

  /** As after a restart: the ids that made appends at `any` idempotent are gone. */
  forgetIds(): void {
    this.#remembered.clear();
  }

  clear(): void {
    this.#records = [];
    this.#streams = new Map();
    this.forgetIds();
    for (const [stream, event] of bootEvents) this.#store(stream, this.lastRevision(stream) + 1n, event);
    this.#announce();
  }

  /** The server's own decision before a write (IndexWriter.CheckCommit): null where the write may go on. */
  #check(stream: string, expected: ExpectedRevision, events: readonly ProposedEvent[]): AppendOutcome | null {
    const last = this.lastRevision(stream);
    if (last === DELETED_REVISION) return { status: "deleted" };
    const wrong: AppendOutcome = { status: "wrong-version", actual: last };
    if (expected === "any" || expected === "stream_exists") {
      if (expected === "stream_exists" && this.metadata(stream).isSoftDeleted) return { status: "deleted" };
      if (expected === "stream_exists" && last < 0n && this.stream(metastreamOf(stream)).length === 0) return wrong;
      return this.#repeatedAtAny(stream, events);
    }
    const revision = expected === "no_stream" ? -1n : expected;
    if (revision === last) return null;
    if (revision > last) return wrong;
    return this.#repeated(stream, revision, events, wrong);
  }

  /** At an explicit revision, ids are compared with what lies there: ids only, never the data. */
  #repeated(
    stream: string,
    expected: bigint,
    events: readonly ProposedEvent[],
    wrong: AppendOutcome,
  ): AppendOutcome | null {
    const there = this.stream(stream).filter((event) => event.revision > expected);
    const different = events.findIndex((event, offset) => there[offset]?.id !== event.id);
    if (different === -1 && events.length > 0) return appendedAt(there[events.length - 1]);
    const revived = different === 0 && expected === -1n && this.metadata(stream).isSoftDeleted;
    return revived ? null : wrong;
  }

  #repeatedAtAny(stream: string, events: readonly ProposedEvent[]): AppendOutcome | null {
    const known = events.map(({ id }) => this.#remembered.get(id)).filter((event) => event?.stream === stream);
    if (known[0] === undefined || events[0]?.id !== known[0].id) return null;
    if (known.length < events.length) return { status: "wrong-version", actual: this.lastRevision(stream) };
    return appendedAt(known.at(-1));
  }

  #hideBefore(stream: string, revision: bigint): void {
    const { raw } = this.metadata(stream);
    const others = Object.entries(raw).filter(([key]) => key !== "$tb");
    const members = [
      ...others.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`),
      `"$tb":${revision}`,
    ];
    const event = { ...described("$metadata", {}), data: Buffer.from(`{${members.join(",")}}`) };
    this.#store(metastreamOf(stream), this.lastRevision(metastreamOf(stream)) + 1n, event);
  }

  #head(): bigint {
    return this.#records.at(-1)?.end ?? this.options.firstPosition;
  }

  #lastPosition(): bigint {
    return this.#records.at(-1)?.position ?? this.options.firstPosition;
  }

  #store(stream: string, revision: bigint, event: ProposedEvent): void {
    const position = this.#head();
    const size = 100 + stream.length + 2 * event.type.length + event.data.length + event.metadata.length;
    const createdMs = this.options.now();
    const index = this.#records.length;
    const stored = { ...event, stream, revision, position, end: position + BigInt(size), createdMs, index };
    this.#records.push(stored);
    const siblings = this.#streams.get(stream);
    if (siblings === undefined) this.#streams.set(stream, [stored]);
    else siblings.push(stored);
    this.#remember(stored);
  }

  #remember(event: StoredEvent): void {
    this.#remembered.set(event.id, event);
    for (const id of this.#remembered.keys()) {
      if (this.#remembered.size <= this.options.rememberedIds) return;
      this.#remembered.delete(id);
    }
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const appendedAt = (last: StoredEvent | undefined): AppendOutcome => {
  if (last === undefined) throw new Error("A repeated append has no last event.");
  return { status: "appended", revision: last.revision, position: last.position };
};
