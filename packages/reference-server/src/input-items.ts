import { createHash } from "node:crypto";
import { asJson, type Outgoing, refused } from "./delivery.ts";
import type { HeldResponse, Memory } from "./memory.ts";
import { type Refusal, refusal } from "./refusals.ts";
import { type JsonObject, stringOf, typeOf } from "./wire.ts";

/** What a response continues from, as listings show it (`listsAncestors`). */
export function earlierItems({ head }: HeldResponse, { responses }: Pick<Memory, "responses">): readonly JsonObject[] {
  const pieces: (readonly JsonObject[])[] = [];
  for (let held = responses.get(head.previousResponseId ?? ""); held !== undefined; ) {
    pieces.unshift(ownItems(held), held.output);
    held = responses.get(held.head.previousResponseId ?? "");
  }
  return pieces.flat();
}

/**
 * The items of a response's own input.
 *
 * It is not known whether the real listing of a chained response includes its ancestors' items; here it does not.
 */
export const ownItems = ({ head, input }: HeldResponse): readonly JsonObject[] =>
  input.map((item, index) => itemAsListed(item, `${head.id}:${index}`));

/** One page of a list of items. */
export function pageOf(items: readonly JsonObject[], query: URLSearchParams): Outgoing {
  const limit = Number(query.get("limit") ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) return refused(badLimit(limit));
  const ordered = query.get("order") === "asc" ? items : items.toReversed();
  const placeOf = (name: string): number => ordered.findIndex((item) => item["id"] === query.get(name));
  const after = query.has("after") ? placeOf("after") + 1 : 0;
  const before = query.has("before") ? placeOf("before") : ordered.length;
  const wanted = ordered.slice(after, before < 0 ? ordered.length : before);
  const data = wanted.slice(0, limit);
  const [first, last] = [data[0]?.["id"] ?? null, data.at(-1)?.["id"] ?? null];
  return asJson(200, { object: "list", data, first_id: first, has_more: wanted.length > limit, last_id: last });
}

/** A listed item has an id and a type; a message also has parts and a status, even if the request omitted them. */
export function itemAsListed(item: JsonObject, seed: string): JsonObject {
  const type = typeOf(item);
  const prefix = type === "message" ? "msg" : type.replaceAll(/[aeiou_]/g, "").slice(0, 4);
  const id = stringOf(item["id"]) ?? `${prefix}_${createHash("sha256").update(seed).digest("hex").slice(0, 32)}`;
  if (type !== "message") return { ...item, id };
  const textType = item["role"] === "assistant" ? "output_text" : "input_text";
  const { content = [] } = item;
  const parts = typeof content === "string" ? [{ type: textType, text: content }] : content;
  return { status: "completed", ...item, id, type, content: parts };
}

function badLimit(limit: number): Refusal {
  const message = `Invalid 'limit': expected an integer between 1 and 100, but got ${limit} instead.`;
  return refusal(message, { code: "invalid_value", param: "limit" });
}
