import { type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";

/** An item that comes in pieces: its members so far, the text of its JSON, and the number of bytes received. */
export type OpenItem = {
  readonly item: Record<string, JsonValue>;
  /** Its position among the items of the answer. */
  readonly place: number;
  json: string;
  bytes: number;
};

/** The items of a streamed answer by position: complete ones and open ones. */
export class StreamedItems {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #itemBytes: number;
  readonly #complete: (open: OpenItem) => JsonObject;
  readonly #done = new Map<number, JsonObject>();
  readonly #open = new Map<number, OpenItem>();
  #isTooLarge = false;
  /** The position of the newest item of an index: some servers use one index for several items. */
  readonly #places = new Map<number, number>();
  #next = 0;

  /**
   * @param itemBytes - The limit for an item that is not complete.
   * @param complete - Makes the item as an answer that came whole would have it.
   */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes: number, complete: (open: OpenItem) => JsonObject) {
    this.#onDelta = onDelta;
    this.#itemBytes = itemBytes;
    this.#complete = complete;
  }

  /** Whether an item exceeded its limit before it was complete. */
  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  /** Counts the bytes of an item. It keeps a flag, because checking all items after every event would be quadratic. */
  grow(open: OpenItem, bytes: number): void {
    open.bytes += bytes;
    if (open.bytes > this.#itemBytes) this.#isTooLarge = true;
  }

  /** The complete items, and what `said` keeps of the open ones; null drops an item. */
  partial(said: (item: JsonObject) => JsonObject | null): readonly JsonObject[] {
    const open = [...this.#open].flatMap(([index, { item }]) => {
      const kept = said(item);
      return kept === null ? [] : [[index, kept] as const];
    });
    return inOrder([...this.#done, ...open]);
  }

  begin(index: number, given: JsonObject): OpenItem {
    const item: Record<string, JsonValue> = {};
    for (const [name, value] of Object.entries(given)) if (value !== undefined) setMember(item, name, value);
    const isTaken = this.#places.has(index);
    if (isTaken) this.finish(index);
    const isFree = !isTaken && !this.#done.has(index) && !this.#open.has(index);
    const place = isFree ? index : this.#next;
    this.#next = Math.max(this.#next, place + 1);
    this.#places.set(index, place);
    const open = { item, place, json: "", bytes: 0 };
    this.#open.set(place, open);
    return open;
  }

  /** The item at an index, while it is not complete. */
  at(index: number): OpenItem | undefined {
    return this.#open.get(this.#placeOf(index));
  }

  finish(index: number): void {
    this.#finish(this.#placeOf(index));
  }

  /** Completes and returns all items when the stream ends. */
  finishAll(): readonly JsonObject[] {
    for (const place of [...this.#open.keys()]) this.#finish(place);
    return inOrder([...this.#done]);
  }

  #placeOf(index: number): number {
    return this.#places.get(index) ?? index;
  }

  #finish(place: number): void {
    const open = this.#open.get(place);
    if (open === undefined) return;
    const item = this.#complete(open);
    this.#open.delete(place);
    this.#done.set(place, item);
    this.#onDelta({ type: "item-done", outputIndex: place, item });
  }
}

const inOrder = (items: readonly (readonly [number, JsonObject])[]): readonly JsonObject[] =>
  items.toSorted(([left], [right]) => left - right).map(([, item]) => item);
