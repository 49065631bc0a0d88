import { isJsonList, isJsonObject, type JsonObject, type JsonValue, parseJson, setMember } from "../../base/json.ts";
import { type Sha256, sha256Hex } from "../../base/sha256.ts";
import { type EventPlace, placesOf } from "../../domain/events/places.ts";
import { StoreCorruptedError } from "../ports/event-store.ts";
import { BlobReference, SecretReference } from "./references.ts";

/**
 * An event's data as lines (decision 0107). The first line has the facts, the others the content: each block's is a line of its own. A
 * content line is a list of values, and `{"$line": [line, index]}` in the facts is the place of one; members whose names are content
 * as well are one value, put in place of `$line`, `$line1` … of their object.
 *
 * Every line begins with 128 random bits, so that its commitment, the sha256 of the whole line, gives nothing away. An erased line
 * is `~` and its commitment. The data's digest covers the commitments, so it stays when a line is erased.
 */
export function linesOf(
  data: JsonObject,
  { type, version }: { readonly type: string; readonly version: number },
  newSalt: () => string,
): string {
  const contents: JsonValue[][] = [];
  const facts = split(data, placesOf(type, version) ?? unknown, { contents, rest: newLine(), proof: newLine() });
  let text = newSalt() + JSON.stringify(facts);
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
  if (place.isProof) return hidden(value, splitting.proof, splitting);
  const inside = place.isLine ? { ...splitting, rest: newLine() } : splitting;
  if (isJsonList(value)) return splitList(value, place, inside);
  if (isJsonObject(value)) return splitObject(value, place, inside);
  // Where a list or an object may be, null says that there is none.
  const isFact = place.isFact || (value === null && (place.items !== null || place.members.size > 0));
  return isFact ? value : hidden(value, inside.rest, inside);
}

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
  const endRun = (): void => {
    if (unnamed === null) return;
    facts[`$line${runs === 0 ? "" : runs}`] = referTo(unnamed, splitting.rest, splitting);
    unnamed = null;
    runs += 1;
  };
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    // Only a line's own references have such names.
    const member = name.startsWith("$line") ? undefined : place.isWhole ? whole : place.members.get(name);
    if (member === undefined) {
      unnamed ??= {};
      setMember(unnamed, name, value);
      continue;
    }
    endRun();
    setMember(facts, name, split(value, member, splitting));
  }
  endRun();
  return facts;
}

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
  const [first = "", ...others] = text.split("\n");
  const facts = contentOf(first);
  if (others.length === 0 && !first.includes('"$line')) return facts;
  return filled(facts, others.map(contentOf));
}

/** What a line says. */
function contentOf(line: string): JsonValue {
  if (isErasedLine(line)) throw new StoreCorruptedError("a line of its data was erased");
  try {
    return parseJson(line.slice(saltLength));
  } catch (cause) {
    throw new StoreCorruptedError("a line of its data is not JSON", { cause });
  }
}

/** The facts with the values that they refer to. They were just parsed, so they are changed in place. */
function filled(value: JsonValue, contents: readonly JsonValue[]): JsonValue {
  if (isJsonList(value)) {
    // Nobody else holds it.
    const items = value as JsonValue[];
    for (const [index, item] of items.entries()) if (typeof item === "object") items[index] = filled(item, contents);
    return items;
  }
  if (!isJsonObject(value)) return value;
  let isReferring = false;
  const object = value as Record<string, JsonValue>;
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (typeof member !== "object") continue;
    if (name.startsWith("$line")) isReferring = true;
    else setMember(object, name, filled(member, contents));
  }
  return isReferring ? withContents(object, contents) : object;
}

function withContents(object: JsonObject, contents: readonly JsonValue[]): JsonValue {
  const names = Object.keys(object);
  const [first = ""] = names;
  if (names.length === 1) return valueAt(object[first], contents);
  const whole: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = object[name];
    if (value === undefined) continue;
    if (!name.startsWith("$line")) setMember(whole, name, value);
    else for (const [unnamed, item] of membersAt(value, contents)) setMember(whole, unnamed, item);
  }
  return whole;
}

function membersAt(place: JsonValue, contents: readonly JsonValue[]): readonly (readonly [string, JsonValue])[] {
  const value = valueAt(place, contents);
  if (!isJsonObject(value)) throw lost();
  return Object.keys(value).map((name) => [name, value[name] ?? null]);
}

function valueAt(place: JsonValue | undefined, contents: readonly JsonValue[]): JsonValue {
  if (!isJsonList(place)) throw lost();
  const [line, index] = place;
  const values = typeof line === "number" ? contents[line - 1] : undefined;
  const value = isJsonList(values) && typeof index === "number" ? values[index] : undefined;
  if (value === undefined) throw lost();
  return value;
}

const lost = (): StoreCorruptedError =>
  new StoreCorruptedError("a line of its data lacks a value that its facts refer to");

/** As many characters as 128 bits take in base64url. */
const saltLength = 22;

export const isErasedLine = (line: string): boolean => line.startsWith("~");

/** What stays of a line that is erased. */
export const erasedLine = (line: string): string => (isErasedLine(line) ? line : `~${commitmentOf(line)}`);

/** A digest of a line that only who has the line can compute. */
export const commitmentOf = (line: string): Sha256 => (isErasedLine(line) ? line.slice(1) : sha256Hex(line));

/** The digest of data in lines, which erasing lines does not change. */
export function linesDigest(text: string): Sha256 {
  let commitments = "turnlog/lines/v1";
  for (const line of text.split("\n")) commitments += `\n${commitmentOf(line)}`;
  return sha256Hex(commitments);
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
