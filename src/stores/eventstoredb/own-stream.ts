import type { RecordedEvent } from "./driver.ts";
import { Failure } from "./failure.ts";
import type { StreamRange } from "./request.ts";
import { createPatience } from "./retry-policy.ts";
import { readServerStream, type Session } from "./session.ts";
import { checkSettings } from "./stream-settings.ts";

export type OwnRange = Omit<StreamRange, "name">;

/**
 * The events of one of the store's streams, as many at a time as have come. What was acknowledged to this process is
 * among them: where the server cannot show it yet, it is asked again after a pause.
 *
 * @throws {Failure} when the server is not there, refuses, or does not show in time what it has acknowledged.
 * @throws {StoreCorruptedError} when the stream was deleted or has lost its beginning.
 */
export async function* readOwnStream(
  session: Session,
  stream: string,
  range: OwnRange,
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[], void> {
  const { address, heads, names } = session;
  const patience = createPatience({ forMs: address.timeoutMs, signal });
  const due = heads.reached(stream);
  let { from, count } = range;
  for (;;) {
    let isShort = isDue(range, from, due) && count > 0;
    for await (const events of readServerStream(
      session,
      { ...range, name: names.toServer(stream), from, count },
      signal,
    )) {
      const [first, last] = [events[0], events.at(-1)];
      if (first === undefined || last === undefined) continue;
      if (range.direction === "backwards" && from === range.from && isOlder(first, from, due)) break;
      from = Number(last.getStreamRevision()) + (range.direction === "forwards" ? 1 : -1);
      count -= events.length;
      isShort = isDue(range, from, due) && count > 0;
      yield events;
      patience.restore();
    }
    if (!isShort) return;
    await checkSettings(session, stream, signal);
    await patience.wait(new Failure("passing", `revision ${due} of ${stream} is there, and cannot be read yet`));
    signal.throwIfAborted();
  }
}

/** Whether a reading that ends before this revision lacks something; backwards it begins with what is newest. */
const isDue = ({ direction, from: first }: OwnRange, from: number | "end", due: number): boolean =>
  direction === "forwards" ? typeof from === "number" && from <= due : from === first && from !== -1 && due >= 0;

const isOlder = (newest: RecordedEvent, from: number | "end", due: number): boolean =>
  Number(newest.getStreamRevision()) < Math.min(due, from === "end" ? due : from);
