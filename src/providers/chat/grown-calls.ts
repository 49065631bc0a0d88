import { isFilledText, isJsonObject, type JsonObject, type JsonValue, jsonOf } from "../../base/json.ts";
import { GrownObject, type Pieces } from "../answers/grown-object.ts";

/** A call as assembled so far. */
export type GrownCall = { readonly call: GrownObject; readonly place: number };

/** A repeated id, name or type is complete; arguments and input come in pieces. */
const pieces: Pieces = { isPiece: (name) => name === "arguments" || name === "input" };

/**
 * The calls of a streamed message. A piece names its call by `index`, by id, or not at all. A new id at a known index is a new call,
 * because some servers send `index: 0` for all of them. A piece without an id belongs to the last call of its index; without either, to the
 * last call.
 */
export class GrownCalls {
  readonly #calls: GrownCall[] = [];
  readonly #lastByIndex = new Map<number, GrownCall>();

  /** The calls in order. */
  toList(): readonly JsonObject[] {
    return this.#calls.toSorted((left, right) => left.place - right.place).map(({ call }) => call.toObject());
  }

  /** Takes a piece; returns the call that it belongs to. */
  take({ index: given, ...piece }: JsonObject): GrownCall {
    const index = indexOf(given);
    const known = index === null ? this.#calls.at(-1) : this.#lastByIndex.get(index);
    const call =
      this.#knownById(piece, index) ?? (known !== undefined && goesOn(known.call, piece) ? known : this.#begin(index));
    if (index !== null) this.#lastByIndex.set(index, call);
    call.call.take(piece);
    return call;
  }

  /** Servers that omit the index may send the id with every piece. */
  #knownById({ id }: JsonObject, index: number | null): GrownCall | undefined {
    if (index !== null || !isFilledText(id)) return undefined;
    return this.#calls.find(({ call }) => call.member("id") === id);
  }

  #begin(index: number | null): GrownCall {
    const isFree = index !== null && this.#calls.every(({ place }) => place !== index);
    const next = this.#calls.reduce((most, { place }) => Math.max(most, place + 1), 0);
    const call = { call: new GrownObject(pieces), place: isFree ? index : next };
    this.#calls.push(call);
    return call;
  }
}

/** Whether a piece continues a call. Without an id, a piece that names a function begins a new call if the previous one is complete. */
function goesOn(call: GrownObject, { id, function: called, custom }: JsonObject): boolean {
  const before = call.member("id");
  if (isFilledText(id)) return !isFilledText(before) || before === id;
  const name = nameIn(called ?? custom);
  const own = calledIn(call);
  if (!isFilledText(name) || nameIn(own) === undefined) return true;
  return nameIn(own) === name && !isWhole(own);
}

const calledIn = (call: GrownObject): JsonValue | undefined => call.member("function") ?? call.member("custom");

/** The name of the tool that is called, once it is known. */
export const nameOf = ({ call }: GrownCall): JsonValue | undefined => nameIn(calledIn(call));

const nameIn = (called: JsonValue | undefined): JsonValue | undefined =>
  isJsonObject(called) ? called["name"] : undefined;

function isWhole(called: JsonValue | undefined): boolean {
  const given = isJsonObject(called) ? called["arguments"] : undefined;
  return isJsonObject(given) || (typeof given === "string" && isJsonObject(jsonOf(given)));
}

/** Some servers send numbers as texts. */
function indexOf(given: JsonValue | undefined): number | null {
  const index = isFilledText(given) ? Number(given) : given;
  return typeof index === "number" && Number.isSafeInteger(index) && index >= 0 ? index : null;
}
