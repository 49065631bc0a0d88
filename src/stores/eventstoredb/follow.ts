import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { comparePositions, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { createTap, type Tap } from "../tap.ts";
import type { ReadCall } from "./client.ts";
import { EsdbFailure } from "./failure.ts";
import { type Cursor, createCursor, endOfLog, expectReached, ownEnvelopes, readLogToEnd } from "./log.ts";
import type { EsdbEvent } from "./messages.ts";
import { readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

type FollowOptions = {
  /** Begins after this position. */
  readonly after: string | undefined;
  readonly streamPrefix: string;
  /** Ends it, without an error. */
  readonly signal: AbortSignal;
};

/**
 * The store's existing events, then every new one, each once. Existing events are read; new ones come from the tail,
 * which all followers share. If a follower is so slow that the tail cannot keep all new events, it reads them, too.
 */
export async function* followOwnLog(
  session: Session,
  tail: Tail,
  { after, streamPrefix, signal }: FollowOptions,
): AsyncGenerator<readonly StoredEnvelope[], void> {
  const cursor = createCursor(session.names.pattern(streamPrefix), after ?? null);
  const isOver = (): boolean => signal.aborted;
  const patience = session.patience(signal, "for ever");
  while (!isOver()) {
    const attached = tail.attach(streamPrefix);
    try {
      const to = await attached.begins(signal);
      if (isBeyond(cursor, to)) {
        if (cursor.position() !== to) await expectReached(session, cursor.position(), { patience, signal });
      } else {
        for await (const events of readLogToEnd(session, { cursor, to, patience, signal }))
          yield ownEnvelopes(session, events, streamPrefix);
      }
      for (let events = await attached.next(signal); events !== null; events = await attached.next(signal))
        yield ownEnvelopes(session, cursor.takeEvents(events), streamPrefix);
    } catch (error) {
      if (!isOver()) throw error;
    } finally {
      attached.leave();
    }
  }
}

/** Whether there is nothing to read before the tail begins. */
function isBeyond(cursor: Cursor, to: string | null): boolean {
  const position = cursor.position();
  return to === null || (position !== null && comparePositions(position, to) >= 0);
}

/** New events, on one subscription for all followers of the store: servers allow a process few of them. */
export type Tail = {
  /** Events of streams with the prefix. The subscription begins with the first follower, and ends with the last. */
  readonly attach: (streamPrefix: string) => Attached;
};

type Attached = Pick<Tap<EsdbEvent>, "next"> & {
  /** The position after which the tail has everything: earlier events must be read. Null for the beginning of the log. */
  readonly begins: (signal: AbortSignal) => Promise<string | null>;
  readonly leave: () => void;
};

type Follower = { readonly streamPrefix: string; readonly tap: Tap<EsdbEvent> };

type Subscription = {
  readonly followers: Set<Follower>;
  readonly begun: PromiseWithResolvers<Cursor>;
  readonly left: AbortController;
};

export function createTail(session: Session): Tail {
  let current: Subscription | null = null;

  function start(): Subscription {
    const started: Subscription = {
      followers: new Set(),
      begun: Promise.withResolvers<Cursor>(),
      left: new AbortController(),
    };
    // Callers still waiting for its beginning get the error.
    started.begun.promise.catch(() => undefined);
    keepUp(session, started).catch((error: unknown) => {
      if (current === started) current = null;
      started.begun.reject(error);
      for (const { tap } of started.followers) tap.fail(error);
    });
    return started;
  }

  return {
    attach(streamPrefix) {
      const subscription = current ?? start();
      current = subscription;
      const { followers, begun, left } = subscription;
      const tap = createTap<EsdbEvent>();
      const follower = { streamPrefix, tap };
      followers.add(follower);
      return {
        next: tap.next,
        async begins(signal) {
          // A follower need not wait for a server before it stops.
          const waiting = innerSignal(signal);
          try {
            return (await Promise.race([begun.promise, rejectionOf(waiting.signal)])).position();
          } finally {
            waiting.end(undefined);
          }
        },
        leave() {
          followers.delete(follower);
          if (followers.size > 0) return;
          if (current === subscription) current = null;
          left.abort();
        },
      };
    },
  };
}

/** Continues from the last event or checkpoint when the connection is lost, without a time limit. */
async function keepUp(session: Session, { followers, begun, left }: Subscription): Promise<void> {
  const { connection, names, address, sameStore } = session;
  const signal = AbortSignal.any([session.closing, left.signal]);
  const patience = session.patience(signal, "for ever");
  const call = { signal, silenceMs: address.silenceMs.read, probe: (open: ReadCall) => probe(session, open, signal) };
  const isOver = (): boolean => signal.aborted;
  const pattern = names.pattern("");
  let cursor: Cursor | null = null;
  let isLost = false;
  while (!isOver()) {
    let failure: unknown = new EsdbFailure("passing", "the server ended the subscription");
    try {
      await sameStore.confirm(patience, signal);
      cursor ??= createCursor(pattern, await endOfLog(session, { patience, signal }));
      begun.resolve(cursor);
      const request = connection.messages.subscribe({ from: cursor.position(), pattern });
      for await (const messages of readMessages(connection, request, call)) {
        patience.restore();
        isLost = false;
        for (const event of cursor.take(messages)) {
          sameStore.note(event);
          const stream = names.toStream(event.name);
          if (stream === null) continue;
          for (const { tap, streamPrefix } of followers) if (stream.startsWith(streamPrefix)) tap.offer(event);
        }
      }
    } catch (error) {
      failure = error;
    }
    if (isOver()) break;
    await patience.wait(failure);
    if (!isLost) session.warn(`lost the connection to ${address.shown}, retrying: ${String(failure)}`);
    isLost = true;
  }
  begun.reject(new EsdbFailure("passing", "the reading was aborted"));
}

/**
 * Checks whether a silent subscription just has no new events. A server that lost contact with its cluster stays silent on its
 * existing subscriptions, and rejects calls that require the leader.
 *
 * @throws {EsdbFailure} if the subscription should be replaced.
 */
async function probe(session: Session, open: ReadCall, signal: AbortSignal): Promise<void> {
  if (!session.connection.isCurrent(open)) throw new EsdbFailure("passing", "other calls go another way by now");
  await endOfLog(session, { patience: session.patience(signal), signal, beside: open });
}
