import { expect, test } from "vitest";
import {
  type JsonObject,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isObject, parseJson, stringOf } from "../../../packages/reference-server/src/wire.ts";

const long = (text: string): string => `${text} ${"word ".repeat(60)}`;

async function post(url: string, body: JsonObject): Promise<{ readonly status: number; readonly answer: JsonObject }> {
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(url, sent);
  const answer = parseJson(await response.text());
  return { status: response.status, answer: isObject(answer) ? answer : {} };
}

/** Asks a front twice: the second time with changes, and compared with the first answer. */
async function twice(
  front: "responses" | "messages",
  changes: JsonObject,
  options: ReferenceServerOptions = {},
): Promise<JsonObject> {
  await using server = await startReferenceServer({ seed: "diagnosis", ...options });
  const said = [{ role: "user", content: long("one") }];
  const system = long("Be kind.");
  const tools = [{ type: "function", name: "look-up", input_schema: {} }];
  const first: JsonObject =
    front === "responses"
      ? { model: "m-1", instructions: system, tools, input: said }
      : { model: "m-1", system, tools, max_tokens: 9, messages: said, diagnostics: { previous_message_id: null } };
  const url = `${server.url}/v1/${front}`;
  const before = await post(url, first);
  const id = stringOf(before.answer["id"]) ?? "";
  const asked =
    front === "responses"
      ? { prompt_cache_options: { comparison_response_id: id } }
      : { diagnostics: { previous_message_id: id } };
  const { answer } = await post(url, { ...first, ...asked, ...changes });
  return answer;
}

const more = [
  { role: "user", content: long("one") },
  { role: "assistant", content: "Hello." },
  { role: "user", content: "two" },
];
const edited = [{ role: "user", content: long("two") }];

test.each<[string, JsonObject, string]>([
  ["a further message", { input: more }, "cache_hit"],
  ["another model", { model: "m-2" }, "model_changed"],
  ["other instructions", { instructions: "Be brief." }, "input_changed"],
  ["no tools", { tools: [] }, "tools_changed"],
  ["another message", { input: edited }, "input_changed"],
  ["another effort", { reasoning: { effort: "low" } }, "reasoning_effort_changed"],
  ["another format", { text: { format: { type: "json_object" } } }, "text_format_changed"],
  ["another verbosity", { text: { verbosity: "low" } }, "verbosity_changed"],
  ["another key", { prompt_cache_key: "b" }, "prompt_cache_key_changed"],
  ["another tier", { service_tier: "flex" }, "service_tier_changed"],
  ["parallel calls off", { parallel_tool_calls: false }, "unavailable"],
])("a response says of %s what differs: %j is %s", async (_, changes, expected) => {
  const { prompt_cache_diagnostics: said } = await twice("responses", changes);
  const { type, reason } = isObject(said) ? said : {};
  expect(type === "cache_miss" ? reason : type).toBe(expected);
});

test("a response says how many tokens of the earlier prompt are lost, and how many are not", async () => {
  const { prompt_cache_diagnostics: said, usage } = await twice("responses", { input: edited });
  const { cache_missed_tokens: lost, comparison_reusable_tokens: reusable } = isObject(said) ? said : {};
  const { input_tokens: input } = isObject(usage) ? usage : {};
  expect(Number(lost) + Number(reusable)).toBe(input);
  expect([Number(lost) > 60, Number(reusable) > 60]).toEqual([true, true]);
});

test("an equal prompt whose entry has expired gets no diagnosis, and an unknown response is said to be", async () => {
  let now = 0;
  const caches = { responses: { lifetimesMs: { default: 1_000 } } };
  const options = { caches, now: () => (now += 10_000) };
  expect(await twice("responses", {}, options)).toMatchObject({ prompt_cache_diagnostics: { type: "unavailable" } });
  const unknown = { prompt_cache_options: { comparison_response_id: "resp_0" } };
  expect(await twice("responses", unknown)).toMatchObject({
    prompt_cache_diagnostics: { type: "comparison_response_not_found" },
  });
  expect(await twice("responses", { prompt_cache_options: {} })).not.toHaveProperty("prompt_cache_diagnostics");
});

test.each<[string, JsonObject, string | null]>([
  ["a further message", { messages: more }, null],
  ["another model", { model: "m-2" }, "model_changed"],
  ["another speed", { speed: "fast" }, "model_changed"],
  ["another system prompt", { system: "Be brief." }, "system_changed"],
  ["no system prompt", { system: [] }, "system_changed"],
  ["no tools", { tools: [] }, "tools_changed"],
  ["another message", { messages: edited }, "messages_changed"],
  ["a tool choice", { tool_choice: { type: "any" } }, "unavailable"],
  ["an unknown message", { diagnostics: { previous_message_id: "msg_0" } }, "previous_message_not_found"],
])("a message says of %s what differs: %j is %s", async (_, changes, expected) => {
  const { diagnostics } = await twice("messages", changes);
  const { cache_miss_reason: told = null } = isObject(diagnostics) ? diagnostics : {};
  expect(isObject(told) ? told["type"] : told).toBe(expected);
});

test("a message says nothing unless it is asked", async () => {
  await using server = await startReferenceServer({ seed: "diagnosis" });
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "one" }] };
  const url = `${server.url}/v1/messages`;
  expect((await post(url, body)).answer).not.toHaveProperty("diagnostics");
  const first = await post(url, { ...body, diagnostics: { previous_message_id: null } });
  expect(first.answer["diagnostics"]).toBeNull();
  expect((await post(url, { ...body, diagnostics: {} })).status).toBe(400);
});

test("a server without diagnostics rejects them by name", async () => {
  await using server = await startReferenceServer({ unsupported: ["diagnostics", "prompt_cache_options"] });
  const messages = [{ role: "user", content: "one" }];
  const asked = { diagnostics: { previous_message_id: null } };
  const { answer } = await post(`${server.url}/v1/messages`, { model: "m", max_tokens: 9, messages, ...asked });
  expect(answer).toMatchObject({ error: { message: "diagnostics: Extra inputs are not permitted" } });
  const compared = { prompt_cache_options: { comparison_response_id: "resp_0" } };
  const rejected = await post(`${server.url}/v1/responses`, { model: "m", input: "one", ...compared });
  expect(rejected.answer).toMatchObject({ error: { param: "prompt_cache_options" } });
});
