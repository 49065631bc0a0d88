import {
  isJsonList,
  isJsonObject,
  isNestedDeeper,
  type JsonObject,
  type JsonValue,
  maxStoredNesting,
  objectOf,
  parseJson,
  setMember,
} from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import { blobBytesMin } from "../../domain/essence.ts";
import { ErasedValue, withStandIns } from "../../domain/events/erased-content.ts";
import { SecretReference } from "../../domain/secret-reference.ts";
import type { Envelope } from "../ports/event-store.ts";
import { EventTooLargeError, StoreCorruptedError } from "../ports/store-errors.ts";
import { escapedBytes } from "./bounds.ts";
import { joinAround } from "./line-places.ts";
import { hasErasedLine, joinLines, linesOf, randomSalt } from "./lines.ts";
import { type BlobNaming, BlobReference, blobReferenceIn, blobReferenceTo } from "./references.ts";
import { chooseStructures, type Structure } from "./structures.ts";

/** A text stored beside the event that names it: a string of its data, or the JSON of a list or an object. */
export type BlobText = { readonly reference: BlobReference; readonly text: string };

export type EncodedData = { readonly text: string; readonly blobs: readonly BlobText[] };

/** How new events write their data: as one JSON text, or as lines, which can be erased one by one. */
export type DataEncoding = "json" | "lines";

/** Writes data without blobs as a text, and names the blobs. */
export type DataWriter = { readonly write: (data: JsonObject) => string; readonly idOf: BlobNaming };

const jsonWriter: DataWriter = { write: (data) => JSON.stringify(data), idOf: null };

/** The writer of an event's data as lines. */
export function lineWriter(
  event: { readonly type: string; readonly version: number },
  { idOf, newSalt = randomSalt, actorName = null }: LineOptions,
): DataWriter {
  return {
    idOf,
    write(data) {
      const lines = linesOf(data, event, newSalt);
      return actorName === null ? lines : `${lines}\n${newSalt()}${JSON.stringify(actorName)}`;
    },
  };
}

type LineOptions = {
  readonly idOf: NonNullable<BlobNaming>;
  readonly newSalt?: (() => string) | undefined;
  /** Becomes the last line, to which the facts do not refer. */
  readonly actorName?: string | null;
};

/**
 * Writes an event's data as text. Strings over 64 KiB become blobs, then the longest remaining ones, then lists and objects, until
 * the text takes at most `room()` bytes inside the envelope. Own keys that look like a reference's get one more `$`.
 *
 * @throws {EventTooLargeError} if the data is nested too deeply to be read back.
 */
export function encodeData(data: JsonObject, room: () => number, writer: DataWriter = jsonWriter): EncodedData {
  const text = textOf(data, writer);
  if (hasReservedKey(text)) return encodeWithBlobs(data, room(), writer);
  // A UTF-16 unit takes at most three bytes: a short text needs no count, and fits into every event.
  if (text.length * 3 <= blobBytesMin) return { text, blobs: [] };
  const isSmall = utf8Length(text) <= blobBytesMin && escapedBytes(text) <= room();
  return isSmall ? { text, blobs: [] } : encodeWithBlobs(data, room(), writer);
}

/** Reads what `encodeData` wrote. Blobs become `BlobReference`s, which it also lists. Unchanged parts are not copied. */
export function decodeData({ encoding, data: text, type = "", version = 1 }: DecodedMembers): DecodedData {
  const blobs: BlobReference[] = [];
  const hasErased = encoding === "lines" && hasErasedLine(text);
  const joined = hasErased ? joinAround(text) : encoding === "lines" ? joinLines(text) : parse(text);
  const data = withoutReserved(joined, text, blobs);
  if (!isJsonObject(data)) throw new StoreCorruptedError("an event's data is not a JSON object");
  if (isReference(data)) throw new StoreCorruptedError("an event's data is a reference");
  return { data: hasErased ? withStandIns(data, { type, version }) : data, blobs, hasErased };
}

type DecodedMembers = Pick<Envelope, "encoding" | "data"> & Partial<Pick<Envelope, "type" | "version">>;

type DecodedData = {
  readonly data: JsonObject;
  readonly blobs: readonly BlobReference[];
  /** Content of it was erased, and stand-ins are in its place. */
  readonly hasErased: boolean;
};

/** The data with each reference replaced by the text or structure that it refers to. */
export function fillBlobs(data: JsonObject, textBySha256: ReadonlyMap<string, string>): JsonObject {
  const filled = mapJson(data, (object) => {
    if (!(object instanceof BlobReference)) return object;
    const text = textBySha256.get(object.$blob.sha256);
    if (text === undefined) return object;
    return object.$blob.json === true ? withoutReserved(parse(text), text, []) : text;
  });
  if (!isJsonObject(filled)) throw new StoreCorruptedError("an event's data is a reference");
  return filled;
}

/** Lines take more room than the JSON text that the choice of blobs is made by: it is made again for less. */
function encodeWithBlobs(data: JsonObject, room: number, { write, idOf }: DataWriter): EncodedData {
  let maxBytes = room;
  for (let round = 0; ; round += 1) {
    const { replaced, blobs } = replaceByBlobs(data, { maxBytes, idOf });
    const text = write(replaced);
    const excess = idOf === null ? 0 : escapedBytes(text) - room;
    if (excess <= 0 || round === maxChoices) return { text, blobs };
    maxBytes -= excess;
  }
}

/** With fewer texts in the event there are also fewer references, so that few rounds are enough. */
const maxChoices = 8;

type Choice = { readonly maxBytes: number; readonly idOf: BlobNaming };

function replaceByBlobs(
  data: JsonObject,
  choice: Choice,
): { readonly replaced: JsonObject; readonly blobs: readonly BlobText[] } {
  const texts = chooseTexts(data, choice);
  const structures = chooseStructures(data, texts, choice);
  const blobs = new Map<string, BlobText>();
  const stored = (text: string, reference: BlobReference): BlobReference => {
    blobs.set(reference.$blob.sha256, { reference, text });
    return reference;
  };
  // A blob never refers to another: references inside a stored structure are stored with it.
  const stay = (structure: Structure): BlobReference | null => {
    if (!structures.has(structure)) return null;
    const text = JSON.stringify(withReferences(structure));
    return stored(text, blobReferenceTo(text, { holds: "json", idOf: choice.idOf }));
  };
  const replaced = withReferences(data, stay, (text) => {
    const reference = texts.get(text);
    return reference === undefined ? text : stored(text, reference);
  });
  return { replaced: objectOf(replaced), blobs: [...blobs.values()] };
}

/** Strings over 64 KiB, and the longest of the others while the rest is too big. */
function chooseTexts(data: JsonObject, { maxBytes, idOf }: Choice): ReadonlyMap<string, BlobReference> {
  const countByText = countStrings(data);
  const texts = [...countByText.keys()].map((text) => ({ text, bytes: utf8Length(text) }));
  const longestFirst = texts.sort((left, right) => right.bytes - left.bytes);
  let bytes = escapedBytes(JSON.stringify(withReferences(data)));
  const chosen = new Map<string, BlobReference>();
  for (const { text, bytes: textBytes } of longestFirst) {
    if (textBytes <= blobBytesMin && (bytes <= maxBytes || textBytes < textBytesMin)) break;
    const reference = blobReferenceTo(text, { idOf });
    chosen.set(text, reference);
    const saved = escapedBytes(JSON.stringify(text)) - escapedBytes(JSON.stringify(reference));
    bytes -= saved * (countByText.get(text) ?? 0);
  }
  return chosen;
}

/** A blob is a stream of its own. If many short strings are too much together, the structure that holds them becomes a blob. */
const textBytesMin = 4 * 1024;

function countStrings(data: JsonValue): ReadonlyMap<string, number> {
  const countByText = new Map<string, number>();
  const visit = (value: JsonValue | undefined): void => {
    if (typeof value === "string") countByText.set(value, (countByText.get(value) ?? 0) + 1);
    else if (isJsonList(value)) value.forEach(visit);
    else if (isJsonObject(value) && !isReference(value)) Object.values(value).forEach(visit);
  };
  visit(data);
  return countByText;
}

/** The value as written, with some structures and texts replaced. Names that look like a reference's get one more `$`. */
const withReferences = (
  value: JsonValue,
  mapStructure: (structure: Structure) => JsonValue | null = () => null,
  mapText: (text: string) => JsonValue = (text) => text,
): JsonValue =>
  mapJson(
    value,
    (object) =>
      isReference(object) ? object : renameKeys(object, (key) => (/^\$+(blob|secret)$/.test(key) ? `$${key}` : key)),
    { mapStructure, mapText },
  );

const isReference = (value: object): value is BlobReference | SecretReference | ErasedValue =>
  value instanceof BlobReference || value instanceof SecretReference || value instanceof ErasedValue;

type Outside = {
  /** Returns the replacement of a list or an object, or null to descend into it. */
  readonly mapStructure?: (structure: Structure) => JsonValue | null;
  readonly mapText?: (text: string) => JsonValue;
};

/** Maps the strings and then, inside out, the objects of a value. Unchanged parts stay the same objects. */
function mapJson(
  value: JsonValue,
  mapObject: (object: JsonObject) => JsonValue,
  { mapStructure = () => null, mapText = (text) => text }: Outside = {},
): JsonValue {
  const map = (item: JsonValue): JsonValue => {
    if (typeof item === "string") return mapText(item);
    if (isJsonList(item)) return mapStructure(item) ?? mapArray(item, map);
    return isJsonObject(item) ? (mapStructure(item) ?? mapObject(mapMembers(item, map))) : item;
  };
  return map(value);
}

function mapArray(items: readonly JsonValue[], map: (item: JsonValue) => JsonValue): readonly JsonValue[] {
  const mapped = items.map(map);
  return mapped.every((item, index) => item === items[index]) ? items : mapped;
}

function mapMembers(object: JsonObject, map: (item: JsonValue) => JsonValue): JsonObject {
  if (isReference(object)) return object;
  const mapped: Record<string, JsonValue> = {};
  let isSame = true;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const item = map(value);
    isSame &&= item === value;
    setMember(mapped, name, item);
  }
  return isSame ? object : mapped;
}

function renameKeys(object: JsonObject, rename: (key: string) => string): JsonObject {
  if (Object.keys(object).every((key) => rename(key) === key)) return object;
  const renamed: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(object)) {
    if (value !== undefined) setMember(renamed, rename(name), value);
  }
  return renamed;
}

// JSON.stringify escapes neither `$` nor letters, so a reserved key always shows in the text.
const hasReservedKey = (text: string): boolean =>
  text.includes("$") && (text.includes("$blob") || text.includes("$secret"));

function readReference(object: JsonObject): BlobReference | SecretReference | null {
  const { $blob: blob, $secret: secret } = object;
  if (blob === undefined && secret === undefined) return null;
  if (Object.keys(object).length === 1) {
    if (typeof secret === "string") return new SecretReference(secret);
    const reference = isJsonObject(blob) ? blobReferenceIn(blob) : null;
    if (reference !== null) return reference;
  }
  throw new StoreCorruptedError("an event's data has a reference that says nothing");
}

/** A value that was parsed from a text, with its references. */
function withoutReserved(parsed: JsonValue, text: string, blobs: BlobReference[]): JsonValue {
  if (!hasReservedKey(text)) return parsed;
  return mapJson(parsed, (object) => {
    const reference = readReference(object);
    if (reference instanceof BlobReference) blobs.push(reference);
    return reference ?? renameKeys(object, (key) => (/^\$\$+(blob|secret)$/.test(key) ? key.slice(1) : key));
  });
}

function parse(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new StoreCorruptedError("an event's data is not JSON", { cause });
  }
}

function textOf(data: JsonObject, { write }: DataWriter): string {
  try {
    const text = write(data);
    // Each level takes at least two characters.
    if (text.length <= 2 * maxStoredNesting || !isNestedDeeper(data, maxStoredNesting)) return text;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new EventTooLargeError(`an event's data has no JSON text: ${cause.message}`, { cause });
  }
  throw new EventTooLargeError(`an event's data has more than ${maxStoredNesting} levels of lists and objects`);
}
