import { type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/stack/provider.ts";

/** An item that comes in pieces: its members so far, the text of the JSON in it, and the bytes that have come. */
export type OpenItem = {
  readonly item: Record<string, JsonValue>;
  /** Where it stands among the items of the answer. */
  readonly place: number;
  json: string;
  bytes: number;
};

/** What a stream has told of an answer's items, each by its place: those that are complete, and those that are not. */
export class StreamedItems {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #itemBytes: number;
  readonly #complete: (open: OpenItem) => JsonObject;
  readonly #done = new Map<number, JsonObject>();
  readonly #open = new Map<number, OpenItem>();
  #isTooLarge = false;
  /** Where the newest item of an index stands: some servers say one index of several items. */
  readonly #places = new Map<number, number>();
  #next = 0;

  /**
   * @param itemBytes - The most that an item may have that is not complete.
   * @param complete - An item as an answer that came whole would have it.
   */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes: number, complete: (open: OpenItem) => JsonObject) {
    this.#onDelta = onDelta;
    this.#itemBytes = itemBytes;
    this.#complete = complete;
  }

  /** Whether an item that was not complete had more bytes than it may. */
  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  /** More of an item has come. It is asked after every event, so that looking at all items then would be quadratic. */
  grow(open: OpenItem, bytes: number): void {
    open.bytes += bytes;
    if (open.bytes > this.#itemBytes) this.#isTooLarge = true;
  }

  /** The items that are complete, and what was said so far in those that are not; null: nothing that is worth keeping. */
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

  /** The item of a place, while it is not complete. */
  at(index: number): OpenItem | undefined {
    return this.#open.get(this.#placeOf(index));
  }

  finish(index: number): void {
    this.#finish(this.#placeOf(index));
  }

  /** All items, when nothing more comes. */
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
