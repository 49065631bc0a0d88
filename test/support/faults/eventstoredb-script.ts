import { expect } from "vitest";
import { createEventLog } from "../../../src/log/codec/event-log.ts";
import { createEventIds } from "../../../src/log/codec/ids.ts";
import { type EventStore, envelopeAt, type Head } from "../../../src/log/ports/event-store.ts";
import { serverEventOf } from "../../../src/stores/eventstoredb/envelope.ts";
import { openEventStoreDb } from "../../../src/stores/eventstoredb/store.ts";
import { all, prepared } from "../../../src/testing/contracts/prepared.ts";
import type { EventStoreDbServer, ProposedEvent, StoredEvent } from "../eventstoredb/server.ts";

const streams = ["conversation-cnv_a", "conversation-cnv_b"] as const;

/** The stream that a foreign writer of a fault writes to: one that the script writes to as well. */
export const [sharedStream] = streams;

/** What another turnlog writes in between. */
export const foreignEvents = (): readonly ProposedEvent[] =>
  prepared({ stream: sharedStream, count: 2 }).envelopes.map((envelope) => ({
    ...serverEventOf(envelope),
    isJson: true,
  }));

export type Disturbed = {
  /** A node whose log is the truth. */
  readonly server: EventStoreDbServer;
  readonly url: string;
  /** Called before each round, from 0. */
  readonly onRound?: (round: number) => Promise<void>;
};

/**
 * One writer's run over two streams, with reads in between and a subscriber beside it. Whatever happens on the way, every
 * event that was acknowledged is there once and in order, nothing else is there but what others wrote, and the
 * subscriber has seen all of it once and in order.
 */
export async function playThrough({ server, url, onRound }: Disturbed): Promise<void> {
  const store = await openEventStoreDb(url, { viewsPath: ":memory:", warn: () => undefined });
  const seen: string[] = [];
  const stop = new AbortController();
  const following = follow(store, seen, stop.signal);
  try {
    const acknowledged = await write(store, onRound ?? (async () => undefined));
    for (const stream of streams) {
      const stored = idsOf(server.events(stream));
      expect(new Set(stored).size).toBe(stored.length);
      const ours = new Set(acknowledged.get(stream));
      expect(stored.filter((id) => ours.has(id))).toEqual(acknowledged.get(stream));
      expect((await all(store.readStream(stream))).map((event) => event.id)).toEqual(stored);
      const backwards = await all(store.readStream(stream, { direction: "backwards" }));
      expect(backwards.map((event) => event.id)).toEqual(stored.toReversed());
    }
    const whole = idsOf(server.events().filter((event) => event.stream.startsWith("conversation-")));
    expect((await all(store.readLog({ streamPrefix: "conversation-" }))).map((event) => event.id)).toEqual(whole);
    await expect.poll(() => seen.length, { interval: 5, timeout: 10_000 }).toBeGreaterThanOrEqual(whole.length);
    expect(seen).toEqual(whole);
  } finally {
    stop.abort();
    await following;
    await store.close();
  }
  await server.untilCalls((calls) => calls.length === 0);
}

const idsOf = (events: readonly StoredEvent[]): readonly string[] => events.map((event) => event.id);

async function follow(store: EventStore, seen: string[], signal: AbortSignal): Promise<void> {
  for await (const event of store.subscribe({ streamPrefix: "conversation-", signal })) seen.push(event.id);
}

type Acknowledged = ReadonlyMap<string, readonly string[]>;

async function write(store: EventStore, onRound: (round: number) => Promise<void>): Promise<Acknowledged> {
  const log = createEventLog(store, {
    clock: () => Date.UTC(2026, 0, 1),
    newEventId: createEventIds(),
    pause: async () => undefined,
  });
  const acknowledged = new Map<string, string[]>(streams.map((stream) => [stream, []]));
  const headByStream = new Map<string, Head | null>();
  for (let round = 0; round < 3; round += 1) {
    await onRound(round);
    for (const stream of streams) {
      const events = Array.from({ length: 1 + round }, (_, number) => noted(round, number));
      let head = headByStream.get(stream) ?? null;
      let result = await log.append(stream, head, events);
      for (let tries = 0; result.status === "conflict" && tries < 5; tries += 1) {
        head = result.actual;
        result = await log.append(stream, head, events);
      }
      if (result.status === "conflict") throw new Error("the writer is alone but for one other append");
      headByStream.set(stream, result.head);
      acknowledged.get(stream)?.push(...result.events.map((event) => event.id));
      const last = await envelopeAt(log.store, stream, result.head.revision);
      expect(last?.id).toBe(result.events.at(-1)?.id);
    }
  }
  return acknowledged;
}

const noted = (round: number, number: number) => ({
  event: { type: "Noted", version: 1, data: { round, number } },
  actor: { kind: "app" } as const,
});
