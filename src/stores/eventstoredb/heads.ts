import { comparePositions, type Head } from "../../log/ports/event-store.ts";

/**
 * What this process knows about the store: the heads of streams when it last read them, and what the server has acknowledged,
 * which must be readable before a read may end. (A server acknowledges events before its index has them, and
 * a new leader serves reads before its own index has them.)
 */
export type Heads = {
  /** The head of a stream; undefined if it is not known. */
  readonly head: (stream: string) => Head | null | undefined;
  readonly remember: (stream: string, head: Head | null) => void;
  /** The head may have changed; acknowledged events remain. */
  readonly forget: (stream: string) => void;
  /** The newest revision seen or acknowledged; -1 for none. */
  readonly reached: (stream: string) => number;
  /** Records that an event of the stream was acknowledged, with its position if the server said it. */
  readonly acknowledge: (stream: string, revision: number, position: string | null) => void;
  /** The newest acknowledged position. */
  readonly position: () => string | null;
};

type Known = { head: Head | null | undefined; reached: number };

/** How many streams to remember; others are read before an append. */
const maxStreams = 10_000;

export function createHeads(): Heads {
  const knownByStream = new Map<string, Known>();
  let newest: string | null = null;

  /** What is known about a stream, which thereby becomes the last one to be forgotten. */
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
