import { type ConversationId, conversationOfStream } from "../domain/ids.ts";
import { decodeData } from "../log/codec/data.ts";
import { contentErasedSchema, orderIdIn } from "../log/codec/erased.ts";
import type { EventStore, StoredEnvelope } from "../log/ports/event-store.ts";
import { type ErasureOrder, erasureOrders, isOrdered, readErasureOrder } from "../records/erasures.ts";

/** Checks that a conversation lacks only what an erasure order of its store has erased. */
export class ErasureCheck {
  readonly #store: EventStore;
  readonly #orders = new Map<string, ErasureOrder | null>();
  /** How many events of the stream are emptied, and whether the `ContentErased` was found. */
  #emptied = 0;
  #isTold = false;

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** What is wrong with the next event of an erased stream; null if nothing is. Other code checks its place and its chain. */
  async problemOf(envelope: StoredEnvelope): Promise<string | null> {
    const order = await this.#order(orderIdIn(envelope.data));
    const id = conversationOfStream(envelope.stream) ?? "";
    if (envelope.encoding === "erased") {
      this.#emptied += 1;
      const isNamed = order?.conversations.some((each) => each.id === id) === true;
      return isNamed ? null : "it was emptied without an order of erasure in this store";
    }
    this.#isTold = true;
    const told = contentErasedSchema.safeParse(decodeData(envelope).data);
    if (!told.success || order === null || !isOrdered(order, id, told.data.events))
      return "it says that the events before it were erased, but this store has no such order";
    if (told.data.events === envelope.revision && this.#emptied === envelope.revision) return null;
    return `the events before it were erased, and ${envelope.revision - this.#emptied} of them are not: continue with \`turnlog erase --resume ${order.orderId}\``;
  }

  /** What is wrong with the stream as a whole. */
  get problem(): string | null {
    return this.#emptied > 0 && !this.#isTold
      ? "its events were emptied, but the event that records the erasure is missing"
      : null;
  }

  /** Whether the event that ends an erased conversation was found: no event may follow it. */
  get isOver(): boolean {
    return this.#isTold;
  }

  async #order(orderId: string | null): Promise<ErasureOrder | null> {
    if (orderId === null) return null;
    const known = this.#orders.get(orderId);
    if (known !== undefined) return known;
    const order = await readErasureOrder(this.#store, orderId);
    this.#orders.set(orderId, order);
    return order;
  }
}

/** The conversations named by the store's erasure orders, without rejected orders. */
export async function orderedConversations(store: EventStore): Promise<ReadonlyMap<ConversationId, ErasureOrder>> {
  const ordered = new Map<ConversationId, ErasureOrder>();
  for await (const order of erasureOrders(store))
    if (!order.isRefused) for (const { id } of order.conversations) ordered.set(id, order);
  return ordered;
}
