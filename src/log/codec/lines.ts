import { isJsonList, isJsonObject, type JsonObject, type JsonValue, parseJson, setMember } from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { type Sha256, sha256Hex } from "../../base/sha256.ts";
import { type EventPlace, placesOf } from "../../domain/events/places.ts";
import { StoreCorruptedError } from "../ports/event-store.ts";
import { BlobReference, SecretReference } from "./references.ts";

/**
 * An event's data as lines (decision 0107). The first line has the facts, the others the content: each block's is a line of its own. A
 * content line is a list of values, and `{"$line": [line, index]}` in the facts is the place of one; members whose names are content
 * as well are one value, put in place of `$line`, `$line1` … of their object.
 *
 * Every content line begins with 128 random bits, so that its commitment, the sha256 of the whole line, gives nothing away. An erased
 * line is `~` and its commitment. The data's digest covers the facts and the commitments, so it stays when a line is erased.
 */
export function linesOf(
  data: JsonObject,
  { type, version }: { readonly type: string; readonly version: number },
  newSalt: () => string,
): string {
  const contents: JsonValue[][] = [];
  const facts = split(data, placesOf(type, version) ?? unknown, { contents, rest: newLine(), proof: newLine() });
  let text = JSON.stringify(facts);
  for (const values of contents) text += `\n${newSalt()}${JSON.stringify(values)}`;
  return text;
}

/** Nothing of an event of another version is known to be a fact, but its data is an object. */
const unknown: EventPlace = {
  ...{ isNamed: false, isKept: false, isFact: false, isWhole: false, isProof: false, isLine: false },
  ...{ members: new Map<string, EventPlace>(), items: null },
};

/** The place of everything in a fact that is known only as a whole. */
const whole: EventPlace = { ...unknown, isFact: true, isWhole: true };

type ContentLine = { index: number };
const newLine = (): ContentLine => ({ index: -1 });

type Splitting = {
  readonly contents: JsonValue[][];
  /** The line of what belongs to no other. */
  readonly rest: ContentLine;
  readonly proof: ContentLine;
};

function split(value: JsonValue, place: EventPlace, splitting: Splitting): JsonValue {
  if (typeof value !== "object" || value === null || value instanceof NumberLiteral) {
    if (place.isProof) return hidden(value, splitting.proof, splitting);
    // Where a list or an object may be, null says that there is none.
    const isFact = place.isFact || (value === null && (place.items !== null || place.members.size > 0));
    return isFact ? value : hidden(value, splitting.rest, splitting);
  }
  if (place.isWhole && !hasLineNames(value)) return value;
  const inside = place.isLine ? { contents: splitting.contents, proof: splitting.proof, rest: newLine() } : splitting;
  return isJsonList(value) ? splitList(value, place, inside) : splitObject(value, place, inside);
}

/** Whether a name in it could be taken for a reference to a line. */
function hasLineNames(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (isJsonList(value)) return value.some(hasLineNames);
  if (value instanceof NumberLiteral) return false;
  for (const name in value) if (isLineName(name) || hasLineNames(value[name] ?? null)) return true;
  return false;
}

const isLineName = (name: string): boolean => name.charCodeAt(0) === dollar && name.startsWith("$line");
const dollar = "$".charCodeAt(0);

function splitList(list: readonly JsonValue[], place: EventPlace, splitting: Splitting): JsonValue {
  const items = place.isWhole ? whole : place.items;
  return items === null ? hidden(list, splitting.rest, splitting) : list.map((item) => split(item, items, splitting));
}

function splitObject(object: JsonObject, place: EventPlace, splitting: Splitting): JsonValue {
  const isReference = object instanceof BlobReference || object instanceof SecretReference;
  const isKnown = !isReference && (place.isWhole || place.members.size > 0 || place === unknown);
  if (!isKnown) return hidden(object, splitting.rest, splitting);
  const facts: Record<string, JsonValue> = {};
  let unnamed: Record<string, JsonValue> | null = null;
  let runs = 0;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    // Only a line's own references have such names.
    const member = isLineName(name) ? undefined : place.isWhole ? whole : place.members.get(name);
    if (member === undefined) {
      unnamed ??= {};
      setMember(unnamed, name, value);
      continue;
    }
    if (unnamed !== null) {
      facts[lineName(runs)] = referTo(unnamed, splitting.rest, splitting);
      unnamed = null;
      runs += 1;
    }
    setMember(facts, name, split(value, member, splitting));
  }
  if (unnamed !== null) facts[lineName(runs)] = referTo(unnamed, splitting.rest, splitting);
  return facts;
}

const lineName = (run: number): string => (run === 0 ? "$line" : `$line${run}`);

const hidden = (value: JsonValue, line: ContentLine, splitting: Splitting): JsonValue => ({
  $line: referTo(value, line, splitting),
});

/** Adds a value to a content line, and returns its place: the line and the index in it. */
function referTo(value: JsonValue, line: ContentLine, { contents }: Splitting): readonly [number, number] {
  if (line.index < 0) {
    line.index = contents.length;
    contents.push([]);
  }
  const values = contents[line.index] ?? [];
  values.push(value);
  return [line.index + 1, values.length - 1];
}

/** An event's data from its lines. */
export function joinLines(text: string): JsonValue {
  const end = text.indexOf("\n");
  if (end < 0) return text.includes('"$line') ? new Joining([]).filled(parsed(text)) : parsed(text);
  // One text, because each call of a parser costs as much as a short line.
  let json = `[${text.slice(0, end)}`;
  for (let from = end + 1; from > 0; ) {
    const next = text.indexOf("\n", from);
    if (text[from] === erasedMark) throw new StoreCorruptedError("a line of its data was erased");
    json += `,${text.slice(from + saltLength, next < 0 ? text.length : next)}`;
    from = next + 1;
  }
  const lines = parsed(`${json}]`);
  if (!isJsonList(lines)) throw lost();
  return new Joining(lines).filled(lines[0] ?? null);
}

function parsed(json: string): JsonValue {
  try {
    return parseJson(json);
  } catch (cause) {
    throw new StoreCorruptedError("a line of its data is not JSON", { cause });
  }
}

/** Puts the values of content lines into the facts, which were just parsed and are changed in place. */
class Joining {
  readonly #lines: readonly JsonValue[];
  /** How many values are not in their places yet: nothing is searched for after the last one. At least 1, to find a reference to no line. */
  #left = 0;

  /** @param lines - The facts, and the content lines. */
  constructor(lines: readonly JsonValue[]) {
    this.#lines = lines;
    for (let line = 1; line < lines.length; line += 1) {
      const values = lines[line];
      this.#left += isJsonList(values) ? Math.max(1, values.length) : 1;
    }
    this.#left ||= 1;
  }

  filled(value: JsonValue): JsonValue {
    if (isJsonList(value)) {
      // Nobody else holds it.
      const items = value as JsonValue[];
      for (let index = 0; index < items.length && this.#left > 0; index += 1) {
        const item = items[index];
        if (typeof item === "object" && item !== null) items[index] = this.filled(item);
      }
      return items;
    }
    if (value instanceof NumberLiteral || !isJsonObject(value)) return value;
    const object = value as Record<string, JsonValue>;
    let isReferring = false;
    for (const name in object) {
      if (this.#left === 0) break;
      const member = object[name];
      if (typeof member !== "object" || member === null) continue;
      if (isLineName(name)) {
        isReferring = true;
        if (isOnly(object)) return this.#valueAt(member);
        continue;
      }
      const whole = this.filled(member);
      if (whole !== member) setMember(object, name, whole);
    }
    return isReferring ? this.#withMembers(object) : object;
  }

  /** The object with the members that are one value of a line. */
  #withMembers(object: JsonObject): JsonObject {
    const whole: Record<string, JsonValue> = {};
    for (const name of Object.keys(object)) {
      const value = object[name];
      if (value === undefined) continue;
      if (!isLineName(name)) {
        setMember(whole, name, value);
        continue;
      }
      const members = this.#valueAt(value);
      if (!isJsonObject(members)) throw lost();
      for (const unnamed of Object.keys(members)) setMember(whole, unnamed, members[unnamed] ?? null);
    }
    return whole;
  }

  #valueAt(place: JsonValue): JsonValue {
    if (!isJsonList(place)) throw lost();
    const [line, index] = place;
    const values = typeof line === "number" ? this.#lines[line] : undefined;
    const value = isJsonList(values) && typeof index === "number" ? values[index] : undefined;
    if (value === undefined) throw lost();
    this.#left -= 1;
    return value;
  }
}

function isOnly(object: JsonObject): boolean {
  let count = 0;
  for (const _ in object) {
    count += 1;
    if (count > 1) return false;
  }
  return true;
}

const lost = (): StoreCorruptedError =>
  new StoreCorruptedError("a line of its data lacks a value that its facts refer to");

/** As many characters as 128 bits take in base64url. */
const saltLength = 22;

const erasedMark = "~";

const isErasedLine = (line: string): boolean => line.startsWith(erasedMark);

/** What stays of a line that is erased. */
export const erasedLine = (line: string): string => (isErasedLine(line) ? line : `${erasedMark}${commitmentOf(line)}`);

/** A digest of a content line that only who has the line can compute. */
export const commitmentOf = (line: string): Sha256 => (isErasedLine(line) ? line.slice(1) : sha256Hex(line));

/** The digest of data in lines, which erasing content lines does not change. */
export function linesDigest(text: string): Sha256 {
  const [facts = "", ...lines] = text.split("\n");
  let committed = `turnlog/lines/v1\n${facts}`;
  for (const line of lines) committed += `\n${commitmentOf(line)}`;
  return sha256Hex(committed);
}

/** How many salts to draw at once: each call of the system costs as much as an event's digests. */
const saltsAtOnce = 256;
let salts = "";
let nextSalt = 0;

/** 128 random bits in base64url. */
export function randomSalt(): string {
  if (nextSalt === salts.length) {
    salts = drawSalts();
    nextSalt = 0;
  }
  nextSalt += saltLength;
  return salts.slice(nextSalt - saltLength, nextSalt);
}

/** 132 random bits each: 22 characters of 6 bits. */
function drawSalts(): string {
  let drawn = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(saltsAtOnce * saltLength))) drawn += digits[byte & 63] ?? "";
  return drawn;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
