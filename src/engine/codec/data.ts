import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import { blobBytesMin } from "../../domain/essence.ts";
import { StoreCorruptedError } from "../ports/event-store.ts";
import { escapedBytes } from "./bounds.ts";
import { BlobReference, blobReferenceTo, SecretReference } from "./references.ts";

/** A string that is stored beside the event that names it. */
export type BlobText = { readonly reference: BlobReference; readonly text: string };

export type EncodedData = { readonly text: string; readonly blobs: readonly BlobText[] };

/**
 * Writes an event's data as text: strings over 64 KiB become blobs, then the longest ones left, until the text takes no
 * more than `room()` bytes inside the envelope or no string is worth it any more. Own keys that would look like a
 * reference get one more `$`.
 */
export function encodeData(data: JsonObject, room: () => number): EncodedData {
  const text = JSON.stringify(data);
  if (hasReservedKey(text)) return encodeWithBlobs(data, room());
  // A UTF-16 unit takes three bytes at most: a short text needs no count, and there is room for it in every event.
  if (text.length * 3 <= blobBytesMin) return { text, blobs: [] };
  const isSmall = utf8Length(text) <= blobBytesMin && escapedBytes(text) <= room();
  return isSmall ? { text, blobs: [] } : encodeWithBlobs(data, room());
}

/** Reads what `encodeData` wrote, blobs as `BlobReference`s, which are listed beside. Equal parts are not copied. */
export function decodeData(text: string): { readonly data: JsonObject; readonly blobs: readonly BlobReference[] } {
  const parsed = parseObject(text);
  if (!hasReservedKey(text)) return { data: parsed, blobs: [] };
  const blobs: BlobReference[] = [];
  const data = mapJson(parsed, (object) => {
    const reference = readReference(object);
    if (reference instanceof BlobReference) blobs.push(reference);
    return reference ?? renameKeys(object, (key) => (/^\$\$+(blob|secret)$/.test(key) ? key.slice(1) : key));
  });
  if (!isJsonObject(data) || isReference(data)) throw new StoreCorruptedError("an event's data is a reference");
  return { data, blobs };
}

/** The data with each reference replaced by its text. */
export function fillBlobs(data: JsonObject, textBySha256: ReadonlyMap<string, string>): JsonObject {
  const filled = mapJson(data, (object) =>
    object instanceof BlobReference ? (textBySha256.get(object.$blob.sha256) ?? object) : object,
  );
  if (!isJsonObject(filled)) throw new StoreCorruptedError("an event's data is a reference");
  return filled;
}

function encodeWithBlobs(data: JsonObject, bytesMax: number): EncodedData {
  const countByText = countStrings(data);
  const texts = [...countByText.keys()].map((text) => ({ text, bytes: utf8Length(text) }));
  const longestFirst = texts.sort((left, right) => right.bytes - left.bytes);
  let bytes = escapedBytes(JSON.stringify(withReferences(data, new Map())));
  const chosen = new Map<string, BlobReference>();
  for (const { text, bytes: textBytes } of longestFirst) {
    if (textBytes <= blobBytesMin && bytes <= bytesMax) break;
    const reference = blobReferenceTo(text);
    const saved = escapedBytes(JSON.stringify(text)) - escapedBytes(JSON.stringify(reference));
    if (saved <= 0) continue;
    chosen.set(text, reference);
    bytes -= saved * (countByText.get(text) ?? 0);
  }
  const blobs = Array.from(chosen, ([text, reference]) => ({ reference, text }));
  return { text: JSON.stringify(withReferences(data, chosen)), blobs };
}

function countStrings(data: JsonValue): ReadonlyMap<string, number> {
  const countByText = new Map<string, number>();
  const visit = (value: JsonValue | undefined): void => {
    if (typeof value === "string") countByText.set(value, (countByText.get(value) ?? 0) + 1);
    else if (typeof value === "object" && value !== null && !isReference(value)) Object.values(value).forEach(visit);
  };
  visit(data);
  return countByText;
}

const withReferences = (data: JsonObject, referenceByText: ReadonlyMap<string, BlobReference>): JsonValue =>
  mapJson(
    data,
    (object) =>
      isReference(object) ? object : renameKeys(object, (key) => (/^\$+(blob|secret)$/.test(key) ? `$${key}` : key)),
    (text) => referenceByText.get(text) ?? text,
  );

const isReference = (value: object): value is BlobReference | SecretReference =>
  value instanceof BlobReference || value instanceof SecretReference;

/** Maps the strings and then, from the inside out, the objects of a value; what stays equal stays the same object. */
function mapJson(
  value: JsonValue,
  mapObject: (object: JsonObject) => JsonValue,
  mapText: (text: string) => JsonValue = (text) => text,
): JsonValue {
  const map = (item: JsonValue): JsonValue => {
    if (typeof item === "string") return mapText(item);
    if (typeof item !== "object" || item === null) return item;
    return isJsonList(item) ? mapArray(item, map) : mapObject(mapMembers(item, map));
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

// JSON.stringify escapes neither `$` nor letters, so a reserved key is always visible in the text.
const hasReservedKey = (text: string): boolean =>
  text.includes("$") && (text.includes("$blob") || text.includes("$secret"));

function readReference(object: JsonObject): BlobReference | SecretReference | null {
  const { $blob: blob, $secret: secret } = object;
  if (blob === undefined && secret === undefined) return null;
  if (Object.keys(object).length === 1) {
    if (typeof secret === "string") return new SecretReference(secret);
    if (isJsonObject(blob)) {
      const { sha256, bytes } = blob;
      if (typeof sha256 === "string" && typeof bytes === "number") return new BlobReference(sha256, bytes);
    }
  }
  throw new StoreCorruptedError("an event's data has a reference that says nothing");
}

function parseObject(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new StoreCorruptedError("an event's data is not JSON", { cause });
  }
  if (!isJsonObject(parsed)) throw new StoreCorruptedError("an event's data is not a JSON object");
  return parsed;
}
