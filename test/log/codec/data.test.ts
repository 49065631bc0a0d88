import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonObject, type JsonValue, maxStoredNesting } from "../../../src/base/json.ts";
import { SecretReference, secretReference } from "../../../src/domain/secret-reference.ts";
import { escapedBytes } from "../../../src/log/codec/bounds.ts";
import { decodeData, type EncodedData, encodeData, fillBlobs } from "../../../src/log/codec/data.ts";
import { BlobReference, blobReferenceTo } from "../../../src/log/codec/references.ts";
import { EventTooLargeError, StoreCorruptedError } from "../../../src/log/ports/store-errors.ts";

/** What was written as one JSON text. */
const readBack = (data: string) => decodeData({ encoding: "json", data });

const plenty = (): number => 256 * 1024;

const keys = fc.oneof(
  fc.constantFrom(
    "$blob",
    "$secret",
    "$$blob",
    "$$$secret",
    "$",
    "blob",
    "__proto__",
    "$blobs",
    "constructor",
    "toJSON",
  ),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const { value: jsonValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -0.5, 1e21, "", "\ud800", "$blob", "$secret"),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie("value")), { maxLength: 4 }).map(objectOf),
  ),
}));
const jsonObject = fc.array(fc.tuple(keys, jsonValue), { maxLength: 5 }).map(objectOf);

test("reads back what it wrote, keys that look like references included", () => {
  fc.assert(
    fc.property(jsonObject, (data) => {
      const { text, blobs } = encodeData(data, plenty);
      expect(blobs).toEqual([]);
      const decoded = readBack(text);
      expect(JSON.stringify(decoded.data)).toBe(JSON.stringify(data));
      expect(decoded.blobs).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test("reads back what it wrote when as much as possible is stored beside it", () => {
  const long = fc.string({ unit: "binary", minLength: 300, maxLength: 400 }).map((text) => text.repeat(20));
  // Short data is never looked at: it always fits.
  const padding = "x".repeat(70_000);
  const room = fc.constantFrom(0, 500, 1_000, 10_000);
  fc.assert(
    fc.property(jsonObject, fc.array(long, { maxLength: 4 }), room, (data, texts, maxBytes) => {
      const whole = { data, texts, again: [texts, data], padding, secret: [secretReference("NAME")] };
      const encoded = encodeData(whole, () => maxBytes);
      expect(escapedBytes(encoded.text)).toBeLessThanOrEqual(Math.max(maxBytes, 1_500));
      expect(JSON.stringify(filledOf(encoded))).toBe(JSON.stringify(whole));
      expect(filledOf(encoded)["secret"]).toStrictEqual([secretReference("NAME")]);
    }),
  );
});

/** What a reader gets. */
function filledOf({ text, blobs }: EncodedData): JsonObject {
  const textBySha256 = new Map(blobs.map((blob) => [blob.reference.$blob.sha256, blob.text]));
  return fillBlobs(readBack(text).data, textBySha256);
}

test("stores the smallest structure beside the rest that is enough", () => {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n / 7);
  const whole = { said: { text: "kept", logprobs: numbers(5_000), other: numbers(1_000) }, list: numbers(300) };
  const { text, blobs } = encodeData(whole, () => 60_000);
  const json = JSON.stringify(whole.said.logprobs);
  expect(blobs).toEqual([{ reference: blobReferenceTo(json, { holds: "json" }), text: json }]);
  const { sha256, bytes } = blobReferenceTo(json).$blob;
  expect(JSON.parse(text)).toEqual({
    ...whole,
    said: { ...whole.said, logprobs: { $blob: { sha256, bytes, json: true } } },
  });
});

test("stores a list of many short strings as one", () => {
  const calls = Array.from({ length: 3_000 }, (_, n) => ({ id: n, arguments: `${n} `.repeat(50) }));
  const encoded = encodeData({ calls, text: "kept" }, plenty);
  expect(encoded.blobs).toHaveLength(1);
  expect(encoded.text).toContain("kept");
  expect(filledOf(encoded)).toEqual({ calls, text: "kept" });
});

test("refuses data that is nested too deeply to be read again, whatever is around it", () => {
  const nested = (levels: number): JsonObject => {
    let value: JsonObject = {};
    for (let level = 1; level < levels; level += 1) value = { value };
    return value;
  };
  const deepest = nested(maxStoredNesting);
  expect(readBack(encodeData(deepest, plenty).text).data).toEqual(deepest);
  const reserved = nested(maxStoredNesting - 2);
  expect(filledOf(encodeData({ $blob: { reserved } }, () => 0))).toEqual({ $blob: { reserved } });
  for (const levels of [maxStoredNesting + 1, 5_000, 100_000]) {
    expect(() => encodeData({ ...nested(levels), $blob: "x" }, plenty)).toThrow(EventTooLargeError);
  }
});

test("writes data without long strings as JSON.stringify does", () => {
  const data = { text: "x".repeat(60_000), list: [1, "é"] };
  expect(encodeData(data, plenty).text).toBe(JSON.stringify(data));
});

test("escapes an own key that looks like a reference with one more $", () => {
  const data = { $blob: 1, inner: { $$blob: { $secret: "x" } }, $blobs: 2 };
  const written = '{"$$blob":1,"inner":{"$$$blob":{"$$secret":"x"}},"$blobs":2}';
  expect(encodeData(data, plenty).text).toBe(written);
  expect(readBack(written).data).toEqual(data);
});

test("writes a secret by its name and reads it as a secret", () => {
  const { text } = encodeData({ key: secretReference("API_KEY"), mine: { $secret: "text" } }, plenty);
  expect(text).toBe('{"key":{"$secret":"API_KEY"},"mine":{"$$secret":"text"}}');
  const { data } = readBack(text);
  expect(data["key"]).toBeInstanceOf(SecretReference);
  expect(data["mine"]).not.toBeInstanceOf(SecretReference);
  expect(encodeData(data, plenty).text).toBe(text);
});

test("makes a blob of a string over 64 KiB of UTF-8, anywhere in the data", () => {
  const limit = "é".repeat(32 * 1024);
  const over = `${limit}x`;
  const { text, blobs } = encodeData({ limit, list: [{ over }, over] }, plenty);
  expect(blobs).toEqual([{ reference: blobReferenceTo(over), text: over }]);
  const reference = JSON.stringify({ $blob: { sha256: blobReferenceTo(over).$blob.sha256, bytes: 65_537 } });
  expect(text).toBe(`{"limit":${JSON.stringify(limit)},"list":[{"over":${reference}},${reference}]}`);
  const decoded = readBack(text);
  expect(decoded.blobs).toHaveLength(2);
  expect(decoded.data["list"]).toStrictEqual([{ over: blobReferenceTo(over) }, blobReferenceTo(over)]);
  expect(blobReferenceTo(over)).toBeInstanceOf(BlobReference);
});

test("writes a reference that it has read as it was, and no blob again", () => {
  const { text } = encodeData({ image: "x".repeat(100_000) }, plenty);
  expect(encodeData(readBack(text).data, plenty)).toEqual({ text, blobs: [] });
});

test("makes blobs of the longest strings left until the rest fits, and of no more", () => {
  const data = { a: "a".repeat(60_000), b: "b".repeat(50_000), c: '"'.repeat(40_000), d: "d".repeat(30_000) };
  const { text, blobs } = encodeData(data, () => 200_000);
  expect(blobs.map((blob) => blob.text[0])).toEqual(["a", "b"]);
  expect(escapedBytes(text)).toBeLessThanOrEqual(200_000);
});

test("counts a string as often as it occurs", () => {
  const twice = "t".repeat(50_000);
  const { blobs } = encodeData({ twice, again: twice, once: "o".repeat(49_000) }, () => 50_000);
  expect(blobs.map((blob) => blob.text[0])).toEqual(["t"]);
});

test("fits the room exactly when that can be", () => {
  const data = { a: "a".repeat(1_000), b: "b".repeat(999) };
  const room = escapedBytes(JSON.stringify(data));
  expect(encodeData({ ...data }, () => room).blobs).toHaveLength(0);
  const long = { ...data, c: "c".repeat(60_000), d: "d".repeat(60_000) };
  const all = escapedBytes(JSON.stringify(long));
  expect(encodeData(long, () => all).blobs).toHaveLength(0);
  expect(encodeData(long, () => all - 1).blobs).toHaveLength(1);
});

test.each([
  '{"x":{"$blob":1}}',
  '{"x":{"$blob":{"sha256":"a","bytes":1,"json":false}}}',
  '{"x":{"$secret":{}}}',
  '{"x":{"$secret":"a","y":1}}',
  '{"$blob":{"sha256":"a","bytes":1}}',
  "[]",
  "{",
  "null",
  '"x"',
])("reports damage in %s", (text) => {
  expect(() => readBack(text)).toThrow(StoreCorruptedError);
});

test("tells texts apart that have the same UTF-8 form only because one has none", () => {
  expect(blobReferenceTo("\ud800").$blob.sha256).not.toBe(blobReferenceTo("\ufffd").$blob.sha256);
});

function objectOf(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  // As JSON.parse does: an own `__proto__` is an ordinary member.
  return Object.fromEntries(entries);
}
