import { setTimeout as sleep } from "node:timers/promises";
import type { EventPlace } from "../../domain/events/recorded.ts";
import {
  type AppendResult,
  type EventStore,
  envelopeAt,
  type Head,
  type PreparedAppend,
  type StoredEnvelope,
  StoreUnavailableError,
} from "../ports/event-store.ts";
import { writeBlob } from "./blobs.ts";
import { firstRevision, resolveHeadMismatch } from "./idempotent-append.ts";
import type { EventIds } from "./ids.ts";
import { recordedAs } from "./place.ts";
import { type NewEvent, prepareAppend } from "./prepare.ts";

/** A conflict names the head that the stream has instead, and gives the events of a split append that were written before. */
export type LogAppendResult<Event> = { readonly events: readonly (EventPlace & { readonly event: Event })[] } & (
  | { readonly status: "appended"; readonly head: Head }
  | { readonly status: "conflict"; readonly actual: Head | null }
);

/** Events of conversations, to be read. What reads them is in `log/history`: nothing of the engine, of conversations or of replays reads a store's events by itself. */
export type EventReader = {
  readonly store: EventStore;
  /** @internal Is given each event as it is stored, before it is read. */
  readonly look?: (envelope: StoredEnvelope) => void;
};

/** The same, to be written: preparation, blobs, and repeats after an unknown outcome. */
export type EventLog = EventReader & {
  /**
   * Appends events after a head: all of them, or none unless they had to be split.
   *
   * @throws {StoreUnavailableError} when the store stays unavailable; the events may have been written.
   * @throws {EventTooLargeError} when an event is too big although its long strings are stored apart.
   */
  append<Event extends NewEvent["event"]>(
    stream: string,
    head: Head | null,
    events: readonly NewEvent<Event>[],
  ): Promise<LogAppendResult<Event>>;
};

export type EventLogSources = {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly newEventId: EventIds;
  /** Waits before the n-th repeat of an append (from 1). */
  readonly pause?: (repeat: number) => Promise<void>;
};

/** How often one append is sent while the store says that it is unavailable. */
export const maxAppendAttempts = 5;

/** Streams whose newest time is remembered; of others it is read. */
const maxRememberedStreams = 1_000;

/** @param nowMs - By which the store's deadline is kept: a clock that only ever goes on. */
export function createEventLog(store: EventStore, sources: EventLogSources, nowMs = () => performance.now()): EventLog {
  const { clock, newEventId, pause = (repeat) => sleep(10 * 4 ** repeat) } = sources;
  const newest = createNewestTimes();

  async function append<Event extends NewEvent["event"]>(
    stream: string,
    head: Head | null,
    events: readonly NewEvent<Event>[],
  ): Promise<LogAppendResult<Event>> {
    // What is at hand is not waited for: an append is little more than its wait for the disk.
    const known = newest.timeAt(stream, head);
    const lastAt = known === undefined ? await storedTime(store, stream, head) : known;
    const { appends, blobs } = prepareAppend({ stream, head, lastAt, events, clock, newEventId });
    for (const blob of blobs) await writeBlob(store, append, { stream, blob });
    let result: AppendResult = { status: "conflict", actual: head };
    const written: (EventPlace & { readonly event: Event })[] = [];
    for (const prepared of appends) {
      const since = nowMs();
      try {
        result = await store.append(prepared);
      } catch (error) {
        const isOver = (): boolean => store.deadlineMs !== undefined && nowMs() - since >= store.deadlineMs;
        result = await repeatAppend(store, prepared, { error, pause, isOver });
      }
      if (result.status === "conflict") break;
      newest.remember(prepared);
      for (const envelope of prepared.envelopes) {
        const proposed = events[written.length];
        if (proposed !== undefined) written.push(recordedAs(envelope, proposed.event));
      }
    }
    return { ...result, events: written };
  }

  return { store, append };
}

type Repeating = {
  /** What the first try failed with. */
  readonly error: unknown;
  readonly pause: (repeat: number) => Promise<void>;
  /** Whether the store's deadline is over: it has repeated the append itself for as long. */
  readonly isOver: () => boolean;
};

/** Sends an append again that has failed with an error, while that says that the store is unavailable and there is time. */
async function repeatAppend(
  store: EventStore,
  prepared: PreparedAppend,
  { error: first, pause, isOver }: Repeating,
): Promise<AppendResult> {
  let error = first;
  for (let repeat = 1; repeat < maxAppendAttempts && error instanceof StoreUnavailableError; repeat += 1) {
    if (isOver()) break;
    await pause(repeat);
    try {
      const result = await store.append(prepared);
      // After an unknown outcome a conflict may be with the events that were sent before.
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

/** The `at` of the head's event; null when that is not in the stream, and an append will be refused. */
async function storedTime(store: EventStore, stream: string, head: Head | null): Promise<string | null> {
  return head === null ? null : ((await envelopeAt(store, stream, head.revision))?.at ?? null);
}

/** The `at` of each stream's newest event, so that an append need not read it. Forgets the stream that came first. */
function createNewestTimes() {
  const newestByStream = new Map<string, { digest: string; at: string }>();
  return {
    /** The `at` of the head's event, null where there is no head; undefined when it is not remembered. */
    timeAt(stream: string, head: Head | null): string | null | undefined {
      if (head === null) return null;
      const newest = newestByStream.get(stream);
      return newest?.digest === head.digest ? newest.at : undefined;
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
      newestByStream.set(stream, { digest, at });
      if (newestByStream.size <= maxRememberedStreams) return;
      const [first] = newestByStream.keys();
      if (first !== undefined) newestByStream.delete(first);
    },
  };
}
