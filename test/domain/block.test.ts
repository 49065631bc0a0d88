import { expect, test } from "vitest";
import { Block, idOf } from "../../src/domain/block.ts";
import {
  assistant,
  audio,
  file,
  image,
  other,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from "../../src/domain/make-block.ts";
import { answered, blockId, said } from "../support/domain/turn-builders.ts";

const call = toolCall({ callId: "call_1", name: "weather", arguments: '{"city":"Paris"}' });
const result = toolResult({ callId: "call_1", output: "72F" });
const thought = new Block({
  id: blockId(1),
  kind: "reasoning",
  payload: { summary: [{ type: "summary_text", text: "Think." }] },
  wire: { scope: "s", itemId: "rs_1", residue: { set: { encrypted_content: "x" } } },
});

test("a message says its kind, role and text", () => {
  expect([user("Hi"), assistant("Hello"), system("Be brief."), system("Be brief.", "developer")]).toMatchObject([
    { kind: "user", role: "user", text: "Hi" },
    { kind: "assistant", role: "assistant", text: "Hello" },
    { kind: "system", role: "system", text: "Be brief." },
    { kind: "system", role: "developer", text: "Be brief." },
  ]);
  expect(assistant("Hm", "commentary").payload).toHaveProperty("phase", "commentary");
  expect(assistant("Hm").payload).not.toHaveProperty("phase");
});

test("parts are those of a message, and its text is what a person reads of them", () => {
  const parts = [
    text("See "),
    image("data:,"),
    file({ fileId: "file_1" }),
    audio("AA==", "wav"),
    { type: "refusal", refusal: "no" },
  ];
  expect(user(parts).parts).toEqual(parts);
  expect(user(parts).text).toBe("See no");
  expect(call.parts).toEqual([]);
});

test("a call says its name, call id and arguments, and a result its call id and output", () => {
  expect(call).toMatchObject({
    name: "weather",
    callId: "call_1",
    arguments: '{"city":"Paris"}',
    type: "function",
  });
  expect(result).toMatchObject({
    callId: "call_1",
    text: "72F",
    type: "function",
    name: null,
    role: null,
  });
  expect(toolResult({ callId: "c", output: [text("a"), text("b")] }).text).toBe("ab");
  expect(toolResult({ callId: "c", output: null }).text).toBe("");
  expect(toolResult({ callId: "c", output: { a: 1 } }).text).toBe('{"a":1}');
});

test("parts of a result in the words of a model's API are said in ours; other data stays as it is", () => {
  const output = [
    { type: "input_text", text: "a" },
    { type: "input_image", image_url: "https://a.example/i.png" },
    { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AQID" },
  ];
  expect(toolResult({ callId: "c", output }).payload["output"]).toEqual([
    text("a"),
    { type: "image", url: "https://a.example/i.png" },
    { type: "file", name: "a.pdf", data: "data:application/pdf;base64,AQID" },
  ]);
  for (const data of [[{ type: "row" }], [1], ["input_text"], { type: "input_text" }])
    expect(toolResult({ callId: "c", output: data }).payload["output"]).toEqual(data);
});

test("an item's type is its payload's, or else follows from its kind", () => {
  expect([thought.type, user("Hi").type]).toEqual(["reasoning", "message"]);
  expect(new Block({ id: null, kind: "other", payload: { type: "web_search_call" } }).type).toBe("web_search_call");
});

test("withText changes what a person reads, whatever the kind", () => {
  const custom = new Block({ id: null, kind: "tool_call", payload: { type: "custom", arguments: "old" } });
  for (const block of [user("old"), assistant("old"), call, custom, result, thought]) {
    const changed = block.withText("new");
    expect([changed.text, changed.kind, changed.id]).toEqual(["new", block.kind, block.id]);
    expect(changed.digest).not.toBe(block.digest);
  }
  expect(custom.withText("new").payload).toEqual({ type: "custom", arguments: "new" });
  expect(call.withText("{}").payload).toMatchObject({ name: "weather", arguments: "{}" });
});

test("withText leaves in place what is no text: images, files and audio", () => {
  const [chart, report] = [image("https://example.test/a.png"), file({ fileId: "file_1" })];
  const mixed = user([chart, text("My address"), report, text(" is secret.")]);
  expect(mixed.withText("[hidden]").parts).toEqual([chart, text("[hidden]"), report]);
  expect(user([chart]).withText("A chart:").parts).toEqual([text("A chart:"), chart]);
  expect(assistant([{ type: "refusal", refusal: "No." }]).withText("Yes.").parts).toEqual([text("Yes.")]);
  const drawn = toolResult({ callId: "call_1", output: [text("A chart:"), chart] });
  expect(drawn.withText("Cut.").payload["output"]).toEqual([text("Cut."), chart]);
  expect(toolResult({ callId: "call_1", output: [text("A text.")] }).withText("Cut.").payload["output"]).toBe("Cut.");
});

test("withText gives the block itself where it says that already, with all that its provider issued", () => {
  const picture = user([image("https://example.test/a.png")]);
  for (const block of [user([text("a"), text("b")]), picture, thought, call, result, answered(1, "msg_1")])
    expect(block.withText(block.text)).toBe(block);
});

test("an edited block is no longer the item that the provider issued", () => {
  expect(thought.withText("Think more.").wire).toBeNull();
  expect(answered(1, "msg_1").withPayload({ role: "assistant", content: [] }).wire).toBeNull();
});

test("an edit does not make a cut-off answer a complete one", () => {
  const cut = call.withWire({ scope: "s", itemId: "fc_1", partial: true });
  expect(cut.withText("{}").wire).toEqual({ scope: "s", partial: true });
});

test("keeps its object where nothing changes, and its digest under another id", () => {
  const block = said(1);
  expect(block.withId(block.id)).toBe(block);
  expect(block.withWire(null)).toBe(block);
  expect(block.withId(blockId(2)).digest).toBe(block.digest);
  expect(block.withId(null).id).toBeNull();
  expect(thought.withId(blockId(2)).wire).toBe(thought.wire);
});

test("has an id once it is recorded; a draft's is a bug", () => {
  expect(idOf(said(1))).toBe(blockId(1));
  expect(() => idOf(user("Hi"))).toThrow("no id");
});

test("is written with its wire residue where it has one", () => {
  expect(said(1).toJSON()).toEqual({ id: blockId(1), kind: "user", payload: said(1).payload });
  expect(thought.toJSON()).toEqual({ id: blockId(1), kind: "reasoning", payload: thought.payload, wire: thought.wire });
});

test("an item that only a provider understands, and that it gives no type, is no message", () => {
  expect(other({ map: { lat: 1.5 } }).type).toBe("other");
  expect(other({ type: "web_search_call" }).type).toBe("web_search_call");
});
