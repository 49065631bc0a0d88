import { type ErasedPlaces, placesByRevision } from "../../domain/events/erased-places.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import { type ConversationId, conversationOfStream } from "../../domain/ids.ts";
import { decodeData } from "../../log/codec/data.ts";
import { contentErasedSchema, orderIdIn } from "../../log/codec/erased.ts";
import { erasedLinesOf, hasErasedLine } from "../../log/codec/lines.ts";
import type { EventStore, StoredEnvelope } from "../../log/ports/event-store.ts";
import { type ErasureOrder, erasureOrders, isOrdered, readErasureOrder } from "../../log/system-streams/erasures.ts";

/** An erased line that no order of the store explains, or an order that was not carried out. */
export type UnexplainedHole = { readonly revision: number; readonly words: string };

/** Checks that a conversation lacks only what an erasure order of its store has erased. */
export class ErasureCheck {
  readonly #store: EventStore;
  readonly #orders = new Map<string, ErasureOrder | null>();
  /** The erased lines of events that stay, as long as no later event has explained them. */
  readonly #holes = new Map<number, Set<number>>();
  /** Those that an event has explained: a later order may name them again. */
  readonly #explained = new Set<string>();
  /** Events that differ from what was written: which of their lines were erased is unknown. */
  readonly #changed = new Set<number>();
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

  /** Notes an event that is damaged, and was skipped. */
  async noteSkipped(envelope: StoredEnvelope, { isChanged }: { readonly isChanged: boolean }): Promise<void> {
    this.noteLines(envelope);
    if (isChanged) this.#changed.add(envelope.revision);
    if (this.unexplained === null) return;
    // If it is the event that recorded an erasure, the order still says what was erased.
    const id = conversationOfStream(envelope.stream) ?? "";
    for await (const { isRefused, conversations } of erasureOrders(this.#store))
      for (const each of isRefused ? [] : conversations)
        if (each.id === id && each.head.revision + 1 === envelope.revision) this.#explain(each.places ?? []);
  }

  /** Notes the lines of an event that are erased. */
  noteLines({ encoding, data, revision }: StoredEnvelope): void {
    const erased = encoding === "lines" && hasErasedLine(data) ? erasedLinesOf(data) : [];
    if (erased.length > 0) this.#holes.set(revision, new Set(erased));
  }

  /** What is wrong with an event that says which lines were erased before it; null if nothing is. */
  async problemOfLines({ stream, data: { orderId, places } }: LinesErased): Promise<string | null> {
    const order = await this.#order(orderId);
    const id = conversationOfStream(stream) ?? "";
    const named = order?.conversations.find((each) => each.id === id)?.places;
    if (named === undefined) return "it says that lines before it were erased, but this store has no such order";
    if (JSON.stringify(named) !== JSON.stringify(places)) return "it names other lines than the order of the erasure";
    const left = this.#explain(places);
    return left && `line ${left.line} of event ${left.revision} was erased according to it, but is still there`;
  }

  /** The first line that is still there; null if all were erased. */
  #explain(places: ErasedPlaces): { readonly revision: number; readonly line: number } | null {
    for (const { revision, lines } of placesByRevision(places))
      for (const line of lines) {
        const isErased = this.#holes.get(revision)?.delete(line) === true || this.#explained.has(`${revision} ${line}`);
        if (!isErased && !this.#changed.has(revision)) return { revision, line };
        this.#explained.add(`${revision} ${line}`);
      }
    return null;
  }

  /** The first erased line that no event up to here explains; null if there is none. */
  get unexplained(): UnexplainedHole | null {
    for (const [revision, lines] of this.#holes)
      for (const line of lines)
        return { revision, words: `line ${line} of its data was erased without an order of this store` };
    return null;
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

/** The streams of long texts that orders removed with the lines that referred to them. */
export async function removedBlobs(store: EventStore): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  for await (const { conversations, isRefused } of erasureOrders(store))
    if (!isRefused) for (const { blobs = [] } of conversations) for (const stream of blobs) removed.add(stream);
  return removed;
}

type LinesErased = Pick<ConversationEventOf<"LinesErased">, "data"> & { readonly stream: string };

/** The conversations that the store's erasure orders name as a whole, without rejected orders. */
export async function orderedConversations(store: EventStore): Promise<ReadonlyMap<ConversationId, ErasureOrder>> {
  const ordered = new Map<ConversationId, ErasureOrder>();
  for await (const order of erasureOrders(store))
    if (!order.isRefused)
      for (const { id, places } of order.conversations) if (places === undefined) ordered.set(id, order);
  return ordered;
}
