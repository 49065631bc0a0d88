import { isJsonList, isJsonObject, type JsonValue, maxNesting, setMember } from "./json.ts";
import { NumberLiteral, numberRefusal } from "./number-literal.ts";

/** Freezes JSON that nobody else holds, through and through. Frozen JSON is taken to be so all through. */
export function freezeJson(json: JsonValue): void {
  if (typeof json !== "object" || json === null || Object.isFrozen(json)) return;
  // Runs for every block that is handed out, so it lists nothing. What JSON.parse gives inherits no members.
  if (isJsonList(json)) for (const item of json) freezeJson(item);
  else if (isJsonObject(json)) for (const name in json) freezeJson(json[name] ?? null);
  Object.freeze(json);
}

/**
 * JSON that nobody can change any more: what is frozen through and through as it stands, of anything else a copy without
 * the members that are undefined.
 *
 * @throws {TypeError} for what is no JSON, with its place: a function, a date, a number that JSON would not keep (NaN, -0, an
 * integer beyond 2^53), a gap in a list; and for what has more levels of lists and objects, 256 of them by default.
 */
export function frozenJson<Json extends JsonValue>(value: Json, place: string, levels = maxNesting): Json {
  // What comes from JavaScript may be anything; what is given back is JSON of the same shape.
  return copyOf(value, place, { place, levels }) as Json;
}

/** @throws {TypeError} for what is no JSON, with its place: what is recorded has to be what was meant. */
export function checkJson(place: string, value: unknown): void {
  copyOf(value, place, { place, levels: maxNesting });
}

type Root = { readonly place: string; readonly levels: number };

/** A member of objects that stand for something in JSON: frozen, they are taken as they are. */
export const jsonOpaque: unique symbol = Symbol("standIn");

function copyOf(value: unknown, place: string, { place: whole, levels }: Root): JsonValue {
  if (isFrozenJson(value, levels)) return value;
  if (levels === 0 && typeof value === "object") {
    throw new TypeError(`${whole} is no JSON: it is nested too deeply, or in a circle`);
  }
  const inner = { place: whole, levels: levels - 1 };
  if (Array.isArray(value)) {
    return Object.freeze(Array.from(value, (item: unknown, index) => copyOf(item, `${place}[${index}]`, inner)));
  }
  if (!isPlainObject(value)) throw new TypeError(`${place} is no JSON: ${nameOf(value)}`);
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
