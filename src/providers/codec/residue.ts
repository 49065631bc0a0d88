import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Draft } from "../../engine/ports/codec.ts";

/** Keeps in the draft what is needed to restore `item` exactly: the difference to `plain`, the item that the draft alone makes. */
export function keepResidue(draft: Draft, plain: JsonObject, item: JsonObject): Draft {
  const residue = jsonDifference(plain, item);
  return residue === undefined ? draft : { ...draft, wire: { ...draft.wire, residue } };
}

/**
 * Restores the item that `keepResidue` got: equal as JSON, order of members aside.
 *
 * @throws {Error} if the residue does not restore an object, because another codec made it.
 */
export function applyResidue({ wire }: Draft, plain: JsonObject): JsonObject {
  const item = applyDifference(plain, wire?.residue);
  if (!isJsonObject(item)) throw new Error("the residue of a block does not reproduce an item");
  return item;
}
