import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  functionCall,
  type JsonObject,
  message,
  type ReferenceServer,
  readItems,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isObject, parseJson, stringOf } from "../../../packages/reference-server/src/wire.ts";

let server: ReferenceServer;
let answer: ScriptedAnswer;
beforeAll(async () => {
  server = await startReferenceServer({
    ...{ seed: "interactions", answer: () => answer, models: ["gemini-3-pro"], maxContextTokens: 2_000 },
  });
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.clear();
  answer = { output: [message("Hello.")] };
});

async function post(body: unknown) {
  const told = await fetch(`${server.baseUrl}/interactions`, { method: "POST", body: JSON.stringify(body) });
  return { status: told.status, text: await told.text() };
}
async function asked(input: unknown, more: JsonObject = {}) {
  const { status, text } = await post({ model: "gemini-3-pro", ...more, input });
  const body = parseJson(text);
  return { status, body: isObject(body) ? body : {} };
}
async function refusal(input: unknown, more: JsonObject = {}) {
  const { status, body } = await asked(input, more);
  const { error = null } = body;
  return isObject(error) ? `${status} ${stringOf(error["code"])}: ${stringOf(error["message"])}` : String(status);
}
const result = (callId: string, more: JsonObject = {}): JsonObject => ({
  ...{ type: "function_result", name: "one", call_id: callId, result: "1" },
  ...more,
});
const weather = () => functionCall("one", '{"a":1}', { callId: "c1" });

test("an interaction is kept with all steps of its context, and can be continued repeatedly", async () => {
  answer = { output: [reasoning({ summary: "Hm." }), weather()] };
  const first = await asked("Hi.", { system_instruction: "Be." });
  expect(first.body).toMatchObject({
    status: "requires_action",
    steps: [
      { type: "thought", summary: [{ type: "text", text: "Hm." }] },
      { type: "function_call", id: "c1" },
    ],
  });
  answer = { output: [message("Hello.")] };
  const parent = { previous_interaction_id: stringOf(first.body["id"]) ?? "" };
  for (const text of ["1", "2"]) {
    const next = await asked([result("c1", { result: text })], parent);
    expect(next.body).toMatchObject({ status: "completed", ...parent });
  }
  const { items = [] } = server.reading(2) ?? {};
  // The instructions of the parent are not passed on.
  expect(items.map(({ type, role }) => role ?? type)).toEqual([
    "user",
    "reasoning",
    "function_call",
    "function_call_output",
  ]);
  expect(readItems(items).at(-1)).toMatch(/^tool \| result .* call#0/);
});

test("what is not stored, or was forgotten, cannot be continued", async () => {
  const { body: unkept } = await asked("Hi.", { store: false });
  expect(await refusal("And?", { previous_interaction_id: stringOf(unkept["id"]) ?? "" })).toBe(
    "404 not_found: Requested entity was not found.",
  );
  const { body: kept } = await asked("Hi.");
  server.forget(stringOf(kept["id"]) ?? "");
  expect(await refusal("And?", { previous_interaction_id: stringOf(kept["id"]) ?? "" })).toMatch(/^404 not_found/);
});

test("refuses what Google refuses", async () => {
  answer = { output: [weather()] };
  const { body } = await asked("Hi.");
  const parent = { previous_interaction_id: stringOf(body["id"]) ?? "" };
  const [call] = [{ type: "function_call", id: "c1", name: "one", arguments: {} }];
  expect(await refusal("And?", parent)).toMatch(/^400 invalid_request: .*number of function response parts is equal/);
  expect(await refusal([result("c2")], parent)).toMatch(
    /^400 .*immediately after a function call turn\. Got .* 'one'\.$/,
  );
  expect(await refusal([result("c1", { name: "" })], parent)).toBe("400 invalid_request: Invalid input received.");
  expect(await refusal([call])).toMatch(/number of function response parts/);
  expect(await refusal([{ type: "user_input", content: [] }])).toMatch(/Invalid input received/);
  expect(await refusal([])).toMatch(/Invalid input received/);
  expect(await refusal([{ type: "thought", signature: "foreign" }])).toMatch(/Thought signature is not valid/);
  expect(await refusal("Hi.", { temperature: 1 })).toMatch(/Unknown parameter 'temperature'/);
  expect(await refusal("Hi.", { model: "gemini-0" })).toMatch(/^404 not_found: .*gemini-0/);
  expect(await refusal("x".repeat(9_000))).toMatch(/exceeds the maximum number of tokens allowed/);
});

test("streams the events that Google documents, and counts what it has read before", async () => {
  answer = { output: [reasoning({ summary: "Hm." }), message("Hello."), weather()] };
  const { text } = await post({ model: "gemini-3-pro", input: "Hi.", stream: true });
  const events = text.split("\n\n").flatMap((each) => /^event: (.*)$/m.exec(each)?.[1] ?? []);
  expect(events.filter((event, n) => event !== events[n - 1])).toEqual([
    ...["interaction.created", "interaction.status_update", "step.start", "step.delta", "step.stop"],
    ...["step.start", "step.delta", "step.stop", "step.start", "step.delta", "step.stop"],
    ...["interaction.completed", "done"],
  ]);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  answer = { output: [message("Hello.")] };
  const again = await asked("Hi.");
  const { usage = null } = again.body;
  expect(isObject(usage) && Number(usage["total_cached_tokens"]) > 0).toBe(true);
});

test("a stream that breaks off is kept if its client has the completed interaction, and not before", async () => {
  const streamed = { model: "gemini-3-pro", input: "Hi.", stream: true };
  const { text } = await post(streamed);
  const whole = text.indexOf("event: done");
  expect(text.slice(0, whole)).toContain("interaction.completed");
  for (const [afterBytes, status] of [
    [whole - 1, 404],
    [whole, 200],
    [text.length - 1, 200],
  ] as const) {
    server.clear();
    server.inject({ kind: "cut", afterBytes });
    await expect(post(streamed)).rejects.toThrow();
    const id = server.requests[0]?.responseId ?? "";
    expect(await asked("And?", { previous_interaction_id: id })).toMatchObject({ status });
  }
});
