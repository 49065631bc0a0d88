import type { z } from "zod";
import type { EventStore } from "../../log/ports/event-store.ts";
import { type ErasureOrder, erasureOrders } from "../../log/system-streams/erasures.ts";
import type { eraseDocument } from "./erasing.ts";

/** An order of erasure, as `turnlog erase` lists it. */
export type ErasureOrderDocument = NonNullable<z.infer<typeof eraseDocument>["orders"]>[number];

/** What was erased of a store, when, by whom and why: the oldest first. */
export async function erasureOrderDocuments(store: EventStore): Promise<readonly ErasureOrderDocument[]> {
  const orders: ErasureOrderDocument[] = [];
  for await (const order of erasureOrders(store)) orders.push(orderOf(order));
  return orders.toSorted((left, right) => (left.at < right.at ? -1 : 1));
}

function orderOf({
  orderId,
  orderedAt: at,
  by,
  ground,
  ticket,
  conversations,
  receipt,
  isRefused,
}: ErasureOrder): ErasureOrderDocument {
  const ended = receipt === null ? "unfinished" : receipt["finished"] === true ? "finished" : "left-over";
  const state = isRefused ? "refused" : ended;
  return { orderId, at, by, ground, ticket, conversations: conversations.map(({ id }) => id), state };
}
