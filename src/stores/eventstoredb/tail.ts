import { type Cursor, createCursor, streamOf } from "./cursor.ts";
import { Failure } from "./failure.ts";
import { endOfLog } from "./log.ts";
import { readMessages } from "./read-call.ts";
import { createPatience } from "./retry-policy.ts";
import type { Session } from "./session.ts";
import { createTap, type Tap } from "./tap.ts";
import type { ReadCall } from "./transport.ts";

/** What is written from now on, on one subscription for all who follow the store: servers allow a process few of them. */
export type Tail = {
  /** Events of streams whose names begin so. The subscription begins with the first who asks, and ends with the last. */
  readonly attach: (streamPrefix: string) => Attached;
};

type Attached = Pick<Tap, "next"> & {
  /** The place after which everything is given: what lies before it has to be read. Null for the beginning of the log. */
  readonly begins: (signal: AbortSignal) => Promise<string | null>;
  readonly leave: () => void;
};

type Subscription = {
  readonly taps: Set<Tap>;
  readonly begun: PromiseWithResolvers<Cursor>;
  readonly left: AbortController;
};

export function createTail(session: Session): Tail {
  let current: Subscription | null = null;

  function start(): Subscription {
    const started: Subscription = {
      taps: new Set(),
      begun: Promise.withResolvers<Cursor>(),
      left: new AbortController(),
    };
    // Whoever still waits for its beginning is told.
    started.begun.promise.catch(() => undefined);
    follow(session, started).catch((error: unknown) => {
      if (current === started) current = null;
      started.begun.reject(error);
      for (const tap of started.taps) tap.fail(error);
    });
    return started;
  }

  return {
    attach(streamPrefix) {
      const subscription = current ?? start();
      current = subscription;
      const { taps, begun, left } = subscription;
      const tap = createTap(streamPrefix);
      taps.add(tap);
      return {
        next: tap.next,
        begins: async (signal) => (await orAborted(begun.promise, signal)).position(),
        leave() {
          taps.delete(tap);
          if (taps.size > 0) return;
          if (current === subscription) current = null;
          left.abort();
        },
      };
    },
  };
}

/** Settles as the promise does, unless the signal aborts first; a follower need not wait for a server to leave. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(new Failure("passing", "the reading was aborted"));
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Goes on from the last event or checkpoint when the connection is lost, for as long as it takes. */
async function follow(session: Session, { taps, begun, left }: Subscription): Promise<void> {
  const { connection, requests, names, address } = session;
  const signal = AbortSignal.any([session.closing, left.signal]);
  const patience = createPatience({ forMs: Number.POSITIVE_INFINITY, signal });
  const call = { signal, silenceMs: address.silenceMs.read, probe: (open: ReadCall) => probe(session, open, signal) };
  const isOver = (): boolean => signal.aborted;
  const pattern = names.pattern("");
  let cursor: Cursor | null = null;
  let isLost = false;
  while (!isOver()) {
    let failure: unknown = new Failure("passing", "the server ended the subscription");
    try {
      cursor ??= createCursor(pattern, await endOfLog(session, { signal }));
      begun.resolve(cursor);
      const request = requests.subscribe({ from: cursor.position(), pattern });
      for await (const messages of readMessages(connection, request, call)) {
        patience.restore();
        isLost = false;
        for (const event of cursor.take(messages)) {
          const stream = streamOf(session, event);
          if (stream !== null) for (const tap of taps) tap.offer(stream, event);
        }
      }
    } catch (error) {
      failure = error;
    }
    if (isOver()) break;
    await patience.wait(failure);
    if (!isLost) session.warn(`lost the connection to ${address.shown}, and tries again: ${String(failure)}`);
    isLost = true;
  }
  begun.reject(new Failure("passing", "the reading was aborted"));
}

/**
 * Asks whether silence means that nothing happens. A server that lost touch with the others says nothing to those whom it
 * gave a subscription before, and refuses what demands the leader.
 *
 * @throws {Failure} when the subscription is better begun anew.
 */
async function probe(session: Session, open: ReadCall, signal: AbortSignal): Promise<void> {
  if (!session.connection.isCurrent(open)) throw new Failure("passing", "other calls go another way by now");
  await endOfLog(session, { signal, beside: open });
}
