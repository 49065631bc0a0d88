import { bootEvents, described, type ProposedEvent } from "./server-events.ts";
import { metadataOf, type StreamMetadata } from "./stream-metadata.ts";

export type { ProposedEvent } from "./server-events.ts";

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
  /**
   * `revision` is -1 where nothing was ever written; `position` is that of the last event concerned, null for a repeat of
   * what was truncated since; `count` is how many records there have to be for it to stand.
   */
  | {
      readonly status: "appended";
      readonly revision: bigint;
      readonly position: bigint | null;
      readonly count: number;
    }
  /** A repeat of what is not replicated yet: the server says nothing about it. */
  | { readonly status: "dropped" }
  | { readonly status: "wrong-version"; readonly actual: bigint }
  | { readonly status: "deleted" };

export interface EventLogOptions {
  /** Where the log begins. Beyond 2^53 by default, so that a position that went through a number is seen. */
  readonly firstPosition: bigint;
  /** How many ids the server remembers for appends at `any`. The real one forgets (memory, restart): 0. */
  readonly rememberedIds: number;
  /** Milliseconds from storing a record until the other nodes have it. */
  readonly replicationMs: number;
  readonly now: () => number;
}

/** The revision of a tombstone, and the `$tb` of a soft-deleted stream: the largest signed 64-bit number. */
export const DELETED_REVISION = 9_223_372_036_854_775_807n;

export const metastreamOf = (stream: string): string => `$$${stream}`;

/** The stored log of one cluster: what was written, and the rules for writing. It outlives restarts of its servers. */
export class EventLog {
  readonly options: EventLogOptions;
  #records: StoredEvent[] = [];
  #streams = new Map<string, StoredEvent[]>();
  #remembered = new Map<string, StoredEvent>();
  readonly #listeners = new Set<() => void>();
  #replicated = 0;
  #isHeld = false;

  constructor(options: EventLogOptions) {
    this.options = options;
    this.clear();
  }

  get records(): readonly StoredEvent[] {
    return this.#records;
  }

  /** How many records the other nodes have: what lies beyond is not readable, and lost when another node leads. */
  get replicated(): number {
    return this.#replicated;
  }

  /** What is written from now on reaches no other node, until `replicate`. */
  holdReplication(): void {
    this.#isHeld = true;
  }

  replicate(): void {
    this.#isHeld = false;
    this.#reach(this.#records.length);
  }

  /** As when another node becomes the leader: what only the former one had is gone. */
  loseUnreplicated(): void {
    this.setBack(this.#replicated);
  }

  /** As when a backup is restored: what was written since is gone, and its places are given again. */
  setBack(count: number): void {
    this.#isHeld = false;
    this.#replicated = Math.min(this.#replicated, count);
    if (count >= this.#records.length) return;
    this.#records = this.#records.slice(0, count);
    for (const [name, events] of this.#streams) {
      const kept = events.filter(({ index }) => index < count);
      if (kept.length === 0) this.#streams.delete(name);
      else this.#streams.set(name, kept);
    }
    this.forgetIds();
    this.#announce();
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
    this.#written();
    const revision = last + BigInt(events.length);
    const written = events.length === 0 ? undefined : this.stream(stream).at(-1);
    return this.#appended(revision, written?.position ?? this.#lastPosition());
  }

  /** Hides the stream by truncation, as the real server does: nothing is removed, and it may be written to again. */
  softDelete(stream: string, expected: ExpectedRevision): AppendOutcome {
    const refused = this.#check(stream, expected, [described("$deletion", {})]);
    if (refused !== null) return refused;
    if (this.stream(stream).length === 0) return { status: "wrong-version", actual: -1n };
    this.#hideBefore(stream, DELETED_REVISION);
    this.#written();
    return this.#appended(this.lastRevision(stream), this.#lastPosition());
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
    this.#written();
    return this.#appended(DELETED_REVISION, this.#lastPosition());
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
    this.#isHeld = false;
    this.#replicated = this.#records.length;
    this.#announce();
  }

  #appended(revision: bigint, position: bigint): AppendOutcome {
    return { status: "appended", revision, position, count: this.#records.length };
  }

  #written(): void {
    const count = this.#records.length;
    if (this.#isHeld) this.#announce();
    else if (this.options.replicationMs === 0) this.#reach(count);
    else {
      setTimeout(() => {
        if (!this.#isHeld) this.#reach(count);
      }, this.options.replicationMs).unref();
    }
  }

  #reach(count: number): void {
    this.#replicated = Math.max(this.#replicated, Math.min(count, this.#records.length));
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
    if (different === -1 && events.length > 0) return this.#repeatedAt(there[events.length - 1]);
    const revived = different === 0 && expected === -1n && this.metadata(stream).isSoftDeleted;
    return revived ? null : wrong;
  }

  #repeatedAtAny(stream: string, events: readonly ProposedEvent[]): AppendOutcome | null {
    const known = events.map(({ id }) => this.#remembered.get(id)).filter((event) => event?.stream === stream);
    if (known[0] === undefined || events[0]?.id !== known[0].id) return null;
    if (known.length < events.length) return { status: "wrong-version", actual: this.lastRevision(stream) };
    return this.#repeatedAt(known.at(-1));
  }

  #repeatedAt(last: StoredEvent | undefined): AppendOutcome {
    if (last === undefined) throw new Error("A repeated append has no last event.");
    const { revision, position, stream, index } = last;
    if (index >= this.#replicated) return { status: "dropped" };
    const isHidden = revision < this.metadata(stream).truncateBefore;
    return { status: "appended", revision, position: isHidden ? null : position, count: index + 1 };
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
