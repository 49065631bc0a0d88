import { expect, test } from "vitest";
import {
  type Json,
  type JsonObject,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { isObject, stringOf } from "../../packages/reference-server/src/wire.ts";
import { isLong } from "../support/cases.ts";
import { accepted, create, idOf, send, toolOutput, user } from "../support/reference-server/wire-client.ts";

async function codeOf(body: JsonObject, options: ReferenceServerOptions = {}): Promise<string> {
  await using server = await startReferenceServer(options);
  const { body: answer } = await create(server, body);
  const error = isObject(answer["error"]) ? answer["error"] : {};
  return Object.keys(error).length === 0
    ? "accepted"
    : [error["code"], error["param"]].map((value) => stringOf(value) ?? "null").join(" ");
}

const assistant = (content: JsonObject): JsonObject => ({ role: "assistant", content: [content] });

test.each<readonly [string, JsonObject]>([
  ["missing_required_parameter model", { model: null, input: "a" }],
  ["invalid_type model", { model: 1, input: "a" }],
  ["missing_required_parameter input", {}],
  ["empty_array input", { input: [] }],
  ["invalid_type input", { input: 7 }],
  ["unknown_parameter inputs", { inputs: "a", input: "a" }],
  ["invalid_type input[0]", { input: ["a"] }],
  ["invalid_value input[1]", { input: [user("a"), { type: "bogus_item" }] }],
  ["unknown_parameter input[0].bogus", { input: [{ ...user("a"), bogus: 1 }] }],
  ["unknown_parameter input[0].created_by", { input: [{ ...toolOutput("c", "o"), created_by: "x" }] }],
  ["missing_required_parameter input[0].output", { input: [{ type: "function_call_output", call_id: "c" }] }],
  ["missing_required_parameter input[0].summary", { input: [{ type: "reasoning" }] }],
  ["invalid_type input[0].output", { input: [{ ...toolOutput("c", "o"), output: 7 }] }],
  ["invalid_type input[0].id", { input: [{ ...toolOutput("c", "o"), id: null }] }],
  ["invalid_type input[0].call_id", { input: [{ ...toolOutput("c", "o"), call_id: null }] }],
  ["invalid_value input[0].status", { input: [{ ...user("a"), status: "bogus" }] }],
  ["invalid_value input[0].role", { input: [{ role: "wizard", content: "a" }] }],
  ["invalid_value input[0].content[0]", { input: [assistant({ type: "input_text", text: "a" })] }],
  ["invalid_value input[0].content[0]", { input: [{ role: "user", content: [{ type: "output_text", text: "a" }] }] }],
  ["unknown_parameter input[0].content[0].bogus", { input: [assistant({ type: "output_text", text: "a", bogus: 1 })] }],
  ["missing_required_parameter input[0].content[0].text", { input: [assistant({ type: "output_text" })] }],
  ["unknown_parameter input[0].phase", { input: [{ ...user("a"), phase: "final_answer" }] }],
  ["invalid_value input[0].phase", { input: [{ role: "assistant", content: "a", phase: "bogus" }] }],
  ["invalid_value input[0]", { input: [{ type: "compaction_trigger" }, user("a")] }],
  ["accepted", { input: [user("a"), { type: "compaction_trigger" }] }],
  ["accepted", { input: [{ role: "assistant", content: "a", phase: "commentary", status: null }] }],
  ["accepted", { input: [assistant({ type: "refusal", refusal: "no" })] }],
  ["invalid_type instructions", { input: "a", instructions: 7 }],
  ["accepted", { input: "a", client_metadata: { originator: "codex_cli_rs" } }],
  ["invalid_type client_metadata", { input: "a", client_metadata: "codex" }],
  ["invalid_type store", { input: "a", store: "yes" }],
  ["invalid_type tools[0]", { input: "a", tools: ["f"] }],
  ["missing_required_parameter tools[0].name", { input: "a", tools: [{ type: "function" }] }],
  ["integer_below_min_value max_output_tokens", { input: "a", max_output_tokens: 15 }],
  ["accepted", { input: "a", max_output_tokens: 16, previous_response_id: null, tools: null }],
  ["decimal_below_min_value temperature", { input: "a", temperature: -1 }],
  ["null null", { input: "a", conversation: "conv_x" }],
])("answers %s", async (expected, body) => {
  expect(await codeOf(body)).toBe(expected);
});

test("looks at the model, then keys, items, fields, state and capabilities, and names the first that is wrong", async () => {
  const wrongs: readonly (readonly [string, JsonObject])[] = [
    ["missing_required_parameter model", { model: null }],
    ["unknown_parameter zzz", { zzz: 1 }],
    ["unknown_parameter input[0].bogus", { input: [{ ...user("a"), bogus: 1 }] }],
    ["integer_below_min_value max_output_tokens", { max_output_tokens: 0 }],
    ["previous_response_not_found previous_response_id", { previous_response_id: "resp_x" }],
    ["null top_p", { top_p: 0.5 }],
  ];
  for (const [index, [expected]] of wrongs.entries()) {
    const fields = wrongs.slice(index).map(([, body]) => body);
    const body: JsonObject = Object.fromEntries([{ input: [user("a")] }, ...fields].flatMap(Object.entries<Json>));
    expect(await codeOf(body, { unsupported: ["top_p"] })).toBe(expected);
  }
});

test("models, parameters and values are refused as configured", async () => {
  const effort = { path: "reasoning.effort", value: "minimal", supported: ["low", "medium", "high"] };
  const options = { models: ["m"], unsupported: ["top_p"], unsupportedValues: [effort] };
  expect(await codeOf({ input: "a" }, options)).toBe("accepted");
  expect(await codeOf({ input: "a", model: "n" }, options)).toBe("model_not_found model");
  expect(await codeOf({ input: "a", top_p: 1 }, options)).toBe("null top_p");
  expect(await codeOf({ input: "a", reasoning: { effort: "minimal" } }, options)).toBe(
    "unsupported_value reasoning.effort",
  );
  expect(await codeOf({ input: "a", reasoning: { effort: "low" } }, options)).toBe("accepted");
});

test("a context that grows too long is refused, wherever it grew", async () => {
  await using server = await startReferenceServer({ maxContextTokens: 200 });
  const first = await accepted(server, { input: "a".repeat(300) });
  const { body } = await create(server, { input: "b".repeat(600), previous_response_id: idOf(first) });
  expect(body["error"]).toMatchObject({ code: "context_length_exceeded", param: "input" });
});

test("a body that is no JSON, an unknown path and an oversize body get errors, not a crash", async () => {
  await using server = await startReferenceServer({ maxBodyBytes: 1_000 });
  const post = (body: string) => send(server, "/responses", { method: "POST", body });
  expect((await post("{")).status).toBe(400);
  expect((await post("[]")).status).toBe(400);
  expect((await post(JSON.stringify({ model: "m", input: "a".repeat(2_000) }))).status).toBe(413);
  expect((await send(server, "/nothing")).status).toBe(404);
  expect(server.requests.map(({ status }) => status)).toEqual([400, 400, 413, 404]);
});

const megabytes = isLong ? 100 : 20;

test(`takes a body of ${megabytes} MB and keeps it to the byte`, async () => {
  await using server = await startReferenceServer();
  const text = JSON.stringify({
    model: "m",
    input: [{ role: "user", content: [{ type: "input_image", image_url: "x".repeat(megabytes * 1024 * 1024) }] }],
  });
  const { status } = await send(server, "/responses", { method: "POST", body: text });
  expect(status).toBe(200);
  expect(server.requests[0]?.bodyText === text).toBe(true);
});

test("echoes settings, counts usage from sizes alone, and lists what arrived", async () => {
  await using server = await startReferenceServer({ seed: "s" });
  const body = {
    input: "a",
    metadata: { k: "v" },
    reasoning: { effort: "low" },
    tool_choice: "none",
    parallel_tool_calls: false,
  };
  const first = await accepted(server, body);
  expect(first).toMatchObject({
    metadata: { k: "v" },
    reasoning: { effort: "low" },
    tool_choice: "none",
    parallel_tool_calls: false,
    store: true,
    model: "m",
    truncation: "disabled",
  });
  const second = await accepted(server, { ...body, input: "b", previous_response_id: idOf(first) });
  const { usage } = second;
  expect(
    isObject(usage) && isObject(usage["input_tokens_details"]) && usage["input_tokens_details"]["cached_tokens"],
  ).toBeGreaterThan(0);
  expect(
    server.requests.map(({ index, method, path, status, responseId }) => [index, method, path, status, responseId]),
  ).toEqual([
    [0, "POST", "/v1/responses", 200, idOf(first)],
    [1, "POST", "/v1/responses", 200, idOf(second)],
  ]);
  expect(server.responseIds()).toEqual([idOf(first), idOf(second)]);
  server.clear();
  expect([server.requests, server.responseIds()]).toEqual([[], []]);
});
