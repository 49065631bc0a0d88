import { expect, test } from "vitest";
import {
  compaction,
  customCall,
  functionCall,
  hosted,
  image,
  type JsonObject,
  message,
  reasoning,
  refusalMessage,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { isObject, objectsOf, stringOf } from "../../packages/reference-server/src/wire.ts";
import { create, idOf, omit, outputOf, stream, textOf } from "../support/reference-server/wire-client.ts";

const everything: ScriptedAnswer = {
  output: [
    reasoning({ summary: "I think, 🙂 therefore I stream text in pieces", content: "readable" }),
    message("a long text with emoji 🙂🙂🙂🙂🙂 and annotations", {
      phase: "commentary",
      annotations: [{ type: "url_citation", url: "https://example.com", start_index: 0, end_index: 1, title: "t" }],
    }),
    refusalMessage("I will not say that, not even slowly"),
    hosted({ type: "web_search_call", status: "completed", action: { type: "search", query: "q" } }),
    hosted({ type: "mcp_call", arguments: '{"a":1}', name: "n", server_label: "s", status: "completed", output: "o" }),
    hosted({ type: "code_interpreter_call", code: "print(1)", container_id: "c", outputs: [], status: "completed" }),
    hosted({ type: "mcp_list_tools", server_label: "s", tools: [] }),
    image("aW1hZ2U="),
    compaction(),
    functionCall("f", '{"long":"arguments that take several deltas"}', { namespace: "ns" }),
    customCall("c", "free text input of a custom tool"),
    message(""),
  ],
};

/** What a client holds after a stream: items from the frames alone, the terminal event not looked at. */
function assembled(frames: readonly JsonObject[]): readonly JsonObject[] {
  const texts = new Map<string, string>();
  const items: JsonObject[] = [];
  for (const frame of frames) {
    const { type, item } = frame;
    const key = `${idOf({ id: frame["item_id"] ?? "" })} ${Number(frame["content_index"] ?? frame["summary_index"] ?? 0)} ${textOf(type).replace(/\.(delta|done)$/, "")}`;
    if (textOf(type).endsWith(".delta")) texts.set(key, (texts.get(key) ?? "") + (stringOf(frame["delta"]) ?? ""));
    const whole = ["text", "refusal", "arguments", "input", "code"].map((member) => stringOf(frame[member]));
    const isTextDone = /_(text|arguments|input|code)\.done$|refusal\.done$/.test(textOf(type));
    if (isTextDone) expect([texts.get(key) ?? ""]).toEqual(whole.filter((text) => text !== undefined));
    if (type === "response.output_item.done" && isObject(item)) items[Number(frame["output_index"])] = item;
  }
  return items;
}

const withoutCiphertext = (items: readonly JsonObject[]) => items.map((item) => omit(item, "encrypted_content"));

test("frames are numbered, in the order of the real service, and rebuild the final response", async () => {
  await using server = await startReferenceServer({ answer: () => everything, deltaLength: 5 });
  const { frames } = await stream(server, { input: "go", include: ["reasoning.encrypted_content"] });
  expect(frames.map((frame) => frame["sequence_number"])).toEqual(frames.map((_, index) => index));
  const types = frames.map((frame) => textOf(frame["type"]));
  expect(types.slice(0, 3)).toEqual(["response.created", "response.in_progress", "response.output_item.added"]);
  const inMessage = [...new Set(types.slice(types.indexOf("response.content_part.added")))].slice(0, 6);
  expect(inMessage).toEqual(
    [
      "content_part.added",
      "output_text.delta",
      "output_text.annotation.added",
      "output_text.done",
      "content_part.done",
      "output_item.done",
    ].map((type) => `response.${type}`),
  );
  const last = frames.at(-1);
  const final = isObject(last?.["response"]) ? last["response"] : {};
  expect(last?.["type"]).toBe("response.completed");
  expect(withoutCiphertext(assembled(frames))).toEqual(withoutCiphertext(outputOf(final)));
  expect(outputOf(final)).toHaveLength(everything.output.length);
  const retrieved = server.response(idOf(final)) ?? {};
  expect(withoutCiphertext(outputOf(retrieved))).toEqual(withoutCiphertext(outputOf(final)));
  expect({ ...retrieved, output: [] }).toEqual({ ...final, output: [] });
});

test("no delta cuts a surrogate pair", async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [message("🙂".repeat(9))] }),
    deltaLength: 3,
  });
  const { frames } = await stream(server, { input: "go" });
  const deltas = frames.flatMap((frame) => stringOf(frame["delta"]) ?? []);
  expect(deltas.join("")).toBe("🙂".repeat(9));
  expect(deltas.every((delta) => delta.isWellFormed())).toBe(true);
});

test("started items are empty and in progress, started responses have no output and no usage", async () => {
  await using server = await startReferenceServer({ answer: () => everything });
  const { frames } = await stream(server, { input: "go" });
  expect(frames[0]?.["response"]).toMatchObject({ status: "in_progress", output: [], usage: null, completed_at: null });
  const added = frames.filter((frame) => frame["type"] === "response.output_item.added").map((frame) => frame["item"]);
  expect(added[1]).toMatchObject({ type: "message", status: "in_progress", content: [] });
  expect(added[9]).toMatchObject({ type: "function_call", status: "in_progress", arguments: "" });
});

test("encrypted items differ between the added, the done and the last frame", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output: [reasoning(), message("a")] }) });
  const { frames } = await stream(server, { input: "go", include: ["reasoning.encrypted_content"] });
  const last = frames.at(-1)?.["response"];
  const items = [...frames.map((frame) => frame["item"]), ...objectsOf(isObject(last) ? last["output"] : [])];
  const texts = items.filter(isObject).flatMap((item) => stringOf(item["encrypted_content"]) ?? []);
  expect([texts.length, new Set(texts).size]).toEqual([3, 3]);
});

test.each([
  ["failed", { status: "failed", error: { code: "server_error", message: "no" } }],
  ["incomplete", { status: "incomplete", incompleteDetails: { reason: "max_output_tokens" } }],
] as const)("a response that is %s ends its stream so", async (status, rest) => {
  await using server = await startReferenceServer({ answer: () => ({ output: [message("half")], ...rest }) });
  const { frames } = await stream(server, { input: "go" });
  expect(frames.at(-1)).toMatchObject({ type: `response.${status}`, response: { status, completed_at: null } });
});

test("a background response is queued first, may be cancelled, and is there to retrieve", async () => {
  await using server = await startReferenceServer();
  const { body } = await create(server, { input: "go", background: true });
  expect(body).toMatchObject({ status: "queued", background: true, output: [] });
  expect(server.response(idOf(body))).toMatchObject({ status: "completed" });
  const { frames } = await stream(server, { input: "go", background: true });
  expect(frames.slice(0, 3).map((frame) => frame["type"])).toEqual([
    "response.created",
    "response.queued",
    "response.in_progress",
  ]);
});
