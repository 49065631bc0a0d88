import { checkBounds } from "../../log/codec/bounds.ts";
import { contentErased, erasedEnvelope, linesErased } from "../../log/codec/erased.ts";
import { firstRevision, isSameHead, resolveHeadMismatch } from "../../log/codec/idempotent-append.ts";
import { withErasedLines } from "../../log/codec/lines.ts";
import type {
  AppendResult,
  ErasingStore,
  ErasureResult,
  Head,
  PreparedAppend,
  ReadLogOptions,
  ReadStreamOptions,
  StoredEnvelope,
  StreamErasure,
} from "../../log/ports/event-store.ts";
import type { Snapshot, SnapshotKey, SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import type { Checkpoint, ViewStore } from "../../log/ports/view-store.ts";
import { createNotifier } from "../notifier.ts";
import { createMemoryViews } from "./views.ts";

/** The reference store: everything that the port promises except durability, for tests and for data that need not last. */
export type MemoryStore = ErasingStore & { readonly snapshots: SnapshotStore; readonly views: ViewStore };

export function createMemoryStore(): MemoryStore {
  /** Undefined in place of an event whose stream was removed. */
  const log: (StoredEnvelope | undefined)[] = [];
  const streams = new Map<string, StoredEnvelope[]>();
  const keys = new Map<string, string>();
  const snapshots = createMemorySnapshots({
    refuseIfClosed: () => refuseIfClosed(),
    isErasedSince: (stream, revision) =>
      eventsOf(stream)
        .slice(revision + 1)
        .some(({ type }) => type === contentErased || type === linesErased),
  });
  const views = createMemoryViews(() => refuseIfClosed());
  const wake = createNotifier();
  let isClosed = false;

  const eventsOf = (stream: string): readonly StoredEnvelope[] => streams.get(stream) ?? [];
  const headOf = (stream: string): Head | null => {
    const last = eventsOf(stream).at(-1);
    return last === undefined ? null : { revision: last.revision, digest: last.digest };
  };
  const refuseIfClosed = (): void => {
    if (isClosed) throw new StoreClosedError("the memory store was closed");
  };

  async function append(prepared: PreparedAppend): Promise<AppendResult> {
    refuseIfClosed();
    checkBounds(prepared);
    const { stream, expectedHead: expected, envelopes, namingKey } = prepared;
    const actual = headOf(stream);
    if (!isSameHead(expected, actual)) {
      const first = firstRevision(prepared);
      return resolveHeadMismatch(prepared, actual, eventsOf(stream).slice(first, first + envelopes.length));
    }
    const events = streams.get(stream) ?? [];
    for (const envelope of envelopes) {
      const stored = { ...envelope, position: String(log.length + 1) };
      log.push(stored);
      events.push(stored);
    }
    const last = events.at(-1);
    if (last === undefined) return { status: "conflict", actual };
    streams.set(stream, events);
    if (namingKey !== undefined) keys.set(stream, namingKey);
    wake.notify();
    return { status: "appended", head: { revision: last.revision, digest: last.digest }, position: last.position };
  }

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncIterable<StoredEnvelope> {
    refuseIfClosed();
    const { direction = "forwards", limit = Number.POSITIVE_INFINITY, signal } = options;
    const step = direction === "forwards" ? 1 : -1;
    const events = eventsOf(stream);
    const from = options.from ?? (step > 0 ? 0 : events.length - 1);
    let revision = step > 0 ? from : Math.min(from, events.length - 1);
    for (let given = 0; given < limit; given += 1, revision += step) {
      refuseIfClosed();
      signal?.throwIfAborted();
      const event = events[revision];
      if (event === undefined) return;
      yield event;
    }
  }

  async function* readLog(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    refuseIfClosed();
    const { after = "0", streamPrefix = "", limit = Number.POSITIVE_INFINITY, signal } = options;
    let given = 0;
    // The event at position n is at index n - 1.
    for (let index = Number(after); index < log.length && given < limit; index += 1) {
      refuseIfClosed();
      signal?.throwIfAborted();
      const event = log[index];
      if (event?.stream.startsWith(streamPrefix) !== true) continue;
      given += 1;
      yield event;
    }
  }

  async function* subscribe(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    refuseIfClosed();
    const { streamPrefix = "", limit = Number.POSITIVE_INFINITY, signal } = options;
    let given = 0;
    for (let index = Number(options.after ?? "0"); given < limit; index += 1) {
      while (index >= log.length && !isOver(signal)) await wake.wait(signal);
      if (isOver(signal)) return;
      const event = log[index];
      if (event?.stream.startsWith(streamPrefix) !== true) continue;
      given += 1;
      yield event;
    }
  }
  const isOver = (signal: AbortSignal | undefined): boolean => isClosed || signal?.aborted === true;

  async function* heads(streamPrefix = ""): AsyncIterable<{ readonly stream: string; readonly head: Head }> {
    refuseIfClosed();
    const names = [...streams.keys()].filter((name) => name.startsWith(streamPrefix));
    for (const stream of names.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))) {
      const head = headOf(stream);
      if (head !== null) yield { stream, head };
    }
  }

  async function erase(erasure: StreamErasure): Promise<ErasureResult> {
    refuseIfClosed();
    const { lines, removed, rows } = erasure;
    const fences = [...erasure.fences, ...lines.map(({ fence }) => fence)];
    const moved = fences.find(({ stream, expectedHead }) => !isSameHead(expectedHead, headOf(stream)));
    if (moved !== undefined) return { status: "conflict", stream: moved.stream };
    const sharing = sharingKey(erasure);
    if (sharing !== null) return { status: "conflict", stream: sharing };
    const counts = { events: 0, lines: 0, removedEvents: 0, snapshots: 0 };
    for (const { stream } of erasure.fences) {
      const events = streams.get(stream) ?? [];
      for (const [revision, event] of events.entries()) {
        const left = erasedEnvelope(event, erasure);
        events[revision] = left;
        log[Number(left.position) - 1] = left;
      }
      counts.events += events.length;
      counts.snapshots += snapshots.forget(stream);
      keys.delete(stream);
    }
    for (const { fence, places, namingKey } of lines) {
      const events = streams.get(fence.stream) ?? [];
      for (const { revision, lines: numbers } of places) {
        const event = events[revision];
        if (event === undefined) continue;
        const left = { ...event, data: withErasedLines(event.data, new Set(numbers)) };
        events[revision] = left;
        log[Number(left.position) - 1] = left;
        counts.lines += numbers.length;
      }
      counts.snapshots += snapshots.forget(fence.stream);
      keys.set(fence.stream, namingKey);
    }
    for (const stream of removed) {
      for (const { position } of eventsOf(stream)) log[Number(position) - 1] = undefined;
      counts.removedEvents += eventsOf(stream).length;
      streams.delete(stream);
    }
    const gone = new Set([...erasure.fences.map(({ stream }) => stream), ...removed]);
    const erasedRows = views.forget(rows, (checkpoint) =>
      gone.has(checkpoint.stream) ? leftBefore(checkpoint) : checkpoint,
    );
    // All appends finish synchronously before the first is awaited, so no other append comes in between.
    await Promise.all(fences.map(append));
    return { status: "erased", ...counts, ...erasedRows };
  }

  /** A stream that would keep a key that is to be destroyed, such as a fork that began meanwhile. */
  function sharingKey({ fences, lines }: StreamErasure): string | null {
    const destroyed = new Set(lines.map(({ fence }) => keys.get(fence.stream)));
    const named = new Set([...fences, ...lines.map(({ fence }) => fence)].map(({ stream }) => stream));
    for (const [stream, key] of keys) if (destroyed.has(key) && !named.has(stream)) return stream;
    return null;
  }

  /** The newest event up to a checkpoint that was not erased. */
  function leftBefore({ storeId, position }: Checkpoint): Checkpoint | null {
    const left = log.slice(0, Number(position)).findLast((event) => event !== undefined && event.encoding !== "erased");
    if (left === undefined) return null;
    return { storeId, position: left.position, eventId: left.id, stream: left.stream, revision: left.revision };
  }

  async function close(): Promise<void> {
    isClosed = true;
    wake.notify();
  }

  return {
    storeId: crypto.randomUUID(),
    takesLines: () => true,
    ...{ snapshots, views, append, readStream, readLog, subscribe, heads, erase, close },
    async scrub() {
      refuseIfClosed();
      return { status: "done", isRewritten: false };
    },
    async namingKey(stream) {
      refuseIfClosed();
      return keys.get(stream) ?? null;
    },
    async end() {
      refuseIfClosed();
      return log.length === 0 ? null : String(log.length);
    },
    async newestStream(streamPrefix) {
      refuseIfClosed();
      return log.findLast((event) => event?.stream.startsWith(streamPrefix))?.stream ?? null;
    },
    async head(stream) {
      refuseIfClosed();
      return headOf(stream);
    },
    [Symbol.asyncDispose]: close,
  };
}

type MemorySnapshots = SnapshotStore & {
  /** Deletes the snapshots of a stream, and returns how many there were. */
  readonly forget: (stream: string) => number;
};

/**
 * Snapshots that last as long as the process.
 *
 * @param options.isErasedSince - Whether something of a stream was erased after a revision.
 */
function createMemorySnapshots({
  refuseIfClosed,
  isErasedSince,
}: {
  readonly refuseIfClosed: () => void;
  readonly isErasedSince: (stream: string, revision: number) => boolean;
}): MemorySnapshots {
  const dataByRevisionByKey = new Map<string, Map<number, string>>();
  const keyText = ({ stream, projection, version }: SnapshotKey): string =>
    JSON.stringify([stream, projection, version]);
  return {
    async get(key, atMost): Promise<Snapshot | null> {
      refuseIfClosed();
      const dataByRevision = dataByRevisionByKey.get(keyText(key)) ?? new Map<number, string>();
      const revision = Math.max(-1, ...[...dataByRevision.keys()].filter((present) => present <= atMost));
      const data = dataByRevision.get(revision);
      return data === undefined ? null : { revision, data };
    },
    async put(key, { revision, data }, seen = revision) {
      refuseIfClosed();
      if (isErasedSince(key.stream, seen)) return;
      const dataByRevision = dataByRevisionByKey.get(keyText(key)) ?? new Map<number, string>();
      dataByRevisionByKey.set(keyText(key), dataByRevision.set(revision, data));
    },
    forget(stream) {
      const its = [...dataByRevisionByKey].filter(([key]) =>
        key.startsWith(`${JSON.stringify([stream]).slice(0, -1)},`),
      );
      for (const [key] of its) dataByRevisionByKey.delete(key);
      return its.reduce((sum, [, dataByRevision]) => sum + dataByRevision.size, 0);
    },
    async deleteAll() {
      refuseIfClosed();
      dataByRevisionByKey.clear();
    },
  };
}
