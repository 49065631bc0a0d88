import { isJsonList, isJsonObject, type JsonObject, type JsonValue, listOf, objectOf, setMember } from "./json.ts";
import { NumberLiteral } from "./number-literal.ts";

/**
 * The change from `from` to `to`, as JSON; undefined if they are equal. For an object: members to `set`, to `drop`, and to change
 * `in` place; for a list of the same length, the places to change; for anything else `{ to }`. Equal means equal as JSON, except
 * for the order of members.
 */
export function jsonDifference(from: JsonValue, to: JsonValue): JsonValue | undefined {
  if (isJsonObject(from) && isJsonObject(to)) return objectDifference(from, to);
  if (isJsonList(from) && isJsonList(to) && from.length === to.length) return listDifference(from, to);
  return isSame(from, to) ? undefined : { to };
}

const isSame = (from: JsonValue, to: JsonValue): boolean =>
  from === to || (from instanceof NumberLiteral && to instanceof NumberLiteral && from.text === to.text);

/** Undoes `jsonDifference`: `applyDifference(from, jsonDifference(from, to))` equals `to`. */
export function applyDifference(from: JsonValue, difference: JsonValue | undefined): JsonValue {
  if (!isJsonObject(difference)) return from;
  if (difference["to"] !== undefined) return difference["to"];
  if (isJsonList(from)) {
    const places = objectOf(difference["at"]);
    return from.map((value, index) => applyDifference(value, places[String(index)]));
  }
  if (!isJsonObject(from)) return from;
  const dropped = new Set(listOf(difference["drop"]));
  const inside = objectOf(difference["in"]);
  const changed: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && !dropped.has(name)) setMember(changed, name, applyDifference(value, own(inside, name)));
  }
  for (const [name, value] of Object.entries(objectOf(difference["set"]))) {
    if (value !== undefined) setMember(changed, name, value);
  }
  return changed;
}

function objectDifference(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const set: Record<string, JsonValue> = {};
  const inside: Record<string, JsonValue> = {};
  const drop = Object.keys(from).filter((name) => own(from, name) !== undefined && own(to, name) === undefined);
  for (const [name, value] of Object.entries(to)) {
    if (value === undefined) continue;
    const before = own(from, name);
    if (before === undefined) {
      setMember(set, name, value);
      continue;
    }
    const change = jsonDifference(before, value);
    if (change !== undefined) setMember(inside, name, change);
  }
  const difference: Record<string, JsonValue> = {};
  if (Object.keys(set).length > 0) difference["set"] = set;
  if (drop.length > 0) difference["drop"] = drop;
  if (Object.keys(inside).length > 0) difference["in"] = inside;
  return Object.keys(difference).length > 0 ? difference : undefined;
}

function listDifference(from: readonly JsonValue[], to: readonly JsonValue[]): JsonObject | undefined {
  const at: Record<string, JsonValue> = {};
  for (const [index, value] of to.entries()) {
    const before = from[index];
    const change = before === undefined ? { to: value } : jsonDifference(before, value);
    if (change !== undefined) at[String(index)] = change;
  }
  return Object.keys(at).length > 0 ? { at } : undefined;
}

const own = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
