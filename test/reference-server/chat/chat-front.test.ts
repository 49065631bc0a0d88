import { expect, test } from "vitest";
import {
  type ChatServerDialect,
  chatServerDialects,
  customCall,
  functionCall,
  hosted,
  type JsonObject,
  message,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  refusalMessage,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";

const call = (id: string, given = "{}"): JsonObject => ({
  ...{ id, type: "function", function: { name: "look-up", arguments: given } },
});
const user = { role: "user", content: "Where is it warm?" };
const calling = (...ids: readonly string[]): JsonObject => ({
  ...{ role: "assistant", content: null, tool_calls: ids.map((id) => call(id)) },
});
const result = (id: string): JsonObject => ({ role: "tool", tool_call_id: id, content: "Rome" });

/** What the server answers to a body, and the events of it where it is a stream. */
async function asked(body: unknown, options: ReferenceServerOptions = {}) {
  await using server = await startReferenceServer({ seed: "chat", now: () => 1_767_225_600_000, ...options });
  return await post(server.baseUrl, body);
}

async function post(baseUrl: string, body: unknown) {
  const answer = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  const events = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? line.slice(6) : []));
  return { status: answer.status, body: events.length > 0 ? {} : told(text), events };
}

type Told = {
  readonly choices: readonly {
    readonly message: JsonObject;
    readonly delta: JsonObject;
    readonly finish_reason: string;
  }[];
  readonly usage: JsonObject & { readonly prompt_tokens: number; readonly prompt_cache_hit_tokens: number };
};

/** A completion or a chunk of one; what it holds is asserted. */
function told(text: string): Partial<Told> {
  // The tests look at nothing but what they then compare.
  return JSON.parse(text) as Partial<Told>;
}

test("answers from the same script as the Responses API, and counts the requests of both", async () => {
  await using server = await startReferenceServer({ answer: ({ request }) => ({ output: [message(`${request}`)] }) });
  await fetch(`${server.baseUrl}/responses`, { method: "POST", body: JSON.stringify({ model: "m", input: "Hi." }) });
  const { body } = await post(server.baseUrl, { model: "m", messages: [user] });
  expect(body).toMatchObject({
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "1" }, finish_reason: "stop" }],
  });
  expect(server.requests.map(({ path, status }) => [path, status])).toEqual([
    ["/v1/responses", 200],
    ["/v1/chat/completions", 200],
  ]);
  expect(server.reading(1)).toEqual(server.reading(server.requests[1]?.responseId ?? ""));
});

test("a request is read into the lines of the same words on the wire of the Responses API", async () => {
  await using server = await startReferenceServer({ chat: "vllm" });
  const image = "https://a.example/i.png";
  const tool = { name: "look-up", parameters: { type: "object" } };
  await post(server.baseUrl, {
    ...{ model: "m", tools: [{ type: "function", function: tool }] },
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "See." },
          { type: "image_url", image_url: { url: image, detail: "low" } },
        ],
      },
      { ...calling("a"), content: "I look.", reasoning: "Where?" },
      result("a"),
    ],
  });
  await fetch(`${server.baseUrl}/responses`, {
    method: "POST",
    body: JSON.stringify({
      ...{ model: "m", tools: [{ type: "function", ...tool }] },
      input: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "See." },
            { type: "input_image", image_url: image, detail: "low" },
          ],
        },
        { type: "reasoning", summary: [{ type: "summary_text", text: "Where?" }] },
        { role: "assistant", content: "I look." },
        { type: "function_call", call_id: "a", name: "look-up", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "Rome" },
      ],
    }),
  });
  const lines = [0, 1].map((index) => {
    const reading = server.reading(index);
    return reading === undefined ? [] : readItems(reading.items, reading);
  });
  expect(lines[0]).toHaveLength(8);
  expect(lines[0]).toEqual(lines[1]);
});

const answer = () => ({
  output: [
    reasoning({ summary: "Where?" }),
    message("I look."),
    functionCall("look-up", '{"city":"Rome"}', { callId: "call_1" }),
  ],
});

test("streams role, text and calls in pieces; the usage comes last, where it was asked for", async () => {
  const body = { model: "m", messages: [user], stream: true, stream_options: { include_usage: true } };
  const { events } = await asked(body, { chat: "deepseek", answer, deltaLength: 5 });
  const chunks = events.slice(0, -1).map(told);
  expect(events.at(-1)).toBe("[DONE]");
  expect(chunks.map(({ choices }) => choices?.[0]?.delta ?? null)).toEqual([
    { role: "assistant", content: "" },
    { reasoning_content: "Where" },
    { reasoning_content: "?" },
    { content: "I loo" },
    { content: "k." },
    { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look-up", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"cit' } }] },
    { tool_calls: [{ index: 0, function: { arguments: 'y":"R' } }] },
    { tool_calls: [{ index: 0, function: { arguments: 'ome"}' } }] },
    {},
    null,
  ]);
  expect(chunks.at(-2)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });
  expect(chunks.at(-1)).toMatchObject({ usage: { prompt_cache_hit_tokens: 0 } });
  const { events: without } = await asked({ ...body, stream_options: undefined }, { answer });
  expect(without.join("")).toContain("[DONE]");
  expect(without.join("")).not.toContain("usage");
});

test("shows thoughts as each server does", async () => {
  const shown = await Promise.all(
    chatServerDialects.map(async (chat) => {
      const { body } = await asked({ model: "m", messages: [user] }, { chat, answer });
      const message = Object.entries(body.choices?.[0]?.message ?? {});
      return [chat, Object.fromEntries(message.filter(([name]) => name !== "tool_calls" && name !== "role"))];
    }),
  );
  const plain = { content: "I look." };
  expect(Object.fromEntries(shown)).toEqual({
    openai: { ...plain, refusal: null, annotations: [] },
    deepseek: { ...plain, reasoning_content: "Where?" },
    mistral: {
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "Where?" }], closed: true },
        { type: "text", text: "I look." },
      ],
    },
    groq: { ...plain, reasoning: "Where?" },
    openrouter: { ...plain, reasoning: "Where?" },
    "gemini-openai": plain,
    vllm: { ...plain, reasoning: "Where?" },
    "llama.cpp": { ...plain, reasoning_content: "Where?" },
    ollama: { ...plain, reasoning: "Where?" },
  });
});

test("tells how much of a prompt began an earlier one", async () => {
  await using server = await startReferenceServer({ chat: "deepseek" });
  const messages = [user, { role: "assistant", content: "In Rome." }, user];
  const used = async (sent: readonly JsonObject[]) => {
    const { body } = await post(server.baseUrl, { model: "m", messages: sent });
    const { prompt_tokens: prompt = 0, prompt_cache_hit_tokens: hit = 0, ...usage } = body.usage ?? {};
    expect(usage).toMatchObject({ prompt_tokens_details: { cached_tokens: hit } });
    return prompt - hit;
  };
  const first = await used(messages.slice(0, 1));
  expect(first).toBeGreaterThan(0);
  expect(await used(messages.slice(0, 1))).toBe(0);
  expect(await used(messages)).toBeGreaterThan(first);
  expect(await used(messages)).toBe(0);
  expect(await used([{ role: "system", content: "Be brief." }, user])).toBeGreaterThan(first);
});

const invalid = "invalid_request_error";
type Row = readonly [
  title: string,
  given: { readonly chat?: ChatServerDialect; readonly body?: JsonObject; readonly messages?: readonly JsonObject[] },
  expected:
    | { readonly status?: number; readonly error: JsonObject }
    | { readonly status?: number; readonly flat: JsonObject },
];
const unanswered =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ";
const orphan =
  "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
const unequal = "Not the same number of function calls and responses";
const rows: readonly Row[] = [
  [
    "an open call",
    { messages: [user, calling("a", "b"), result("a")] },
    { error: { message: `${unanswered}b`, type: invalid } },
  ],
  [
    "a call that others talk over",
    { messages: [calling("a"), user, result("a")] },
    { error: { message: `${unanswered}a` } },
  ],
  [
    "a result of no call",
    { messages: [user, result("a")] },
    { error: { message: orphan, param: "messages.[1].role" } },
  ],
  ["a second result", { messages: [calling("a"), result("a"), result("a")] }, { error: { message: orphan } }],
  [
    "two calls of one id",
    { messages: [calling("a", "a"), result("a"), result("a")] },
    { error: { message: "Duplicate value for 'tool_call_id' of 'a' in message[0]" } },
  ],
  [
    "an unknown role",
    { messages: [{ role: "bot", content: "Hi." }] },
    { error: { code: "invalid_value", param: "messages[0].role" } },
  ],
  [
    "a user who says nothing",
    { messages: [{ role: "user", content: null }] },
    { error: { param: "messages.[0].content" } },
  ],
  [
    "an image in a result",
    { messages: [calling("a"), { ...result("a"), content: [{ type: "image_url", image_url: { url: "x" } }] }] },
    { error: { code: "invalid_value", param: "messages[1].content[0].type" } },
  ],
  ["no message", { messages: [] }, { error: { code: "empty_array", param: "messages" } }],
  ["no model", { body: { messages: [user] } }, { error: { code: "missing_required_parameter", param: "model" } }],
  [
    "a member that OpenAI does not know",
    { body: { model: "m", messages: [user], top_k: 1 } },
    { error: { message: "Unrecognized request argument supplied: top_k", type: invalid } },
  ],
  [
    "a long id",
    { messages: [calling("a".repeat(41)), result("a".repeat(41))] },
    { error: { code: "string_above_max_length" } },
  ],
  [
    "Mistral: an id of another form",
    { chat: "mistral", messages: [calling("call_1"), result("call_1")] },
    { flat: { object: "error", message: "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9." } },
  ],
  ["Mistral: an open call", { chat: "mistral", messages: [calling("aaaaaaaaa")] }, { flat: { message: unequal } }],
  [
    "Mistral: a result of no call",
    { chat: "mistral", messages: [result("aaaaaaaaa")] },
    { flat: { message: unequal } },
  ],
  [
    "DeepSeek: a message with tools without its thoughts",
    {
      chat: "deepseek",
      body: {
        model: "m",
        tools: [{ type: "function", function: { name: "look-up" } }],
        messages: [user, { role: "assistant", content: "Hi." }, user],
      },
    },
    {
      error: {
        message: "The `reasoning_content` in the thinking mode must be passed back to the API.",
        code: "invalid_request_error",
      },
    },
  ],
  [
    "DeepSeek: a developer",
    { chat: "deepseek", messages: [{ role: "developer", content: "Hi." }] },
    {
      error: {
        message:
          "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
      },
    },
  ],
  [
    "OpenAI: an unknown model",
    { body: { model: "x", messages: [user] } },
    { status: 404, error: { code: "model_not_found" } },
  ],
  [
    "Mistral: an unknown model",
    { chat: "mistral", body: { model: "x", messages: [user] } },
    { flat: { message: "Invalid model: x", type: "invalid_model" } },
  ],
  [
    "DeepSeek: an unknown model",
    { chat: "deepseek", body: { model: "x", messages: [user] } },
    { error: { message: "Model Not Exist" } },
  ],
  [
    "vLLM: an unknown model",
    { chat: "vllm", body: { model: "x", messages: [user] } },
    { status: 404, error: { type: "NotFoundError", code: 404 } },
  ],
  [
    "Ollama: an unknown model",
    { chat: "ollama", body: { model: "x", messages: [user] } },
    { status: 404, error: { message: "model 'x' not found" } },
  ],
];

test.each(rows)("refuses %s", async (_, { chat = "openai", body, messages = [] }, { status = 400, ...told }) => {
  const answered = await asked(body ?? { model: "m", messages }, { chat, models: ["m"] });
  expect(answered.status).toBe(status);
  expect(answered.body).toMatchObject("flat" in told ? told.flat : { error: told.error });
});

test.each([
  ["openai", { error: { code: "context_length_exceeded" } }],
  ["groq", { error: { code: "context_length_exceeded" } }],
  ["vllm", { error: { code: 400, type: "BadRequestError" } }],
  ["llama.cpp", { error: { code: 400, type: "exceed_context_size_error", n_ctx: 5 } }],
  ["mistral", { object: "error", type: "invalid_request_prompt" }],
] as const)("%s says when a prompt is too long", async (chat, told) => {
  const { status, body } = await asked({ model: "m", messages: [user] }, { chat, maxContextTokens: 5 });
  expect(status).toBe(400);
  expect(body).toMatchObject(told);
});

test("says how an answer ended, and what a model of this wire does not say", async () => {
  const finish = async (given: ReferenceServerOptions["answer"]) => {
    const { status, body } = await asked(
      { model: "m", messages: [user] },
      given === undefined ? {} : { answer: given },
    );
    return [status, body.choices?.[0]?.finish_reason ?? JSON.stringify(body)];
  };
  expect(await finish(() => ({ output: [message("Hm")], status: "incomplete" }))).toEqual([200, "length"]);
  expect(await finish(() => ({ output: [refusalMessage("No.")] }))).toEqual([200, "stop"]);
  expect(await finish(() => ({ output: [customCall("sql", "select 1")] }))).toEqual([200, "tool_calls"]);
  const search = hosted({ type: "web_search_call", status: "completed" });
  expect(await finish(() => ({ output: [search] }))).toEqual([500, expect.stringContaining("web_search_call")]);
  expect(await asked("{")).toMatchObject({ status: 400, body: { error: { type: invalid } } });
});

test("what goes wrong with any request goes wrong here", async () => {
  await using server = await startReferenceServer({ answer });
  server.inject({ kind: "corrupt" }, { kind: "duplicate-call" }, { kind: "cut", afterBytes: 40 });
  const body = { model: "m", messages: [user] };
  const { body: corrupt } = await post(server.baseUrl, body);
  expect(corrupt.choices?.[0]?.message["content"]).toBe("x look.");
  const { body: twice } = await post(server.baseUrl, body);
  expect(twice.choices?.[0]?.message["tool_calls"]).toHaveLength(2);
  await expect(post(server.baseUrl, body)).rejects.toThrow();
  const error = { message: "overloaded", type: "server_error" };
  server.inject({ kind: "stream-error", error, isNested: true });
  const { events } = await post(server.baseUrl, { ...body, stream: true });
  expect(told(events.at(-1) ?? "")).toEqual({ error });
  expect(server.requests.map(({ hasFaultFired }) => hasFaultFired)).toEqual([true, true, true, true]);
});

test("refuses parts of the user's that servers of the dialect refuse", async () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } };
  const file = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AQID" } };
  const statusOf = async (chat: (typeof chatServerDialects)[number], part: JsonObject) => {
    await using server = await startReferenceServer({ chat });
    return (await post(server.baseUrl, { model: "m", messages: [{ role: "user", content: [part] }] })).status;
  };
  expect(await Promise.all([statusOf("openai", image), statusOf("openai", file)])).toEqual([200, 200]);
  expect(await Promise.all([statusOf("groq", image), statusOf("groq", file)])).toEqual([200, 400]);
  expect(await statusOf("deepseek", image)).toBe(400);
});
