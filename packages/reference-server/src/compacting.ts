import { sealedItemId } from "./ciphertext.ts";
import { type JsonObject, objectsOf, stringOf, typeOf } from "./wire.ts";

/** Whether the server compacts within the response to a request whose context has this many tokens. */
export function isCompactedNow(body: JsonObject, tokens: number): boolean {
  const asked = objectsOf(body["context_management"]).find(({ type }) => type === "compaction");
  const threshold = asked?.["compact_threshold"];
  return typeof threshold === "number" && tokens > threshold;
}

/** The newest compaction item and the items after it; all items if there is none. */
export function sinceCompaction(items: readonly JsonObject[]): readonly JsonObject[] {
  const at = newestOf(items);
  return at <= 0 ? items : items.slice(at);
}

/** The items with the newest compaction item, and all items before it, replaced by what it compacts. */
export function uncompacted(
  items: readonly JsonObject[],
  compacted: ReadonlyMap<string, readonly JsonObject[]>,
): readonly JsonObject[] {
  const at = newestOf(items);
  const { id, encrypted_content: sealed } = items[at] ?? {};
  // A conversation object gives a new id to an item that came without one.
  const before = compacted.get(sealedItemId(stringOf(sealed) ?? "") ?? stringOf(id) ?? "");
  return before === undefined ? items : [...before, ...items.slice(at + 1)];
}

const newestOf = (items: readonly JsonObject[]): number => items.findLastIndex((item) => typeOf(item) === "compaction");
