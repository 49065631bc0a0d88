/** JSON on the wire. The reference server has its own types for it, because it shares no code with what it judges. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** One object of the wire: an item, a part, a body. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Parses bodies and frames: throws a SyntaxError like `JSON.parse`, but returns a type instead of `any`. */
export function parseJson(text: string): Json {
  const value: unknown = JSON.parse(text);
  if (!isJson(value)) throw new SyntaxError("not JSON");
  return value;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !isArray(value);
}

export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The objects of a list; other values in it are omitted. */
export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return isArray(value) ? value.filter(isObject) : [];
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value at a path of member names, as in `reasoning.effort`; null if it is absent. */
export function valueAt(body: JsonObject, path: string): Json {
  const value = path.split(".").reduce<Json | undefined>((at, name) => (isObject(at) ? at[name] : undefined), body);
  return value ?? null;
}

/** `message` may be omitted if there is a role (easy input messages). */
export function typeOf(item: JsonObject): string {
  return stringOf(item["type"]) ?? ("role" in item ? "message" : "id" in item ? "item_reference" : "");
}

/** The same text for the same value, whatever the order of its keys: for hashes of values whose key order is meaningless. */
export function sortedText(value: Json): string {
  if (isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sortedText(member)}`).join(",")}}`;
}

// JSON.parse returns only JSON, so no check is needed.
function isJson(value: unknown): value is Json {
  return value !== undefined;
}
