import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import { escapedBytes } from "../../../src/engine/codec/bounds.ts";
import { decodeData, encodeData, fillBlobs } from "../../../src/engine/codec/data.ts";
import {
  BlobReference,
  blobReferenceTo,
  SecretReference,
  secretReference,
} from "../../../src/engine/codec/references.ts";
import { StoreCorruptedError } from "../../../src/engine/ports/event-store.ts";

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
      const decoded = decodeData(text);
      expect(JSON.stringify(decoded.data)).toBe(JSON.stringify(data));
      expect(decoded.blobs).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test("reads back what it wrote when every string that is worth it is a blob", () => {
  const long = fc.string({ unit: "binary", minLength: 300, maxLength: 400 });
  // Short data is never looked at: it always fits.
  const padding = "x".repeat(70_000);
  fc.assert(
    fc.property(jsonObject, fc.array(long), (data, texts) => {
      const whole = { data, texts, again: texts, padding };
      const { text, blobs } = encodeData(whole, () => 0);
      expect(new Set(blobs.map((blob) => blob.text))).toEqual(new Set([...texts, padding]));
      const textBySha256 = new Map(blobs.map((blob) => [blob.reference.$blob.sha256, blob.text]));
      const filled = fillBlobs(decodeData(text).data, textBySha256);
      expect(JSON.stringify(filled)).toBe(JSON.stringify(whole));
    }),
  );
});

test("writes data without long strings as JSON.stringify does", () => {
  const data = { text: "x".repeat(60_000), list: [1, "é"] };
  expect(encodeData(data, plenty).text).toBe(JSON.stringify(data));
});

test("escapes an own key that looks like a reference with one more $", () => {
  const data = { $blob: 1, inner: { $$blob: { $secret: "x" } }, $blobs: 2 };
  const written = '{"$$blob":1,"inner":{"$$$blob":{"$$secret":"x"}},"$blobs":2}';
  expect(encodeData(data, plenty).text).toBe(written);
  expect(decodeData(written).data).toEqual(data);
});

test("writes a secret by its name and reads it as a secret", () => {
  const { text } = encodeData({ key: secretReference("API_KEY"), mine: { $secret: "text" } }, plenty);
  expect(text).toBe('{"key":{"$secret":"API_KEY"},"mine":{"$$secret":"text"}}');
  const { data } = decodeData(text);
  expect(data["key"]).toBeInstanceOf(SecretReference);
  expect(data["mine"]).not.toBeInstanceOf(SecretReference);
  expect(encodeData(data, plenty).text).toBe(text);
});

test("makes a blob of a string over 64 KiB of UTF-8, wherever it stands", () => {
  const limit = "é".repeat(32 * 1024);
  const over = `${limit}x`;
  const { text, blobs } = encodeData({ limit, list: [{ over }, over] }, plenty);
  expect(blobs).toEqual([{ reference: blobReferenceTo(over), text: over }]);
  const reference = JSON.stringify({ $blob: { sha256: blobReferenceTo(over).$blob.sha256, bytes: 65_537 } });
  expect(text).toBe(`{"limit":${JSON.stringify(limit)},"list":[{"over":${reference}},${reference}]}`);
  const decoded = decodeData(text);
  expect(decoded.blobs).toHaveLength(2);
  expect(decoded.data["list"]).toStrictEqual([{ over: blobReferenceTo(over) }, blobReferenceTo(over)]);
  expect(blobReferenceTo(over)).toBeInstanceOf(BlobReference);
});

test("writes a reference that it has read as it was, and no blob again", () => {
  const { text } = encodeData({ image: "x".repeat(100_000) }, plenty);
  expect(encodeData(decodeData(text).data, plenty)).toEqual({ text, blobs: [] });
});

test("makes blobs of the longest strings left until the rest fits, and of no more", () => {
  const data = { a: "a".repeat(60_000), b: "b".repeat(50_000), c: '"'.repeat(40_000), d: "d".repeat(30_000) };
  const { text, blobs } = encodeData(data, () => 200_000);
  expect(blobs.map((blob) => blob.text[0])).toEqual(["a", "b"]);
  expect(escapedBytes(text)).toBeLessThanOrEqual(200_000);
});

test("counts a string as often as it stands there", () => {
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
  '{"x":{"$secret":{}}}',
  '{"x":{"$secret":"a","y":1}}',
  '{"$blob":{"sha256":"a","bytes":1}}',
  "[]",
  "{",
  "null",
  '"x"',
])("reports damage in %s", (text) => {
  expect(() => decodeData(text)).toThrow(StoreCorruptedError);
});

test("tells texts apart that have the same UTF-8 form only because one has none", () => {
  expect(blobReferenceTo("\ud800").$blob.sha256).not.toBe(blobReferenceTo("\ufffd").$blob.sha256);
});

function objectOf(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  // As JSON.parse does: an own `__proto__` is an ordinary member.
  return Object.fromEntries(entries);
}
