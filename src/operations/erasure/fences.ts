import type { Actor } from "../../domain/actor.ts";
import { placesByRevision } from "../../domain/events/erased-places.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { contentErased, linesErased, orderIdIn } from "../../log/codec/erased.ts";
import { createEventIds } from "../../log/codec/ids.ts";
import { type AnyEvent, type LineSources, prepareAppend } from "../../log/codec/prepare.ts";
import { namesOf, renewedKey } from "../../log/codec/stream-names.ts";
import { readFamilies } from "../../log/history/families.ts";
import {
  type EventStore,
  envelopeAt,
  type Head,
  type LineErasure,
  type PreparedAppend,
} from "../../log/ports/event-store.ts";
import type { ErasureOrder, ErasureOrdered } from "../../log/system-streams/erasures.ts";

export const operatorOf = ({ by }: Pick<ErasureOrdered, "by">): Actor => ({ kind: "operator", name: by });

type Ordered = ErasureOrder["conversations"][number];

/** What of an order is still to be done, as a store does it: one append per conversation says what was emptied before it. */
export type Fences = { readonly fences: readonly PreparedAppend[]; readonly lines: readonly LineErasure[] };

/** The appends for the conversations of an order that were not erased yet. */
export async function fencesFor(
  store: EventStore,
  order: ErasureOrder,
  { left, clock }: { readonly left: readonly Ordered[]; readonly clock: () => number },
): Promise<Fences> {
  const fences: PreparedAppend[] = [];
  const lines: LineErasure[] = [];
  const renewed = await renewedKeys(store, left);
  for (const { id, head, places, blockIds = [] } of left) {
    const stream = conversationStream(id);
    const newest = await envelopeAt(store, stream, head.revision);
    const at = { ...{ stream, head, lastAt: newest?.at ?? null, clock }, actor: operatorOf(order) };
    if (places === undefined) {
      const data = { orderId: order.orderId, events: head.revision + 1, kept: order.kept };
      fences.push(fenceOf({ type: contentErased, version: 1, data }, at));
      continue;
    }
    const event = { type: linesErased, version: 1, data: { orderId: order.orderId, places, blockIds } };
    const fence = fenceOf(event, { ...at, lines: { names: await namesOf(store, stream) } });
    lines.push({ fence, places: placesByRevision(places), namingKey: renewed(id) });
  }
  return { fences, lines };
}

/** Whether a conversation of an order was erased already: nothing can come between, because the store does all of it at once. */
export async function isFenced(store: EventStore, order: ErasureOrder, { id, head }: Ordered): Promise<boolean> {
  const next = await envelopeAt(store, conversationStream(id), head.revision + 1);
  if (next === null || (next.type !== contentErased && next.type !== linesErased)) return false;
  return orderIdIn(next.data) === order.orderId;
}

/** A fresh naming key for each lineage of an order: conversations that share a key share the new one as well. */
async function renewedKeys(store: EventStore, left: readonly Ordered[]): Promise<(id: ConversationId) => string> {
  const families = left.some(({ places }) => places !== undefined) ? await readFamilies(store) : null;
  const keys = new Map<string, string>();
  return (id) => {
    const [oldest = id] = families?.lineageOf(id) ?? [];
    const key = keys.get(oldest) ?? renewedKey();
    keys.set(oldest, key);
    return key;
  };
}

type Fencing = {
  readonly stream: string;
  readonly head: Head;
  readonly lastAt: string | null;
  readonly clock: () => number;
  readonly actor: Actor;
  readonly lines?: LineSources;
};

function fenceOf(event: AnyEvent, { clock, actor, ...at }: Fencing): PreparedAppend {
  const { appends } = prepareAppend({
    ...at,
    clock,
    newEventId: createEventIds({ clock }),
    events: [{ event, actor }],
  });
  const [fence] = appends;
  if (fence === undefined) throw new Error("one event is one append");
  return fence;
}
