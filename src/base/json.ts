import { isChanged, mayBeChanged, NumberLiteral, numberRefusal } from "./number-literal.ts";

/** A JSON value, as `parseJson` returns it. */
export type JsonValue = null | boolean | number | string | NumberLiteral | readonly JsonValue[] | JsonObject;

/** A JSON object. Absent members read as `undefined`, which `JSON.stringify` leaves out again. */
export type JsonObject = { readonly [member: string]: JsonValue | undefined };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof NumberLiteral);
}

/** Like `Array.isArray`, which does not narrow a readonly array out of a union. */
export function isJsonList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The following functions read JSON from another program: a value of another kind reads as absent. */
export const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
export const listOf = (value: unknown): readonly JsonValue[] => (isJsonList(value) ? value : []);
/** The objects of a list, without its other items. */
export const objectsOf = (value: unknown): readonly JsonObject[] => listOf(value).filter(isJsonObject);
export const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
export const textOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "");
export const numberOrZero = (value: unknown): number => (typeof value === "number" ? value : 0);
/** Whether a member is a text that is not empty. */
export const isFilledText = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * The limit of nesting levels in values from callers and servers. Functions that read, compare and write JSON recurse into every
 * level, and the stack is limited; the difference of two such values has twice as many levels.
 */
export const maxNesting = 256;
/** The limit of nesting levels in an event's data: room for such a difference, and for its surroundings. */
export const maxStoredNesting = 1_024;

/** Whether a value has more levels of lists and objects than this; it looks no deeper. */
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

/** The object without members that are undefined. */
export const definedMembers = (object: JsonObject): JsonObject => omitMembers(object, noNames);
const noNames: ReadonlySet<string> = new Set();

/** Sets a member as JSON.parse would: an own `__proto__` stays an ordinary member. */
export function setMember(object: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}

/**
 * Parses a JSON text. Numbers that JavaScript would change become `NumberLiteral`s, so that writing the value gives an equal text.
 *
 * @throws {SyntaxError} if the text is not JSON.
 */
export function parseJson(text: string): JsonValue {
  // JSON.parse returns only JSON values.
  return (mayBeChanged(text) ? parseWith(text, literal) : JSON.parse(text)) as JsonValue;
}

/** The JSON value of a text; undefined if the text is not JSON. */
export function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

// The `context` argument of a reviver is newer than the compiler's library.
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown;

const literal: Reviver = (_, value, { source }) =>
  typeof value === "number" && source !== undefined && isChanged(source, value) ? new NumberLiteral(source) : value;

/** Restores exact numbers in JSON that code has parsed as JavaScript does: rounded numbers become literals of their written form. */
export function withLiterals(value: JsonValue): JsonValue {
  if (typeof value === "number") {
    const isKept = numberRefusal(value) === null || !Number.isFinite(value);
    return isKept ? value : new NumberLiteral(Object.is(value, -0) ? "-0" : String(value));
  }
  if (isJsonList(value)) {
    const items = value.map(withLiterals);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isJsonObject(value)) return value;
  const members: Record<string, JsonValue> = {};
  let isSame = true;
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const kept = withLiterals(member);
    isSame &&= kept === member;
    setMember(members, name, kept);
  }
  return isSame ? value : members;
}

/**
 * The JSON text of a value from any source.
 *
 * @throws {TypeError} if the value has none: a function, a symbol, a BigInt, a cycle; if JSON would change a number or lose an
 *   object's content (a Map, a Response), with its member; and for any error of a `toJSON`.
 */
export function jsonTextOf(value: unknown): string {
  // The declared type says that it always returns a text.
  const write: (value: unknown, replacer: (name: string, member: unknown) => unknown) => string | undefined =
    JSON.stringify;
  const text = write(value, saidWhole);
  if (text === undefined) throw new TypeError(`it has no JSON text (${typeof value})`);
  return text;
}

/**
 * The value as it reads after a round trip through JSON, in a copy without other owners: what a log returns.
 *
 * @throws {TypeError} if the value has no JSON text.
 */
export function jsonCopy(value: unknown): JsonValue {
  return parseJson(jsonTextOf(value));
}

/** The class of a value that JSON would write as `{}` although it has content: a Map, a Response, an Error. */
function silentClassOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || Object.keys(value).length > 0) return null;
  const made: unknown = value.constructor;
  return `${typeof made === "function" ? `of the class ${made.name}` : "an object"}, which JSON cannot represent: give its contents`;
}

function saidWhole(name: string, member: unknown): unknown {
  const refusal = typeof member === "number" && !Object.is(member, -0) ? numberRefusal(member) : silentClassOf(member);
  if (refusal !== null) throw new TypeError(`${name === "" ? "it" : name} is ${refusal}`);
  return member;
}
