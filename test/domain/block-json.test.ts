import { expect, test } from "vitest";
import { isJsonObject } from "../../src/base/json.ts";
import { blockFromJson, blockJsonSchema, blockToJson, hasOwnDigest } from "../../src/domain/block-json.ts";
import { blockNameSchema } from "../../src/domain/ids.ts";
import { user } from "../../src/domain/make-block.ts";
import { blockId, said } from "../support/domain/turn-builders.ts";

const digest = blockNameSchema.parse("d".repeat(64));
const stored = (payload: string, wire = ""): string =>
  `{"id":"${blockId(1)}","kind":"other","digest":"${digest}","payload":${payload}${wire}}`;

test("a stored block is read and written again as it was: unknown members, their order, and names of all sorts", () => {
  const payloads = [
    `{"type":"new_item","b":1,"a":[{"z":null,"y":{}}],"2":true,"1":false}`,
    `{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}`,
    `{"nested":{"__proto__":[1],"":2}}`,
  ];
  for (const payload of payloads) {
    const text = JSON.stringify(JSON.parse(stored(payload)));
    const block = blockFromJson(blockJsonSchema.parse(JSON.parse(text)));
    expect(JSON.stringify(blockToJson(block))).toBe(text);
  }
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test("the wire residue is kept, and its members are closed", () => {
  const wire = `{"scope":"s","itemId":"i","group":{"id":"g","index":0,"size":2,"stored":true},"partial":true,"residue":{"__proto__":1,"b":[2]}}`;
  const text = stored("{}", `,"wire":${wire}`);
  expect(JSON.stringify(blockToJson(blockFromJson(blockJsonSchema.parse(JSON.parse(text)))))).toBe(text);
  const wrong = [
    "null",
    "{}",
    `{"scope":"s","more":1}`,
    `{"scope":"s","partial":false}`,
    `{"scope":"s","group":{"id":"g"}}`,
  ];
  const read = wrong.filter((json) => blockJsonSchema.safeParse(JSON.parse(stored("{}", `,"wire":${json}`))).success);
  expect(read).toEqual([]);
});

test("a block of no known kind, without an id or with a payload that is no object, is refused", () => {
  const json: unknown = JSON.parse(stored("{}"));
  if (!isJsonObject(json)) throw new Error("the stored block is an object");
  const wrong = [
    ...[{ kind: "thought" }, { id: null }, { id: "msg_1" }, { payload: [] }, { payload: null }, { extra: 1 }],
    ...[{ digest: "D".repeat(64) }, { digest: "d" }, { digest: null }],
  ];
  expect(blockJsonSchema.safeParse(json).success).toBe(true);
  expect(wrong.filter((change) => blockJsonSchema.safeParse({ ...json, ...change }).success)).toEqual([]);
});

test("a block read back has the digest of the block written", () => {
  const block = said(1).withWire({ scope: "s", itemId: "i" });
  expect(blockFromJson(blockToJson(block)).digest).toBe(block.digest);
});

test("a recorded digest is taken as it is, until something says what is equal by", () => {
  const block = blockFromJson({ ...blockToJson(said(1)), digest });
  expect(block.digest).toBe(digest);
  expect(block.withId(null).digest).toBe(digest);
  expect(block.withText("Another text.").digest).toBe(said(1, "Another text.").digest);
  expect(block.withWire({ scope: "s" }).digest).toBe(said(1).digest);
});

test("a block under the digest of another content is distinguished from one under its own", () => {
  const json = blockToJson(said(1));
  expect(hasOwnDigest(json)).toBe(true);
  expect(hasOwnDigest({ ...json, payload: { ...json.payload, role: "developer" } })).toBe(false);
  expect(hasOwnDigest({ ...json, kind: "other" })).toBe(false);
  expect(hasOwnDigest({ ...json, digest })).toBe(false);
});

test("what one event holds is one block, however often it is read", () => {
  const json = blockToJson(said(1));
  expect(blockFromJson(json)).toBe(blockFromJson(json));
});

test("a draft cannot be written", () => {
  expect(() => blockToJson(user("Hi"))).toThrow("no id");
});
