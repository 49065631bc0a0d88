import { sealedItemId } from "./ciphertext.ts";
import { type JsonObject, objectsOf, stringOf, typeOf } from "./wire.ts";

/** Whether a server that compacts does so within the response to a request with a context of so many tokens. */
export function isCompactedNow(body: JsonObject, tokens: number): boolean {
  const asked = objectsOf(body["context_management"]).find(({ type }) => type === "compaction");
  const threshold = asked?.["compact_threshold"];
  return typeof threshold === "number" && tokens > threshold;
}

/** The newest compaction item, and what comes behind it; all items where there is none. */
export function sinceCompaction(items: readonly JsonObject[]): readonly JsonObject[] {
  const at = newestOf(items);
  return at <= 0 ? items : items.slice(at);
}

/** The items with what the newest compaction item stands for in its place, and in that of all before it. */
export function uncompacted(
  items: readonly JsonObject[],
  compacted: ReadonlyMap<string, readonly JsonObject[]>,
): readonly JsonObject[] {
  const at = newestOf(items);
  const { id, encrypted_content: sealed } = items[at] ?? {};
  // An object gives an item that came without its id another one.
  const before = compacted.get(sealedItemId(stringOf(sealed) ?? "") ?? stringOf(id) ?? "");
  return before === undefined ? items : [...before, ...items.slice(at + 1)];
}

const newestOf = (items: readonly JsonObject[]): number => items.findLastIndex((item) => typeOf(item) === "compaction");
