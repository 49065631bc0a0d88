import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { createTap, type Tap } from "../tap.ts";
import type { Database } from "./database.ts";
import { createPageSize, type Reads } from "./read.ts";

/** New events, read once for all followers of the store. It asks the server only while somebody follows. */
export type Tail = {
  /** Events of streams with the prefix, from now on. */
  readonly attach: (streamPrefix: string) => Attached;
  /** Asks at once, because this process appended. */
  readonly wake: () => void;
};

type Attached = Pick<Follower, "next" | "reached"> & {
  /** The position after which the tail has everything: earlier events must be read. */
  readonly begins: (signal: AbortSignal) => Promise<string>;
  readonly leave: () => void;
};

export type TailOptions = {
  readonly database: Pick<Database, "address">;
  readonly reads: Pick<Reads, "mark" | "page">;
  readonly closing: AbortSignal;
  readonly warn: (message: string) => void;
};

type Following = {
  readonly followers: Set<Follower>;
  /** The position after which the first followers get everything. */
  readonly begun: PromiseWithResolvers<string>;
  readonly left: AbortController;
  /** The newest event that was handed out, never a position without an event: after a crash, such a one may be drawn again. Null at first. */
  position: string | null;
};

export function createTail({ database, reads, closing, warn }: TailOptions): Tail {
  const { pollMs, shown } = database.address;
  let current: Following | null = null;
  let isWoken = false;
  let endPause: (() => void) | null = null;

  function wake(): void {
    isWoken = true;
    endPause?.();
  }

  /** Waits for the next poll; ends at once if this process has appended since the last one began. */
  function pause(): Promise<void> {
    if (isWoken) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        endPause = null;
        resolve();
      };
      const timer = setTimeout(end, pollMs);
      endPause = end;
    });
  }

  async function keepUp(following: Following): Promise<void> {
    const { followers, begun, left } = following;
    const signal = AbortSignal.any([closing, left.signal]);
    const isOver = (): boolean => signal.aborted;
    signal.addEventListener("abort", wake, { once: true });
    const size = createPageSize();
    let isLost = false;
    const trying = {
      signal,
      forMs: Number.POSITIVE_INFINITY,
      onFailure(error: unknown) {
        if (!isLost) warn(`lost the connection to ${shown}, retrying: ${String(error)}`);
        isLost = true;
      },
    };
    const first = await reads.mark("0", trying);
    let position = first.newest;
    following.position = position;
    begun.resolve(position);
    while (!isOver()) {
      isWoken = false;
      const { horizon, newest } = await reads.mark(position, trying);
      isLost = false;
      for (let isFull = newest !== position; isFull && !isOver(); ) {
        const range = { after: position, to: horizon, streamPrefix: "", limit: size.rows() };
        const page = await reads.page(range, trying);
        size.note(page.events);
        for (const event of page.events) for (const follower of followers) follower.offer(event);
        position = page.last ?? position;
        following.position = position;
        isFull = page.isFull;
      }
      if (!isOver()) await pause();
    }
  }

  function start(): Following {
    const begun = Promise.withResolvers<string>();
    const started: Following = { followers: new Set(), begun, left: new AbortController(), position: null };
    // Callers that wait for its beginning get the error.
    begun.promise.catch(() => undefined);
    keepUp(started).catch((error: unknown) => {
      if (current === started) current = null;
      begun.reject(error);
      for (const follower of started.followers) follower.fail(error);
    });
    return started;
  }

  return {
    wake,
    attach(streamPrefix) {
      const following = current ?? start();
      current = following;
      const follower = createFollower(streamPrefix);
      following.followers.add(follower);
      // Read in the same turn: what is handed out from now on goes to this follower.
      const { position } = following;
      return {
        next: follower.next,
        reached: follower.reached,
        async begins(signal) {
          if (position !== null) return position;
          const waiting = innerSignal(signal);
          try {
            return await Promise.race([following.begun.promise, rejectionOf(waiting.signal)]);
          } finally {
            waiting.end(undefined);
          }
        },
        leave() {
          following.followers.delete(follower);
          if (following.followers.size > 0) return;
          if (current === following) current = null;
          following.left.abort();
        },
      };
    },
  };
}

/** One follower's buffer of new events. */
type Follower = Pick<Tap<StoredEnvelope>, "fail" | "next"> & {
  readonly offer: (event: StoredEnvelope) => void;
  /** The newest event that was looked at before the buffer overflowed, of whatever stream; null before the first. */
  readonly reached: () => string | null;
};

function createFollower(streamPrefix: string): Follower {
  const tap = createTap<StoredEnvelope>();
  let reached: string | null = null;
  return {
    ...tap,
    offer(event) {
      if (tap.isBehind()) return;
      if (!event.stream.startsWith(streamPrefix) || tap.offer(event)) reached = event.position;
    },
    reached: () => reached,
  };
}

type FollowOptions = {
  /** Begins after this position. */
  readonly after: string;
  readonly streamPrefix: string;
  /** Ends it, without an error. */
  readonly signal: AbortSignal;
};

/**
 * The store's existing events, then every new one, each once. Existing events are read; new ones come from the tail. If a follower is so
 * slow that the tail cannot keep all new events, it reads them, too.
 */
export async function* follow(
  { reads, tail }: { readonly reads: TailOptions["reads"]; readonly tail: Tail },
  { after, streamPrefix, signal }: FollowOptions,
): AsyncGenerator<readonly StoredEnvelope[], void> {
  const size = createPageSize();
  let last = after;
  const isOver = (): boolean => signal.aborted;
  // A caller may have seen more than the tail has handed out.
  const isNew = ({ position }: StoredEnvelope): boolean => comparePositions(position, last) > 0;
  await reads.mark(after, { signal });
  while (!isOver()) {
    const attached = tail.attach(streamPrefix);
    try {
      const to = await attached.begins(signal);
      while (comparePositions(last, to) < 0 && !isOver()) {
        const page = await reads.page({ after: last, to, streamPrefix, limit: size.rows() }, { signal });
        size.note(page.events);
        yield page.events;
        last = page.isFull ? (page.last ?? to) : to;
      }
      for (let events = await attached.next(signal); events !== null; events = await attached.next(signal)) {
        yield events.filter(isNew);
        last = later(last, events.at(-1)?.position);
      }
      last = later(last, attached.reached());
    } catch (error) {
      if (!isOver()) throw error;
    } finally {
      attached.leave();
    }
  }
}

const later = (left: string, right: string | null | undefined): string =>
  right != null && comparePositions(right, left) > 0 ? right : left;
