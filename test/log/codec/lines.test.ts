import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonObject, jsonOf, objectOf, textOrEmpty } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { keyedNames } from "../../../src/domain/block-names.ts";
import { decodeData, encodeData, fillBlobs, lineWriter } from "../../../src/log/codec/data.ts";
import { dataDigestOf } from "../../../src/log/codec/envelope.ts";
import { commitmentOf, erasedLine, joinLines, linesDigest, linesOf, randomSalt } from "../../../src/log/codec/lines.ts";
import { maxEventBytes } from "../../../src/log/ports/event-bounds.ts";
import { StoreCorruptedError } from "../../../src/log/ports/store-errors.ts";
import { cases } from "../../support/cases.ts";

const named = keyedNames("0".repeat(64));
const idOf = (sha256: string) => named.idOfBlob(sha256);
const salt = "s".repeat(22);
const appended = { type: "BlockAppended", version: 1 };
const written = (data: JsonObject, event = appended): readonly string[] =>
  linesOf(data, event, () => salt)
    .split("\n")
    .map((line, index) => (index === 0 ? line : line.slice(salt.length)));

const block = {
  id: "blk_1",
  kind: "user",
  digest: "d".repeat(64),
  payload: { role: "user", content: [{ type: "text", text: "My PIN is 7302." }] },
};

describe("what is a fact, and what is content", () => {
  test("a block's words are a line of their own; ids, kinds, digests and types are facts", () => {
    expect(written({ block })).toEqual([
      `{"block":{"id":"blk_1","kind":"user","digest":"${"d".repeat(64)}","payload":{"role":"user","content":[{"type":"text","text":\t1}]}}}`,
      '"My PIN is 7302."',
    ]);
  });

  test("names that nothing lists are content as well, together, in the place where they were", () => {
    const payload = { role: "user", "My PIN": 7302, born: "1 April", phase: "final", 7: true, more: [] };
    const [facts = "", ...others] = written({ block: { ...block, payload } });
    expect(facts).toContain('"payload":{\t1,"role":"user",\t1,"phase":"final",\t1}');
    expect(others).toEqual(['"7":true\t"My PIN":7302,"born":"1 April"\t"more":[]']);
  });

  test("each block of an edit is a line, and what belongs to none is one together", () => {
    const edits = ["one", "two"].map((text) => ({
      op: "replace",
      blockId: "blk_1",
      block: { block: { ...block, payload: { ...block.payload, content: [{ type: "text", text }] } } },
    }));
    expect(written({ edits, after: "a" }, { type: "TurnReverted", version: 1 }).slice(1)).toEqual(['"one"', '"two"']);
    const started = { origin: { type: "new" }, title: "A talk", labels: { subject: "ada" } };
    expect(written(started, { type: "ConversationStarted", version: 1 })).toEqual([
      '{"origin":{"type":"new"},"title":\t1,"labels":\t1}',
      '"A talk"\t{"subject":"ada"}',
    ]);
  });

  test("the digest of a request is a line of its own, because it proves what was said", () => {
    const request = { inferenceId: "inf_1", requestDigest: "e".repeat(64), requestBytes: 12, scope: "https://a b" };
    expect(written(request, { type: "InferenceRequested", version: 1 })).toEqual([
      '{"inferenceId":"inf_1","requestDigest":\t1,"requestBytes":12,"scope":"https://a b"}',
      `"${"e".repeat(64)}"`,
    ]);
  });

  test("who changed a block before is content, although the rest of a decision is a fact", () => {
    const told = { strategy: "full", details: { lane: "a" }, capabilities: { chain: true, other: 1 } };
    const divergence = { index: 0, actor: { kind: "user", name: "Ada", more: 1 } };
    const request = { decision: { ...told, rejected: { reason: "edited", divergence } } };
    const [facts, ...others] = written(request, { type: "InferenceRequested", version: 1 });
    expect(facts).toBe(JSON.stringify(request).replace('"Ada"', "\t1"));
    expect(others).toEqual(['"Ada"']);
  });

  test("a fact with the character that marks a place is content", () => {
    const callId = 'a"\u00011"';
    const payload = { type: "function", callId, name: "\u00012", arguments: "{}" };
    const [facts = "", ...others] = written({ block: { ...block, payload } });
    expect(facts).toContain('"payload":{"type":"function","callId":\t1,"name":\t1,"arguments":\t1}');
    expect(others).toEqual([`${JSON.stringify(callId)}\t"\\u00012"\t"{}"`]);
  });

  test("an event that this version does not know is content", () => {
    expect(written({ words: "hunter2", id: 7 }, { type: "SomethingNew", version: 1 })).toEqual([
      "{\t1}",
      '"words":"hunter2","id":7',
    ]);
    expect(written({ block }, { type: "BlockAppended", version: 9 })[0]).toBe("{\t1}");
  });
});

const folder = join(import.meta.dirname, "../../golden/events");
const golden = readdirSync(folder).map((file) => objectOf(jsonOf(readFileSync(join(folder, file), "utf8"))));

test.each(golden.map((event) => [textOrEmpty(event["type"]), event] as const))(
  "%s is read as it was written, its members in their order",
  (type, event) => {
    const data = objectOf(event["data"]);
    const text = linesOf(data, { type, version: Number(event["version"]) }, randomSalt);
    expect(JSON.stringify(joinLines(text))).toBe(JSON.stringify(data));
  },
);

/** Names that are facts somewhere, that mean something to the codec, and others. */
const names = fc.constantFrom(
  ...["block", "payload", "role", "content", "type", "text", "id", "digest", "usage", "reported", "decision", "edits"],
  ...["\u00011", '"\u00011.0":0', "$blob", "$secret", "\t1", "__proto__", "7", "words"],
);
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom("text", "", "a\nb\t1", "~tilde", "\u00011", '"\u00012"', null, true, 7.5),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(fc.tuple(names, tie("value")), { maxLength: 5 })
      .map(
        (members) =>
          JSON.parse(
            `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`,
          ) as JsonObject,
      ),
  ),
})).value;
const types = ["BlockAppended", "InferenceRequested", "ResponseReceived", "TurnEdited", "SettingsDeclared", "Unknown"];

test("any data of any event is read as it was written", () => {
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.array(fc.tuple(names, anything), { maxLength: 5 }), (type, members) => {
      const text = `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`;
      // Parsed once more, because of two members with one name the last stays, at the place of the first.
      const data = objectOf(jsonOf(text));
      const { text: lines, blobs } = encodeData(data, () => maxEventBytes, lineWriter({ type, version: 1 }, { idOf }));
      expect(blobs).toEqual([]);
      expect(JSON.stringify(decodeData({ encoding: "lines", data: lines }).data)).toBe(JSON.stringify(data));
    }),
    { numRuns: cases(300, 30_000, 1_000) },
  );
});

test("data over the bound of an event leaves as much beside it as its lines need", () => {
  const edits = Array.from({ length: 4_000 }, (_, index) => ({
    op: "replace",
    blockId: `blk_${index}`,
    block: { block: { ...block, id: `blk_${index}` } },
  }));
  const data = { edits, after: "a" };
  const { text, blobs } = encodeData(
    data,
    () => maxEventBytes,
    lineWriter({ type: "TurnReverted", version: 1 }, { idOf }),
  );
  expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThanOrEqual(maxEventBytes);
  expect(blobs.length).toBeGreaterThan(0);
  const texts = new Map(blobs.map(({ reference, text: stored }) => [reference.$blob.sha256, stored]));
  expect(fillBlobs(decodeData({ encoding: "lines", data: text }).data, texts)).toEqual(data);
});

describe("commitments", () => {
  const text = linesOf({ block }, appended, randomSalt);
  const [facts = "", words = ""] = text.split("\n");

  test("a line's commitment is the digest of the whole line, and the data's digest is over the facts and the commitments", () => {
    expect(commitmentOf(words)).toBe(sha256Hex(words));
    expect(linesDigest(text)).toBe(sha256Hex(`turnlog/lines/v1\n${facts}\n${sha256Hex(words)}`));
    expect(dataDigestOf({ encoding: "lines", data: text })).toBe(linesDigest(text));
  });

  test("an erased line leaves the data's digest as it is, and any other change does not", () => {
    const erased = erasedLine(words);
    expect(erased).toBe(`~${sha256Hex(words)}`);
    expect(erasedLine(erased)).toBe(erased);
    expect(linesDigest(`${facts}\n${erased}`)).toBe(linesDigest(text));
    for (const other of [
      `${facts}\n${words}x`,
      facts,
      `${text}\n${words}`,
      `${words}\n${facts}`,
      `${facts}\n~${"0".repeat(64)}`,
    ])
      expect(linesDigest(other)).not.toBe(linesDigest(text));
  });

  test("equal words give other commitments each time, so that none can be found by trying words", () => {
    const again = linesOf({ block }, appended, randomSalt);
    expect(again).not.toBe(text);
    expect(linesDigest(again)).not.toBe(linesDigest(text));
    const salts = new Set(Array.from({ length: 10_000 }, () => randomSalt()));
    expect(salts.size).toBe(10_000);
    for (const drawn of salts) expect(drawn).toMatch(/^[\w-]{22}$/);
  });

  test.each([
    ["a line that is not there", facts, "lacks a value"],
    ["a line that is no JSON", `${facts}\n${salt}[`, "not the parts"],
    ["a line without its value", `${facts}\n${salt.slice(1)}`, "lacks a value"],
    ["a place of no line", facts.replace("\t1", "\tx"), "lacks a value"],
  ])("data with %s cannot be read", (_, data, message) => {
    expect(() => decodeData({ encoding: "lines", data })).toThrow(StoreCorruptedError);
    expect(() => decodeData({ encoding: "lines", data })).toThrow(message);
  });
});
