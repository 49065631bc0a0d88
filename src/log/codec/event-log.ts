import { setTimeout as sleep } from "node:timers/promises";
import type { BlockNames } from "../../domain/block-names.ts";
import type { EventPlace } from "../../domain/events/recorded.ts";
import {
  type AppendResult,
  type EventStore,
  envelopeAt,
  type Head,
  type PreparedAppend,
  type StoredEnvelope,
} from "../ports/event-store.ts";
import { StoreUnavailableError } from "../ports/store-errors.ts";
import { type AppendEvents, writeBlob } from "./blobs.ts";
import type { DataEncoding } from "./data.ts";
import { firstRevision, resolveHeadMismatch } from "./idempotent-append.ts";
import type { EventIds } from "./ids.ts";
import { recordedAs } from "./place.ts";
import { mayName, type NewEvent, prepareAppend } from "./prepare.ts";
import { beginsAs, encodingOf, type NewestEvent } from "./stream-encoding.ts";
import { keyOfNew, knownNames, namesOf, namesOfNew, noteBegun } from "./stream-names.ts";

/** A conflict has the stream's actual head, and the events of a split append that were already written. */
export type LogAppendResult<Event> = { readonly events: readonly (EventPlace & { readonly event: Event })[] } & (
  | { readonly status: "appended"; readonly head: Head }
  | { readonly status: "conflict"; readonly actual: Head | null }
);

/** Reads events of conversations. Only `log/history` reads a store's events through this: the engine, conversations and replays use that. */
export type EventReader = {
  readonly store: EventStore;
  /** @internal Receives each stored event before it is read. */
  readonly look?: (envelope: StoredEnvelope) => void;
};

/** Also appends: prepares events, writes blobs, and repeats an append after an unknown outcome. */
export type EventLog = EventReader & {
  /**
   * Appends events after a head: all or none, unless they had to be split.
   *
   * @throws {StoreUnavailableError} if the store stays unavailable; the events may have been written.
   * @throws {EventTooLargeError} if an event is too big even without its long strings.
   */
  append<Event extends NewEvent["event"]>(
    stream: string,
    head: Head | null,
    events: readonly NewEvent<Event>[],
  ): Promise<LogAppendResult<Event>>;

  /** Milliseconds since 1970: the clock of its events. */
  readonly clock: () => number;

  /**
   * The names with which the blocks of events that follow a head have to be named before.
   *
   * @param events - For the first events of a stream: a fork has its parent's names.
   */
  names(stream: string, head: Head | null, events?: readonly NewEvent[]): BlockNames | Promise<BlockNames>;
};

export type EventLogSources = {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly newEventId: EventIds;
  /**
   * How new conversations are written. Default: `lines` where the store takes them, because they can be erased one by one; with `json` they
   * can be copied to every store.
   */
  readonly encoding?: "json" | "lines";
  /** 128 random bits as 22 characters of base64url, for each line of an event's data. */
  readonly newSalt?: () => string;
  /** 256 random bits as 64 hexadecimal digits, for the names of a new conversation's blocks. */
  readonly newNamingKey?: () => string;
  /** Waits before the n-th repeat of an append (from 1). */
  readonly pause?: (repeat: number) => Promise<void>;
};

/** How often to send one append while the store is unavailable. */
export const maxAppendAttempts = 5;

/** How many streams to remember the newest time of; for others it is read. */
const maxRememberedStreams = 1_000;

/** @param nowMs - A monotonic clock that measures the store's deadline. */
export function createEventLog(store: EventStore, sources: EventLogSources, nowMs = () => performance.now()): EventLog {
  const {
    clock,
    newEventId,
    newSalt,
    newNamingKey,
    encoding: wanted = "lines",
    pause = (repeat) => sleep(10 * 4 ** repeat),
  } = sources;
  const newest = createNewestEvents();

  const names: EventLog["names"] = (stream, head, events = []) =>
    head === null ? namesOfNew(store, stream, { wanted, events, newNamingKey }) : namesOf(store, stream);

  /** Not read for most appends, which name neither people nor long texts. */
  const namesNeeded = (stream: string, head: Head | null, events: readonly NewEvent[]) =>
    events.some(mayName) ? names(stream, head, events) : null;

  async function append<Event extends NewEvent["event"]>(
    stream: string,
    head: Head | null,
    events: readonly NewEvent<Event>[],
    begin?: NewestEvent,
  ): Promise<LogAppendResult<Event>> {
    // Await only promises: besides waiting for the disk, an append has little to do.
    const known = head === null ? (begin ?? beginsAs(store, stream, { wanted, events })) : newest.at(stream, head);
    const { at: lastAt, encoding } =
      (known instanceof Promise ? await known : known) ?? (await storedAt(store, stream, head));
    const isConversation = stream.startsWith("conversation-");
    const isNaming = encoding === "lines" && isConversation;
    const given = isNaming ? (knownNames(store, stream) ?? (await namesNeeded(stream, head, events))) : null;
    const lines = encoding === "lines" ? { lines: { newSalt, names: given } } : {};
    // Asked before the names are used, because a key that was drawn for names lasts as long as they do.
    const isBegun = head !== null || !isConversation;
    const namingKey = isBegun ? undefined : await keyOfNew(store, stream, { encoding, events, newNamingKey });
    const { appends, blobs } = prepareAppend({ stream, head, lastAt, events, clock, newEventId, ...lines });
    const chunks: AppendEvents = (target, from, parts) => append(target, from, parts, { at: null, encoding });
    for (const blob of blobs) await writeBlob(store, chunks, { stream, blob });
    let result: AppendResult = { status: "conflict", actual: head };
    const written: (EventPlace & { readonly event: Event })[] = [];
    for (const [part, each] of appends.entries()) {
      const prepared = part > 0 || namingKey === undefined ? each : { ...each, namingKey };
      const begun = nowMs();
      try {
        result = await store.append(prepared);
      } catch (error) {
        result = await repeatAppend(store, prepared, { error, begun, pause, nowMs });
      }
      if (result.status === "conflict") break;
      if (prepared.expectedHead === null) noteBegun(store, prepared);
      newest.remember(prepared);
      for (const envelope of prepared.envelopes) {
        const proposed = events[written.length];
        if (proposed !== undefined) written.push(recordedAs(envelope, proposed.event));
      }
    }
    return { ...result, events: written };
  }

  return { store, append, clock, names };
}

type Repeating = {
  /** The error of the first attempt. */
  readonly error: unknown;
  /** When it began. */
  readonly begun: number;
  readonly pause: (repeat: number) => Promise<void>;
  readonly nowMs: () => number;
};

/**
 * Repeats a failed append while the store is unavailable and its deadline leaves time for an attempt as long as the last one. A store that
 * has retried it by itself gives up shortly before its deadline, and must not begin another one.
 */
async function repeatAppend(
  store: EventStore,
  prepared: PreparedAppend,
  { error: first, begun, pause, nowMs }: Repeating,
): Promise<AppendResult> {
  const { deadlineMs = Number.POSITIVE_INFINITY } = store;
  let error = first;
  let since = begun;
  for (let repeat = 1; repeat < maxAppendAttempts && error instanceof StoreUnavailableError; repeat += 1) {
    const now = nowMs();
    if (now - begun + (now - since) > deadlineMs) break;
    await pause(repeat);
    since = nowMs();
    try {
      const result = await store.append(prepared);
      // After an unknown outcome, the conflict may be with the events of an earlier attempt.
      return result.status === "conflict" ? await lookAgain(store, prepared, result.actual) : result;
    } catch (caught) {
      error = caught;
    }
  }
  throw error;
}

async function lookAgain(store: EventStore, prepared: PreparedAppend, actual: Head | null): Promise<AppendResult> {
  const present: StoredEnvelope[] = [];
  const range = { from: firstRevision(prepared), limit: prepared.envelopes.length };
  for await (const envelope of store.readStream(prepared.stream, range)) present.push(envelope);
  return resolveHeadMismatch(prepared, actual, present);
}

/** The head's event. If the stream does not have it, the append will conflict. */
async function storedAt(store: EventStore, stream: string, head: Head | null): Promise<NewestEvent> {
  const stored = head === null ? null : await envelopeAt(store, stream, head.revision);
  return { at: stored?.at ?? null, encoding: encodingOf(stored) };
}

/** Each stream's newest event, so that an append need not read it. When full, it forgets the stream added first. */
function createNewestEvents() {
  const newestByStream = new Map<string, { digest: string; at: string; readonly encoding: DataEncoding }>();
  return {
    /** Null if it is not remembered. */
    at(stream: string, head: Head): NewestEvent | null {
      const newest = newestByStream.get(stream);
      return newest?.digest === head.digest ? newest : null;
    },
    remember({ stream, envelopes }: PreparedAppend): void {
      const last = envelopes.at(-1);
      if (last === undefined) return;
      const { digest, at } = last;
      const known = newestByStream.get(stream);
      if (known !== undefined) {
        known.digest = digest;
        known.at = at;
        return;
      }
      newestByStream.set(stream, { digest, at, encoding: encodingOf(last) });
      if (newestByStream.size <= maxRememberedStreams) return;
      const [first] = newestByStream.keys();
      if (first !== undefined) newestByStream.delete(first);
    },
  };
}
