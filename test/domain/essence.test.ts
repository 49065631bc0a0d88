import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import { Block, type BlockKind } from "../../src/domain/block.ts";
import { emptyContext } from "../../src/domain/context.ts";
import { system, text, toolCall, toolResult, user } from "../../src/domain/make-block.ts";
import { Turn } from "../../src/domain/turn.ts";
import type { Wire } from "../../src/domain/wire.ts";
import { blobReferenceTo } from "../../src/log/codec/references.ts";
import { blockId } from "../support/domain/turn-builders.ts";

// By hand, so that the definition is tested and not our way of computing it.
const sha256 = (bytes: string | Buffer): Buffer => createHash("sha256").update(bytes).digest();
const hex = (bytes: string | Buffer): string => sha256(bytes).toString("hex");

const digestOf = (kind: BlockKind, payload: JsonObject, wire: Wire | null = null): string =>
  new Block({ id: null, kind, payload, wire }).digest;
const messageDigest = (part: JsonObject, more: JsonObject = {}): string =>
  digestOf("assistant", { role: "assistant", content: [part], ...more });
const outputDigest = (output: JsonValue): string => toolResult({ callId: "call_1", output }).digest;

test("golden: the digests of a message and of its context are those of essence version 1", () => {
  const canonical = '{"content":{"content":[{"text":"Grüße, 世界 👋","type":"text"}],"role":"user"},"kind":"user"}';
  const block = user("Grüße, 世界 👋");
  expect(block.digest).toBe(hex(canonical));
  expect(block.digest).toBe("088e4e8370dbc17251e25d5812aaa0e8b13cb1700c1be6d1e5139b739ed61799");
  const context = sha256(Buffer.concat([sha256("turnlog/context/v1"), sha256(canonical)])).toString("hex");
  expect(emptyContext).toBe(hex("turnlog/context/v1"));
  expect(Turn.of([block]).digest).toBe(context);
  expect(context).toBe("948dedbb465ed47277c03dbc618cf1cbe22628b32a5fd13d368e4ccb89818b07");
});

test("golden: a reasoning item that a server issued counts by scope and item id", () => {
  const canonical = '{"itemId":"rs_1","kind":"reasoning","scope":"https://api.example"}';
  const wire = { scope: "https://api.example", itemId: "rs_1" };
  expect(digestOf("reasoning", { summary: [] }, wire)).toBe(hex(canonical));
  expect(hex(canonical)).toBe("815c21c24e6c6953adaefb0327b42bbebe19b143c7414fb4576328a6dce8f568");
});

test("the order of members does not count; that of parts does", () => {
  expect(messageDigest({ text: "a", type: "text" })).toBe(messageDigest({ type: "text", text: "a" }));
  expect(user([text("a"), text("b")]).digest).not.toBe(user([text("b"), text("a")]).digest);
});

test("kind and role count as they are", () => {
  expect(system("Be brief.").digest).not.toBe(system("Be brief.", "developer").digest);
  expect(digestOf("user", { role: "user" })).not.toBe(digestOf("other", { role: "user" }));
});

test("phase, annotations, names and unknown members count", () => {
  const plain = messageDigest(text("a"));
  const annotated = messageDigest({
    ...text("a"),
    annotations: [{ type: "url_citation", url: "https://example.com" }],
  });
  const digests = [
    messageDigest(text("a"), { phase: "commentary" }),
    messageDigest(text("a"), { phase: "final_answer" }),
    annotated,
    messageDigest(text("a"), { name: "Ann" }),
    messageDigest(text("a"), { hitherto_unknown: true }),
  ];
  expect(new Set([plain, ...digests]).size).toBe(6);
});

test("arguments count as the very string received", () => {
  const call = (text: string): string => toolCall({ callId: "c", name: "n", arguments: text }).digest;
  expect(call('{"a":1}')).not.toBe(call('{"a": 1}'));
  expect(outputDigest('{"a":1}')).not.toBe(outputDigest({ a: 1 }));
});

test("ids, status, creator, log probabilities and the rest of the wire do not count", () => {
  const payload = { role: "assistant", content: [text("a")] };
  const residue = {
    set: { status: "completed", created_by: "agent_1" },
    in: { content: { at: { 0: { set: { logprobs: [] } } } } },
  };
  const block = new Block({ id: null, kind: "assistant", payload });
  const issued = block.withId(blockId(1)).withWire({ scope: "s", itemId: "msg_1", residue });
  expect(issued.digest).toBe(block.digest);
  expect(block.withWire({ scope: "t", itemId: "msg_2" }).digest).toBe(block.digest);
});

test("cache hints do not count, on an item and on its parts", () => {
  const hint = { cache_control: { type: "ephemeral" }, prompt_cache_breakpoint: true };
  expect(messageDigest({ ...text("a"), ...hint }, hint)).toBe(messageDigest(text("a")));
});

test("a member that is only called like a cache hint counts", () => {
  const schema = (properties: JsonObject): string => digestOf("other", { type: "tools", tools: [{ properties }] });
  expect(schema({ cache_control: {}, url: {} })).not.toBe(schema({ url: {} }));
});

test("members that are undefined are absent", () => {
  expect(messageDigest({ ...text("a"), annotations: undefined })).toBe(messageDigest(text("a")));
});

const reasoning = (summary: string, wire: Wire | null = null): Block =>
  new Block({ id: null, kind: "reasoning", payload: { summary: [{ type: "text", text: summary }] }, wire });

test("reasoning of one item id is equal whatever its ciphertext and summary, but not across scopes", () => {
  const first = reasoning("a", { scope: "s", itemId: "rs_1", ciphertext: "x" });
  const again = reasoning("b", { scope: "s", itemId: "rs_1", ciphertext: "y" });
  expect(again.digest).toBe(first.digest);
  expect(reasoning("a", { scope: "s", itemId: "rs_2" }).digest).not.toBe(first.digest);
  expect(reasoning("a", { scope: "t", itemId: "rs_1" }).digest).not.toBe(first.digest);
});

test("reasoning without an item id counts by its text and ciphertext", () => {
  const issued = (summary: string, value: string): string =>
    reasoning(summary, { scope: "s", ciphertext: value }).digest;
  expect(new Set([issued("a", "x"), issued("a", "y"), issued("b", "x"), reasoning("a").digest]).size).toBe(4);
  expect(reasoning("a", { scope: "s" }).digest).toBe(reasoning("a").digest);
});

test("edited reasoning matches nothing that a server holds", () => {
  const issued = reasoning("a", { scope: "s", itemId: "rs_1" });
  const edited = issued.withText("b");
  expect(edited.digest).toBe(reasoning("b").digest);
  expect(edited.digest).not.toBe(issued.digest);
  expect(issued.withPayload(issued.payload).digest).not.toBe(issued.digest);
  expect(issued.withWire(null).digest).toBe(reasoning("a").digest);
});

test("a hosted tool's item counts by its id, because `include` changes what comes with it", () => {
  const search = (more: JsonObject, itemId: string): string =>
    digestOf("other", { type: "web_search_call", ...more }, { scope: "s", itemId });
  expect(search({ action: { sources: [] } }, "ws_1")).toBe(search({}, "ws_1"));
  expect(search({}, "ws_1")).not.toBe(search({}, "ws_2"));
});

test("a message or a call counts by content, though a server gave it an id", () => {
  const call = toolCall({ callId: "c", name: "n", arguments: "{}" });
  expect(call.withWire({ scope: "s", itemId: "fc_1" }).digest).toBe(call.digest);
});

test("a string over 64 KiB of UTF-8 counts as its blob", () => {
  const bytes = 64 * 1024 + 1;
  const long = `${"a".repeat(bytes - 2)}é`;
  const blob = `{"$blob":{"bytes":${bytes},"sha256":"${hex(long)}"}}`;
  const canonical = `{"content":{"callId":"call_1","output":${blob},"type":"function"},"kind":"tool_result"}`;
  expect(outputDigest(long)).toBe(hex(canonical));
});

test("a string of 64 KiB counts as itself", () => {
  const longest = `${"a".repeat(64 * 1024 - 2)}é`;
  const canonical = `{"content":{"callId":"call_1","output":"${longest}","type":"function"},"kind":"tool_result"}`;
  expect(outputDigest(longest)).toBe(hex(canonical));
});

test("an object that looks like a blob or a secret is not equal to one", () => {
  const long = "a".repeat(70_000);
  const lookalike = { $blob: { sha256: hex(long), bytes: long.length } };
  expect(outputDigest(lookalike)).not.toBe(outputDigest(long));
  expect(outputDigest({ $blob: 1 })).not.toBe(outputDigest({ $$blob: 1 }));
  // What stands for a blob in stored data is of a class, not a plain object.
  expect(outputDigest(blobReferenceTo(long))).toBe(outputDigest(long));
});

test("lone surrogates stay distinct, in short strings and in long ones", () => {
  expect(user("\ud800").digest).toBe(
    hex('{"content":{"content":[{"text":"\\ud800","type":"text"}],"role":"user"},"kind":"user"}'),
  );
  const alike = ["\ud800", "\udc00", "\ufffd"];
  expect(new Set(alike.map((unit) => user(unit).digest)).size).toBe(3);
  expect(new Set(alike.map((unit) => user(unit + "a".repeat(70_000)).digest)).size).toBe(3);
});

test("an own member called __proto__ counts", () => {
  expect(outputDigest({ ["__proto__"]: { a: 1 } })).not.toBe(outputDigest({}));
});
