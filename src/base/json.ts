/** A JSON value, as `JSON.parse` gives it. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. Absent members read as `undefined`, which `JSON.stringify` leaves out again. */
export type JsonObject = { readonly [member: string]: JsonValue | undefined };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As `Array.isArray`, which does not narrow a readonly array out of a union. */
export function isJsonList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/**
 * So many levels of lists and objects are taken from callers and servers. Whatever reads, compares and writes JSON goes into it
 * level by level, and a stack has an end; a difference of two such values has twice as many levels.
 */
export const nestingMax = 256;
/** So many levels an event's data may have: room for such a difference, and what stands around it. */
export const storedNestingMax = 1_024;

/** Whether a value has more levels of lists and objects than that; it looks no deeper. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (isJsonList(value)) return levels === 0 || value.some((item) => isNestedDeeper(item, levels - 1));
  if (!isJsonObject(value)) return false;
  if (levels === 0) return true;
  for (const name in value) if (isNestedDeeper(value[name], levels - 1)) return true;
  return false;
}

/** The object without the named members, in its own key order. */
export function omitMembers(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  const rest: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(object)) {
    if (!names.has(name) && value !== undefined) setMember(rest, name, value);
  }
  return rest;
}

/** Sets a member as JSON.parse would: an own `__proto__` stays an ordinary member. */
export function setMember(object: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}

/**
 * The JSON text of a value that anybody may have made.
 *
 * @throws {TypeError} for what has none: a function, a symbol, a BigInt, a circle; and what a `toJSON` throws.
 */
export function jsonTextOf(value: unknown): string {
  // Its type says that it always gives a text.
  const write: (value: unknown) => string | undefined = JSON.stringify;
  const text = write(value);
  if (text === undefined) throw new TypeError(`it has no JSON text (${typeof value})`);
  return text;
}

/**
 * The value as its JSON text gives it again: what a log will tell of it, and shared with nobody.
 *
 * @throws {TypeError} for what has no JSON text.
 */
export function jsonCopy(value: unknown): JsonValue {
  // JSON.parse makes nothing but JSON values.
  return JSON.parse(jsonTextOf(value)) as JsonValue;
}
