import { isJsonList, isJsonObject, type JsonValue, maxNesting, setMember } from "./json.ts";
import { NumberLiteral, numberRefusal } from "./number-literal.ts";

/** Deep-freezes JSON that has no other owner. Takes frozen JSON to be frozen at every level. */
export function freezeJson(json: JsonValue): void {
  if (typeof json !== "object" || json === null || Object.isFrozen(json)) return;
  // Runs for every block that is returned, so it builds no lists. Values from JSON.parse inherit no members.
  if (isJsonList(json)) for (const item of json) freezeJson(item);
  else if (isJsonObject(json)) for (const name in json) freezeJson(json[name] ?? null);
  Object.freeze(json);
}

/**
 * Immutable JSON: a deeply frozen value as it is, otherwise a copy without the members that are undefined.
 *
 * @throws {TypeError} if the value is not JSON, with its place: a function, a date, a number that JSON would not keep (NaN, -0, an
 *   integer beyond 2^53), a gap in a list; or if it has more levels of lists and objects than `levels`, by default 256.
 */
export function frozenJson<Json extends JsonValue>(value: Json, place: string, levels = maxNesting): Json {
  // A value from JavaScript may be anything; the copy is JSON of the same shape.
  return copyOf(value, place, { place, levels }) as Json;
}

/** @throws {TypeError} if the value is not JSON, with its place, so that the record equals what the caller meant. */
export function checkJson(place: string, value: unknown): void {
  copyOf(value, place, { place, levels: maxNesting });
}

type Root = { readonly place: string; readonly levels: number };

/** A member of objects that have their own JSON form: frozen, they are kept as they are. */
export const jsonOpaque: unique symbol = Symbol("standIn");

function copyOf(value: unknown, place: string, { place: whole, levels }: Root): JsonValue {
  if (isFrozenJson(value, levels)) return value;
  if (levels === 0 && typeof value === "object") {
    throw new TypeError(`${whole} is not JSON: it is nested too deeply or contains itself`);
  }
  const inner = { place: whole, levels: levels - 1 };
  if (Array.isArray(value)) {
    return Object.freeze(Array.from(value, (item: unknown, index) => copyOf(item, `${place}[${index}]`, inner)));
  }
  if (!isPlainObject(value)) throw new TypeError(`${place} is not JSON: ${nameOf(value)}`);
  const copy: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) setMember(copy, name, copyOf(member, `${place}.${name}`, inner));
  }
  return Object.freeze(copy);
}

function isFrozenJson(value: unknown, levels: number): value is JsonValue {
  if (value instanceof NumberLiteral) return true;
  if (typeof value === "number") return numberRefusal(value) === null;
  if (typeof value === "object" && value !== null) {
    const isJson = Array.isArray(value) || isPlainObject(value) || jsonOpaque in value;
    if (!isJson || levels === 0 || !Object.isFrozen(value)) return false;
    return Object.values(value).every((member) => isFrozenJson(member, levels - 1));
  }
  return typeof value === "string" || typeof value === "boolean" || value === null;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

const nameOf = (value: unknown): string =>
  typeof value === "object"
    ? `an object of a class`
    : typeof value === "number"
      ? (numberRefusal(value) ?? "a number")
      : typeof value;
