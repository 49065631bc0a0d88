import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Draft } from "../../engine/stack/codec.ts";

/**
 * A draft that gives back the item it was made of, whatever was in it: what `plain`, the item that the draft alone stands for,
 * lacks of `item` is kept beside the payload.
 */
export function keepResidue(draft: Draft, plain: JsonObject, item: JsonObject): Draft {
  const residue = jsonDifference(plain, item);
  return residue === undefined ? draft : { ...draft, wire: { ...draft.wire, residue } };
}

/**
 * The item that a draft was made of by `keepResidue`: equal as JSON, order of members aside.
 *
 * @throws {Error} for a residue that rebuilds no object: another codec made it.
 */
export function applyResidue({ wire }: Draft, plain: JsonObject): JsonObject {
  const item = applyDifference(plain, wire?.residue);
  if (!isJsonObject(item)) throw new Error("the residue of a block does not rebuild an item");
  return item;
}
