import { isJsonList, type JsonObject, type JsonValue, parseJson, setMember } from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { type Sha256, sha256Hex } from "../../base/sha256.ts";
import { type EventPlace, placesOf } from "../../domain/events/places.ts";
import { SecretReference } from "../../domain/secret-reference.ts";
import { StoreCorruptedError } from "../ports/store-errors.ts";
import { BlobReference } from "./references.ts";

/**
 * An event's data as lines (decision 0107): the JSON text of the data, taken apart. The first line has the facts, the others the content:
 * each block's is a line of its own. In the facts, a tab and the number of a line are the place of the next value of that line, whose values
 * are separated by tabs too. Members whose names are content as well are one value, without its braces. JSON text has neither tabs nor
 * line feeds, so joining is cutting and pasting.
 *
 * Every content line begins with 128 random bits, so that its commitment, the sha256 of the whole line, gives nothing away. An erased
 * line is `~` and its commitment. The data's digest covers the facts and the commitments, so it stays when a line is erased.
 */
export function linesOf(
  data: JsonObject,
  { type, version }: { readonly type: string; readonly version: number },
  newSalt: () => string,
): string {
  const contents: string[] = [];
  const facts = split(data, placesOf(type, version) ?? unknown, { contents, rest: newLine(), proof: newLine() });
  const json = JSON.stringify(facts);
  if (contents.length === 0) return json;
  let text = json.replace(marks, "\t$1");
  for (const content of contents) text += `\n${newSalt()}${content}`;
  return text;
}

/**
 * Replaces a value of a line while the facts are still an object: U+0001 and the line's number. A fact with that character is content, so
 * no other text matches.
 */
const mark = "\u0001";
/** Matches the JSON of a mark: of one value, or of a member in place of several. */
const marks = /"\\u0001(\d+)(?:"|\.\d+":0)/g;

/** Nothing of an event of another version is known to be a fact, but its data is an object. */
const unknown: EventPlace = {
  ...{ isNamed: false, isKept: false, isFact: false, isWhole: false, hides: false, isProof: false, isLine: false },
  ...{ members: new Map<string, EventPlace>(), items: null },
};

/** The place of everything in a fact that is known only as a whole. */
const whole: EventPlace = { ...unknown, isFact: true, isWhole: true };

type ContentLine = { index: number };
const newLine = (): ContentLine => ({ index: -1 });

type Splitting = {
  readonly contents: string[];
  /** The line of what belongs to no other. */
  readonly rest: ContentLine;
  readonly proof: ContentLine;
};

function split(value: JsonValue, place: EventPlace, splitting: Splitting): JsonValue {
  if (typeof value !== "object" || value === null || value instanceof NumberLiteral) {
    if (place.isProof) return hidden(value, splitting.proof, splitting);
    // Where a list or an object may be, null says that there is none.
    const isFact = place.isFact || (value === null && (place.items !== null || place.members.size > 0));
    return isFact && !hasMark(value) ? value : hidden(value, splitting.rest, splitting);
  }
  if (place.isWhole && !place.hides && !hasMarkInside(value)) return value;
  const inside = place.isLine ? { contents: splitting.contents, proof: splitting.proof, rest: newLine() } : splitting;
  return isJsonList(value) ? splitList(value, place, inside) : splitObject(value, place, inside);
}

const hasMark = (value: unknown): boolean => typeof value === "string" && value.includes(mark);

function hasMarkInside(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null || value instanceof NumberLiteral) return hasMark(value);
  if (isJsonList(value)) return value.some(hasMarkInside);
  for (const name in value) if (hasMark(name) || hasMarkInside(value[name] ?? null)) return true;
  return false;
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
  const endRun = (members: JsonObject): void => {
    facts[`${mark}${lineFor(JSON.stringify(members).slice(1, -1), splitting.rest, splitting)}.${runs}`] = 0;
    unnamed = null;
    runs += 1;
  };
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const member = place.isWhole ? inWhole(place, name) : place.members.get(name);
    if (member === undefined) {
      unnamed ??= {};
      setMember(unnamed, name, value);
      continue;
    }
    if (unnamed !== null) endRun(unnamed);
    setMember(facts, name, split(value, member, splitting));
  }
  if (unnamed !== null) endRun(unnamed);
  return facts;
}

/** The place of a member of a fact that is known only as a whole. */
function inWhole({ hides, members }: EventPlace, name: string): EventPlace | undefined {
  if (hasMark(name)) return undefined;
  const member = hides ? members.get(name) : undefined;
  return member?.hides === true ? member : whole;
}

const hidden = (value: JsonValue, line: ContentLine, splitting: Splitting): string =>
  `${mark}${lineFor(JSON.stringify(value), line, splitting)}`;

/** Adds a value to a content line, and returns the line's number. */
function lineFor(json: string, line: ContentLine, { contents }: Splitting): number {
  if (line.index < 0) {
    line.index = contents.length;
    contents.push(json);
  } else contents[line.index] = `${contents[line.index] ?? ""}\t${json}`;
  return line.index + 1;
}

/** An event's data from its lines, none of which is erased. */
export function joinLines(text: string): JsonValue {
  const json = text.includes("\n") || text.includes("\t") ? joined(text.split("\n")) : text;
  try {
    return parseJson(json);
  } catch (cause) {
    throw new StoreCorruptedError("its lines are not the parts of a JSON text", { cause });
  }
}

function joined([facts = "", ...lines]: readonly string[]): string {
  /** Where the next value of each line begins. */
  const next = lines.map(() => saltLength);
  const [first = "", ...pieces] = facts.split("\t");
  let json = first;
  for (const piece of pieces) {
    const digits = numberLength(piece);
    const index = Number(piece.slice(0, digits)) - 1;
    const [line, from] = [lines[index], next[index]];
    if (line === undefined || from === undefined || from > line.length) throw lost();
    if (isErasedLine(line)) throw new StoreCorruptedError("a line of its data was erased");
    const tab = line.indexOf("\t", from);
    const end = tab < 0 ? line.length : tab;
    json += line.slice(from, end) + piece.slice(digits);
    next[index] = end + 1;
  }
  return json;
}

function numberLength(text: string): number {
  let length = 0;
  while (length < text.length && isDigit(text.charCodeAt(length))) length += 1;
  return length;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

const lost = (): StoreCorruptedError =>
  new StoreCorruptedError("a line of its data lacks a value that its facts refer to");

/** As many characters as 128 bits take in base64url. */
export const saltLength = 22;

const erasedMark = "~";

/** Whether a line of the data is erased. No JSON text has a line feed. */
export const hasErasedLine = (text: string): boolean => text.includes(erasedBegin);

const erasedBegin = `\n${erasedMark}`;

export const isErasedLine = (line: string): boolean => line.startsWith(erasedMark);

/** The numbers of the erased lines of data. */
export const erasedLinesOf = (text: string): readonly number[] =>
  text.split("\n").flatMap((line, number) => (number > 0 && isErasedLine(line) ? [number] : []));

/** The values of a content line, separated by tabs. */
export const contentOfLine = (line: string): string => line.slice(saltLength);

/** Data in lines without the content of some lines, by number, from 1. */
export const withErasedLines = (text: string, erased: ReadonlySet<number>): string =>
  text
    .split("\n")
    .map((line, number) => (number > 0 && erased.has(number) ? erasedLine(line) : line))
    .join("\n");

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
