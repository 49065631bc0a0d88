import { comparePositions, type Head } from "../../log/ports/event-store.ts";

/**
 * What this process knows of the store: the heads of streams when it last looked, and what the server has acknowledged to
 * it, which has to be readable before a reading may end. (A server acknowledges what its index has not taken in yet, and
 * a new leader serves before its own has.)
 */
export type Heads = {
  /** The head of a stream; undefined when it is not known. */
  readonly head: (stream: string) => Head | null | undefined;
  readonly remember: (stream: string, head: Head | null) => void;
  /** The head may be another one now; what was acknowledged stays so. */
  readonly forget: (stream: string) => void;
  /** The newest revision that was seen or acknowledged; -1 for none. */
  readonly reached: (stream: string) => number;
  /** An event of the stream was acknowledged, at its place in the log where that was said. */
  readonly acknowledge: (stream: string, revision: number, position: string | null) => void;
  /** The newest place in the log that was acknowledged. */
  readonly position: () => string | null;
};

type Known = { head: Head | null | undefined; reached: number };

/** Streams of which this is remembered; others are looked at before an append. */
const maxStreams = 10_000;

export function createHeads(): Heads {
  const knownByStream = new Map<string, Known>();
  let newest: string | null = null;

  /** What is known of a stream, which is then the last to be forgotten. */
  function known(stream: string): Known {
    const entry = knownByStream.get(stream) ?? { head: undefined, reached: -1 };
    knownByStream.delete(stream);
    knownByStream.set(stream, entry);
    const [oldest] = knownByStream.keys();
    if (knownByStream.size > maxStreams && oldest !== undefined) knownByStream.delete(oldest);
    return entry;
  }

  return {
    head: (stream) => knownByStream.get(stream)?.head,
    remember(stream, head) {
      const entry = known(stream);
      entry.head = head;
      entry.reached = Math.max(entry.reached, head?.revision ?? -1);
    },
    forget(stream) {
      const entry = knownByStream.get(stream);
      if (entry !== undefined) entry.head = undefined;
    },
    reached: (stream) => knownByStream.get(stream)?.reached ?? -1,
    acknowledge(stream, revision, position) {
      const entry = known(stream);
      entry.reached = Math.max(entry.reached, revision);
      if (position !== null && (newest === null || comparePositions(position, newest) > 0)) newest = position;
    },
    position: () => newest,
  };
}
