import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";

/** How the texts of an object that comes in pieces continue, by the names of their members. */
export type Pieces = {
  /** Whether a new text is appended to the one before; otherwise it replaces that. */
  readonly isPiece: (name: string) => boolean;
  /** The same for nested objects; like the outer object by default. */
  readonly within?: Pieces;
};

/**
 * An object that a stream sends in pieces: lists gain items, objects gain members, and texts grow as `Pieces` says. Any other new value
 * replaces the old one, but null and an empty text replace nothing.
 */
export class GrownObject {
  readonly #members = new Map<string, Grown>();
  readonly #pieces: Pieces;

  constructor(pieces: Pieces) {
    this.#pieces = pieces;
  }

  get size(): number {
    return this.#members.size;
  }

  take(members: JsonObject): void {
    for (const [name, value] of Object.entries(members))
      if (value !== undefined && value !== null) this.#grow(name, value);
  }

  /** The current value of a member. */
  member(name: string): JsonValue | undefined {
    const grown = this.#members.get(name);
    return grown === undefined ? undefined : jsonOf(grown);
  }

  /** Replaces the value of a member. */
  set(name: string, value: JsonValue): void {
    this.#members.set(name, value);
  }

  toObject(): Record<string, JsonValue> {
    const object: Record<string, JsonValue> = {};
    for (const [name, grown] of this.#members) setMember(object, name, jsonOf(grown));
    return object;
  }

  #grow(name: string, value: JsonValue): void {
    const before = this.#members.get(name);
    if (isJsonList(value)) {
      const list = before instanceof GrownList ? before : new GrownList(before);
      for (const item of value) list.items.push(item);
      this.#members.set(name, list);
    } else if (isJsonObject(value)) {
      const { within = this.#pieces } = this.#pieces;
      const object = before instanceof GrownObject ? before : new GrownObject(within);
      object.take(value);
      this.#members.set(name, object);
    } else if (typeof value === "string" && typeof before === "string" && this.#pieces.isPiece(name)) {
      this.#members.set(name, before + value);
    } else if (value !== "" || before === undefined) {
      this.#members.set(name, value);
    }
  }
}

/** The value with one more piece added: a list gains items, an object gains members; any other value is replaced. */
export function grownValue(before: JsonValue | undefined, value: JsonValue): JsonValue {
  const isSame = (isJsonList(before) && isJsonList(value)) || (isJsonObject(before) && isJsonObject(value));
  if (before === undefined || !isSame) return value;
  const both = new GrownObject({ isPiece: () => false });
  for (const each of [before, value]) both.take({ both: each });
  return both.member("both") ?? value;
}

type Grown = JsonValue | GrownObject | GrownList;

class GrownList {
  readonly items: JsonValue[];

  /** A list that continues the one that was in its place. */
  constructor(before: Grown | undefined) {
    this.items = before === undefined || before instanceof GrownObject || !isJsonList(before) ? [] : [...before];
  }
}

function jsonOf(grown: Grown): JsonValue {
  if (grown instanceof GrownList) return [...grown.items];
  return grown instanceof GrownObject ? grown.toObject() : grown;
}
