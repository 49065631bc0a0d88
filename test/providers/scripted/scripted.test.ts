import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { type ScriptedProvider, scripted } from "../../../src/providers/scripted/scripted.ts";
import { type Asked, ask, failureOf, idOf, textOf } from "../../support/providers/inferences.ts";
import { itemsOf } from "../../support/providers/recorded-cases.ts";

const question = (content: string): JsonObject => ({ type: "message", role: "user", content });
const send = (provider: ScriptedProvider, body: JsonObject): Promise<Asked> =>
  ask(provider, { bodyText: JSON.stringify({ model: "scripted", ...body }) });

describe("a scripted provider", () => {
  test("answers in order, and streams in small pieces", async () => {
    const provider = scripted(["The weather is fine 🌦🌦🌦🌦.", "It rains."]);
    const { response, deltas } = await send(provider, { input: [question("How is it?")] });
    const pieces = deltas.filter(({ type }) => type === "text-delta");
    expect(textOf(deltas, "text-delta")).toBe("The weather is fine 🌦🌦🌦🌦.");
    expect(pieces.length).toBeGreaterThan(2);
    expect(response).toMatchObject({ status: "completed", model: "scripted", previous_response_id: null });
    expect(textOf((await send(provider, { input: [] })).deltas, "text-delta")).toBe("It rains.");
  });

  test("answers in one piece over JSON", async () => {
    const { deltas } = await send(scripted(["The weather is fine."], { transport: "json" }), { input: [] });
    expect(deltas.map(({ type }) => type)).toEqual(["text-delta", "item-done"]);
  });

  test("puts reasoning first, then items, text and calls, and seals the reasoning when asked", async () => {
    const items = [{ type: "web_search_call", id: "ws_1", status: "completed", action: {} }];
    const calls = [
      { name: "weather", arguments: { city: "Paris" } },
      { name: "raw", arguments: "{ }", callId: "call_7" },
    ];
    const provider = scripted([{ reasoning: "hm", text: "Looking", calls, items }]);
    const { response } = await send(provider, { input: [], include: ["reasoning.encrypted_content"] });
    expect(itemsOf(response["output"])[0]?.["encrypted_content"]).toMatch(/^sealed:/);
    expect(response["output"]).toMatchObject([
      { type: "reasoning", summary: [{ text: "hm" }] },
      items[0],
      { type: "message", content: [{ text: "Looking" }] },
      { type: "function_call", name: "weather", arguments: '{"city":"Paris"}' },
      { type: "function_call", name: "raw", arguments: "{ }", call_id: "call_7" },
    ]);
  });

  test("continues from a response it knows, and reads it all", async () => {
    const provider = scripted([
      "one",
      ({ requestNumber, context }) => `request ${requestNumber} read ${context.length} items`,
    ]);
    const first = await send(provider, { input: [question("a")] });
    const second = await send(provider, { previous_response_id: idOf(first), input: [question("b")] });
    expect(textOf(second.deltas, "text-delta")).toBe("request 1 read 3 items");
    expect(second.response["previous_response_id"]).toBe(idOf(first));
    expect(provider.reading(1)).toEqual([question("a"), ...itemsOf(first.response["output"]), question("b")]);
    expect(provider.requests.map((body) => body["input"])).toEqual([[question("a")], [question("b")]]);
  });

  test("continues twice from the same response", async () => {
    const provider = scripted(() => "ok");
    const root = idOf(await send(provider, { input: [question("root")] }));
    await send(provider, { previous_response_id: root, input: [question("left")] });
    await send(provider, { previous_response_id: root, input: [question("right")] });
    expect(provider.reading(2).map(({ content }) => content)).not.toContainEqual("left");
    expect(provider.reading(2)).toHaveLength(3);
  });

  test.each([
    ["one it never gave", "resp_never", true],
    ["one it did not store", null, false],
  ])("has lost %s", async (_, given, store) => {
    const provider = scripted(() => "ok");
    const first = await send(provider, { input: [], store });
    const failure = await failureOf(send(provider, { previous_response_id: given ?? idOf(first), input: [] }));
    expect(failure).toMatchObject({
      kind: "lost-state",
      outcome: "rejected",
      status: 400,
      providerCode: "previous_response_not_found",
    });
  });

  test("gives the same ids to the same requests, and never one id two meanings", async () => {
    const ask2 = async (texts: readonly string[], input: string, prefix = ""): Promise<string> =>
      idOf(await send(scripted(texts, { prefix }), { input: [question(input)] }));
    expect(await ask2(["x"], "a")).toBe(await ask2(["x"], "a"));
    const ids = [
      await ask2(["x"], "a"),
      await ask2(["x"], "b"),
      await ask2(["y"], "a"),
      await ask2(["x"], "a", "other_"),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  test("fails as the script says", async () => {
    const error = { status: 429, code: "rate_limit_exceeded", message: "Slow down" };
    const provider = scripted([{ error }, { status: "failed" }, { status: "incomplete", text: "half" }]);
    expect(await failureOf(send(provider, { input: [] }))).toMatchObject({
      kind: "rate-limited",
      status: 429,
      message: "Slow down",
    });
    expect(await failureOf(send(provider, { input: [] }))).toMatchObject({ kind: "server-error", outcome: "unknown" });
    const { response } = await send(provider, { input: [] });
    expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  });

  test("says so when the script is over", async () => {
    const failure = await failureOf(send(scripted([]), { input: [] }));
    expect(failure.message).toBe("the script has 0 answers, but this is request 1: give it more");
  });

  test("stops when it is aborted, and keeps what had come", async () => {
    const controller = new AbortController();
    const provider = scripted([{ reasoning: "hm", text: "a long text in several pieces" }]);
    const onDelta = ({ type }: { readonly type: string }): void => {
      if (type === "text-delta") controller.abort();
    };
    const asked = ask(provider, { bodyText: '{"input":[]}', signal: controller.signal, onDelta });
    expect(await failureOf(asked)).toMatchObject({
      kind: "aborted",
      outcome: "unknown",
      partial: [{ type: "reasoning" }, { type: "message", status: "in_progress", content: [{ text: "a long t" }] }],
    });
  });
});
