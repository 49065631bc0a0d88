import { isJsonObject } from "../../base/json.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { EsdbFailure } from "./failure.ts";
import { type EsdbEvent, type StreamRange, textOfBytes } from "./messages.ts";
import { forPart, type Patience } from "./patience.ts";
import { readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

export type OwnRange = Omit<StreamRange, "name">;

/** How long a read keeps trying, and what ends it. */
export type StreamReading = { readonly patience: Patience; readonly signal: AbortSignal };

/**
 * The events of one of the store's streams, in batches as they arrive. They include what was acknowledged to this process:
 * if the server cannot show that yet, the read asks again after a pause.
 *
 * @throws {EsdbFailure} if the server is unreachable, rejects the read, or does not show in time what it has acknowledged.
 * @throws {StoreCorruptedError} if the stream was deleted or has lost its beginning.
 */
export async function* readOwnStream(
  session: Session,
  stream: string,
  range: OwnRange,
  reading: StreamReading,
): AsyncGenerator<readonly EsdbEvent[], void> {
  const { heads, names } = session;
  const { patience, signal } = reading;
  const part = { patience: forPart(patience), signal };
  const due = heads.reached(stream);
  let { from, count } = range;
  for (;;) {
    let isShort = isDue(range, from, due) && count > 0;
    for await (const events of readServerStream(
      session,
      { ...range, name: names.toServer(stream), from, count },
      part,
    )) {
      const [first, last] = [events[0], events.at(-1)];
      if (first === undefined || last === undefined) continue;
      if (range.direction === "backwards" && from === range.from && isOlder(first, from, due)) break;
      from = last.revision + (range.direction === "forwards" ? 1 : -1);
      count -= events.length;
      isShort = isDue(range, from, due) && count > 0;
      yield events;
      patience.restore();
    }
    if (!isShort) return;
    await checkStreamSettings(session, stream, part);
    await patience.wait(new EsdbFailure("passing", `revision ${due} of ${stream} exists, but cannot be read yet`));
    signal.throwIfAborted();
  }
}

/** Whether a read that ends before this revision is incomplete; a backward read begins with the newest event. */
const isDue = ({ direction, from: first }: OwnRange, from: number | "end", due: number): boolean =>
  direction === "forwards" ? typeof from === "number" && from <= due : from === first && from !== -1 && due >= 0;

const isOlder = (newest: EsdbEvent, from: number | "end", due: number): boolean =>
  newest.revision < Math.min(due, from === "end" ? due : from);

/**
 * The events of a stream of the server, in batches as they arrive; none if there is no such stream. If the connection is
 * lost, it continues where it was.
 *
 * @throws {EsdbFailure} if the connection stays lost, or the server rejects the read.
 * @throws {StoreCorruptedError} if revisions are missing that existed.
 */
export async function* readServerStream(
  session: Session,
  range: StreamRange,
  { patience, signal }: StreamReading,
): AsyncGenerator<readonly EsdbEvent[], void> {
  const { address, connection, sameStore } = session;
  const step = range.direction === "forwards" ? 1 : -1;
  let { from, count } = range;
  // There is nothing below revision 0.
  while (count > 0 && from !== -1) {
    try {
      await sameStore.confirm(patience, signal);
      const silenceMs = Math.min(address.silenceMs.read, patience.leftMs());
      const call = { signal, silenceMs, isShort: count <= maxShort };
      for await (const messages of readMessages(
        connection,
        connection.messages.readStream({ ...range, from, count }),
        call,
      )) {
        const events: EsdbEvent[] = [];
        for (const { event } of messages) {
          if (event === null) continue;
          checkNext(range, from, event.revision);
          from = event.revision + step;
          events.push(event);
        }
        count -= events.length;
        sameStore.note(events.at(-1));
        patience.restore();
        if (events.length > 0) yield events;
        // The reader's own time does not count as the server's.
        patience.restore();
      }
      // The server has no more events, although earlier revisions must exist.
      if (count > 0 && step < 0 && typeof from === "number" && from >= 0 && from !== range.from)
        throw truncated(range.name, from);
      return;
    } catch (error) {
      await patience.wait(error);
      if (signal.aborted) throw error;
    }
  }
}

/** How many events may arrive unused, instead of cancelling the call. */
const maxShort = 8;

// Revisions have no gaps, so a gap means that the stream lost its beginning.
function checkNext({ name, direction, from: first }: StreamRange, due: number | "end", revision: number): void {
  const isFirstBackwards = direction === "backwards" && due === first;
  if (due === "end" || revision === due || (isFirstBackwards && revision < due)) return;
  throw truncated(name, due);
}

/** The error for a stream whose beginning another program removed. */
function truncated(name: string, revision: number): StoreCorruptedError {
  return new StoreCorruptedError(
    `revision ${revision} of ${name} is missing: the stream has $maxCount, $maxAge or $tb in its metadata, or was deleted; remove those settings, and restore the events from a copy`,
  );
}

/**
 * Rejects a stream of which the server drops events, or has dropped them: its revision 0 is missing, or will be.
 *
 * @throws {StoreCorruptedError} that names the settings.
 */
export async function checkStreamSettings(session: Session, stream: string, reading: StreamReading): Promise<void> {
  const name = session.names.toServer(stream);
  const range = { name: `$$${name}`, from: "end", direction: "backwards", count: 1 } as const;
  try {
    for await (const events of readServerStream(session, range, reading)) {
      for (const event of events) if (dropsEvents(textOfBytes(event.data))) throw truncated(name, 0);
    }
  } catch (error) {
    // A user who may write to a stream may not be allowed to read its settings.
    if (!(error instanceof EsdbFailure) || error.kind !== "denied") throw error;
  }
}

function dropsEvents(metadata: string): boolean {
  try {
    const settings: unknown = JSON.parse(metadata);
    return isJsonObject(settings) && ["$maxCount", "$maxAge", "$tb"].some((name) => settings[name] !== undefined);
  } catch {
    return false;
  }
}
