import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

/** What became of an event in a store. */
export type Damage = (envelope: StoredEnvelope) => StoredEnvelope;

export const damages = {
  "data that is no JSON": (envelope) => ({ ...envelope, data: '{"half writ' }),
  "a type that nobody knows": (envelope) => ({ ...envelope, type: "SomethingOfTheFuture" }),
  "data that follows from nothing before": (envelope) => ({
    ...{ ...envelope, type: "RunCompleted", version: 1 },
    data: JSON.stringify({ status: "completed", after: "0".repeat(64) }),
  }),
} as const satisfies Readonly<Record<string, Damage>>;

/** The events of a store in another one, one of them damaged, and those of its stream from a revision on left out. */
export async function damagedCopy(
  from: EventStore,
  {
    stream,
    revision = -1,
    damage = (envelope) => envelope,
    before = Number.POSITIVE_INFINITY,
  }: {
    readonly stream: string;
    readonly revision?: number;
    readonly damage?: Damage;
    readonly before?: number;
  },
): Promise<EventStore> {
  const to = createMemoryStore();
  for await (const stored of from.readLog()) {
    const isOfStream = stored.stream === stream;
    if (isOfStream && stored.revision >= before) continue;
    const { position: _, ...envelope } = isOfStream && stored.revision === revision ? damage(stored) : stored;
    await to.append({ stream: envelope.stream, expectedHead: await to.head(envelope.stream), envelopes: [envelope] });
  }
  return to;
}
