import {
  isJsonList,
  isJsonObject,
  type JsonValue,
  objectOf,
  parseJson,
  setMember,
  textOrNull,
} from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { ErasedValue, erasedMembers } from "../../domain/events/erased-content.ts";
import { type EventPlace, placesOf } from "../../domain/events/places.ts";
import type { Envelope } from "../ports/event-store.ts";
import { StoreCorruptedError } from "../ports/store-errors.ts";
import { contentOfLine, erasedLine, isErasedLine, randomSalt } from "./lines.ts";

/** A content line of an event, and what it holds. */
export type ContentLine = {
  /** From 1, as the facts name it. */
  readonly line: number;
  /** `block`: the content of one block. `proof`: the digest of a request. `actor`: the name of a person. `rest`: everything else. */
  readonly holds: "block" | "proof" | "actor" | "rest";
  /** The block whose content it is, with the name under which this version is recorded. */
  readonly block: { readonly id: string; readonly name: string } | null;
  readonly isErased: boolean;
  /** Its values as JSON text, separated by tabs; empty if it is erased. */
  readonly content: string;
};

/** The content lines of an event; empty if it is not written as lines, or its facts are damaged. */
export function contentLines({ type, version, encoding, data, actor }: Envelope): readonly ContentLine[] {
  if (encoding !== "lines") return [];
  const [facts = "", ...lines] = data.split("\n");
  const owners = new Map<number, Pick<ContentLine, "holds" | "block">>();
  const { tree, places } = readFacts(facts);
  // No fact refers to the line with the name.
  if ("alias" in actor) owners.set(lines.length, { holds: "actor", block: null });
  if (tree !== null) own(tree, placesOf(type, version), { owners, places, owner: { holds: "rest", block: null } });
  return lines.map((line, index) => ({
    line: index + 1,
    ...(owners.get(index + 1) ?? ({ holds: "rest", block: null } as const)),
    isErased: isErasedLine(line),
    content: isErasedLine(line) ? "" : contentOfLine(line),
  }));
}

type Owning = {
  readonly owners: Map<number, Pick<ContentLine, "holds" | "block">>;
  /** The line of each place, by the place's number. */
  readonly places: readonly number[];
  readonly owner: Pick<ContentLine, "holds" | "block">;
};

function own(value: JsonValue, place: EventPlace | null, owning: Owning): void {
  if (typeof value === "string") {
    const at = placeIn(value);
    if (at !== null) claim(at, place?.isProof === true ? { holds: "proof", block: null } : owning.owner, owning);
  } else if (isJsonList(value)) {
    for (const item of value) own(item, place?.items ?? null, owning);
  } else if (isJsonObject(value)) {
    const inside = place?.isLine === true ? { ...owning, owner: ownerOf(value) } : owning;
    for (const [name, member] of Object.entries(value)) {
      const at = placeIn(name);
      if (at !== null) claim(at, inside.owner, inside);
      else if (member !== undefined) own(member, place?.members.get(name) ?? null, inside);
    }
  }
}

const ownerOf = ({ id, digest }: { readonly [member: string]: JsonValue | undefined }): Owning["owner"] => ({
  holds: "block",
  block: { id: textOrNull(id) ?? "", name: textOrNull(digest) ?? "" },
});

function claim(at: number, owner: Owning["owner"], { owners, places }: Owning): void {
  const line = places[at];
  if (line !== undefined && !owners.has(line)) owners.set(line, owner);
}

/** Stands for a value of a line: a text or a name that no fact is, because facts with this character are content. */
const mark = "\u0001";

/** The number of the place that a text or a name stands for; null if it stands for none. */
const placeIn = (text: string): number | null => (text.startsWith(mark) ? Number(text.slice(1)) : null);

type Facts = {
  /** With a marked text for each value of a line, and a marked name for several members; null if the facts are damaged. */
  readonly tree: JsonValue | null;
  /** The line of each place, in the order of the text. */
  readonly places: readonly number[];
};

function readFacts(facts: string): Facts {
  const [first = "", ...pieces] = facts.split("\t");
  const places: number[] = [];
  const inside = createNesting();
  let json = first;
  inside.read(first);
  for (const piece of pieces) {
    const digits = /^\d*/.exec(piece)?.[0] ?? "";
    const token = `"\\u0001${places.length}"`;
    places.push(Number(digits));
    const rest = piece.slice(digits.length);
    json += `${inside.isBeforeMember ? `${token}:0` : token}${rest}`;
    inside.read(`0${rest}`);
  }
  try {
    return { tree: parseJson(json), places };
  } catch {
    return { tree: null, places };
  }
}

/** Follows JSON text, to know whether a member's name comes next. */
function createNesting() {
  const open: string[] = [];
  let last = "";
  let isText = false;
  return {
    read(text: string): void {
      for (let index = 0; index < text.length; index += 1) {
        const sign = text[index] ?? "";
        if (isText) {
          if (sign === "\\") index += 1;
          else if (sign === '"') isText = false;
        } else if (sign === '"') isText = true;
        else if (sign === "{" || sign === "[") open.push(sign);
        else if (sign === "}" || sign === "]") open.pop();
        last = sign;
      }
    },
    get isBeforeMember(): boolean {
      return open.at(-1) === "{" && (last === "{" || last === ",");
    },
  };
}

/**
 * An event's data from its lines, with an `ErasedValue` for each value of an erased line.
 *
 * @throws {StoreCorruptedError} if they are not the parts of a JSON text.
 */
export function joinAround(text: string): JsonValue {
  const [facts = "", ...lines] = text.split("\n");
  const { tree, places } = readFacts(facts);
  if (tree === null || places.some((line) => lines[line - 1] === undefined))
    throw new StoreCorruptedError("its lines are not the parts of a JSON text");
  const values = lines.map((line) => (isErasedLine(line) ? null : contentOfLine(line).split("\t")));
  // A line gives its values in the order of the facts' text.
  const given = places.map((line) => values[line - 1]?.shift() ?? null);
  return put(tree, given);
}

function put(value: JsonValue, given: readonly (string | null)[]): JsonValue {
  if (typeof value === "string") {
    const at = placeIn(value);
    return at === null ? value : parsedValue(given[at] ?? null);
  }
  if (typeof value !== "object" || value === null || value instanceof NumberLiteral) return value;
  if (isJsonList(value)) return value.map((item) => put(item, given));
  const whole: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    const at = placeIn(name);
    const members = at === null ? null : (given[at] ?? null);
    if (at !== null && members === null) setMember(whole, erasedMembers, ErasedValue.one);
    else if (members !== null)
      for (const [inner, each] of Object.entries(objectOf(parseJson(`{${members}}`))))
        setMember(whole, inner, each ?? null);
    else if (member !== undefined) setMember(whole, name, put(member, given));
  }
  return whole;
}

/** Data with `ErasedValue`s as lines, one of which, erased, is all that was. `joinAround` reads them again. */
export function linesAround(data: JsonValue): string {
  const json = JSON.stringify(data, (_, value: unknown) => (value instanceof ErasedValue ? `${mark}1` : value));
  const facts = json.replaceAll(erasedMember, "\t1").replaceAll(erasedItem, "\t1");
  return `${facts}\n${erasedLine(randomSalt())}`;
}

const erasedItem = JSON.stringify(`${mark}1`);
const erasedMember = `${JSON.stringify(erasedMembers)}:${erasedItem}`;

const parsedValue = (json: string | null): JsonValue => (json === null ? ErasedValue.one : parseJson(json));
