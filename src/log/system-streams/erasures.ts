import * as z from "zod";
import { erasedPlacesSchema } from "../../domain/events/erased-places.ts";
import { conversationIdSchema } from "../../domain/ids.ts";
import { decodeData } from "../codec/data.ts";
import type { EventStore, StoredEnvelope } from "../ports/event-store.ts";

/** The stream of one order. */
export const erasureStream = (orderId: string): string => `erasure-${orderId}`;

/** Who requested an erasure and why: codes, because a text may be personal itself and would stay. */
export const erasureCodeSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "give a code of 1 to 64 letters, digits, _ or -: it stays in the log");

const headSchema = z.strictObject({ revision: z.int().nonnegative(), digest: z.string() });

/** Orders the erasure of conversations: by whom and why. It is durable before anything is erased. */
const erasureOrderedSchema = z.strictObject({
  orderId: z.string(),
  by: erasureCodeSchema,
  ground: erasureCodeSchema,
  ticket: erasureCodeSchema.nullable(),
  kept: z.enum(["skeleton", "digests"]),
  /** The store's files are rewritten as a whole afterwards, even if nothing requires it. */
  vacuum: z.exactOptional(z.literal(true)),
  /** What servers stored is left there on purpose. */
  keepStored: z.exactOptional(z.literal(true)),
  conversations: z
    .array(
      z.strictObject({
        id: conversationIdSchema,
        /** The head before the erasure. */
        head: headSchema,
        /** Responses and objects that servers may still hold; null if unknown. */
        stored: z.int().nonnegative().nullable(),
        /** The lines to empty, by number, from 1; absent if the whole conversation is erased. */
        places: z.exactOptional(erasedPlacesSchema),
        /** The blocks that lose their content. */
        blockIds: z.exactOptional(z.array(z.string())),
        /** The streams of long texts to remove with the lines. */
        blobs: z.exactOptional(z.array(z.string())),
      }),
    )
    .min(1),
});
export type ErasureOrdered = z.infer<typeof erasureOrderedSchema>;

/** The erasure has ended, with this receipt, as `src/operations/erasure/receipt.ts` writes it. */
const erasureFinishedSchema = z.strictObject({ receipt: z.record(z.string(), z.unknown()) });

/** An order as recorded in its stream. */
export type ErasureOrder = ErasureOrdered & {
  readonly orderedAt: string;
  /** The newest receipt; null while the erasure has not ended. */
  readonly receipt: Readonly<Record<string, unknown>> | null;
  /** Whether nothing was erased, and nothing will be. */
  readonly isRefused: boolean;
};

/** An order by its id; null if there is none that can be read. */
export async function readErasureOrder(store: EventStore, orderId: string): Promise<ErasureOrder | null> {
  let order: ErasureOrder | null = null;
  for await (const envelope of store.readStream(erasureStream(orderId))) {
    const { type, version, at } = envelope;
    if (version !== 1) continue;
    if (type === "ErasureOrdered") {
      const ordered = erasureOrderedSchema.safeParse(decodeData(envelope).data);
      if (ordered.success) order = { ...ordered.data, orderedAt: at, receipt: null, isRefused: false };
    }
    if (type === "ErasureRefused" && order !== null) order = { ...order, isRefused: true };
    if (order !== null) order = { ...order, receipt: receiptIn(envelope) ?? order.receipt };
  }
  return order;
}

/** All receipts of an order, the oldest first: each call that continues the order records another. */
export async function* recordedReceipts(
  store: EventStore,
  orderId: string,
): AsyncIterable<Readonly<Record<string, unknown>>> {
  for await (const envelope of store.readStream(erasureStream(orderId))) {
    const receipt = receiptIn(envelope);
    if (receipt !== null) yield receipt;
  }
}

function receiptIn(envelope: StoredEnvelope): ErasureOrder["receipt"] {
  if (envelope.type !== "ErasureFinished" || envelope.version !== 1) return null;
  const finished = erasureFinishedSchema.safeParse(decodeData(envelope).data);
  return finished.success ? finished.data.receipt : null;
}

/** All orders of a store, the refused ones too. */
export async function* erasureOrders(store: EventStore): AsyncIterable<ErasureOrder> {
  for await (const { stream } of store.heads(erasureStream(""))) {
    const order = await readErasureOrder(store, stream.slice(erasureStream("").length));
    if (order !== null) yield order;
  }
}

/** The orders of a store that have not ended. */
export async function unfinishedErasures(store: EventStore): Promise<readonly ErasureOrder[]> {
  const unfinished: ErasureOrder[] = [];
  for await (const { stream, head } of store.heads(erasureStream(""))) {
    // A receipt or a refusal is a second event. Every opening asks this, so it reads no order that has ended.
    const order = head.revision > 0 ? null : await readErasureOrder(store, stream.slice(erasureStream("").length));
    if (order !== null) unfinished.push(order);
  }
  return unfinished;
}

/** Whether a conversation is among those of an order that was erased at this head, or later. */
export const isOrdered = (order: ErasureOrder, id: string, events: number): boolean =>
  order.conversations.some((each) => each.id === id && each.head.revision + 1 === events);
