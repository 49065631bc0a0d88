import { expect, test } from "vitest";
import {
  functionCall,
  hosted,
  type JsonObject,
  message,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";

const start = (options: ReferenceServerOptions = {}) =>
  startReferenceServer({ seed: "ollama", now: () => 1_767_225_600_000, ...options });

type Server = Awaited<ReturnType<typeof start>>;

/** What the server answers, line by line. */
async function ask(server: Server, body: unknown) {
  const answer = await fetch(server.baseUrl.replace(/\/v1$/, "/api/chat"), {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  // The tests look at nothing but what they then compare.
  const lines = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as JsonObject]));
  return { status: answer.status, lines };
}

const asked = async (body: unknown, options: ReferenceServerOptions = {}) => {
  await using server = await start(options);
  return await ask(server, body);
};

const user = { role: "user", content: "Where is it warm?" };
const call = (id: string, given: unknown = { of: "a" }) => ({ id, function: { name: "look-up", arguments: given } });
const answer = [
  reasoning({ summary: "Hm." }),
  message("I look."),
  functionCall("look-up", '{"of":"a"}', { callId: "call_1" }),
  functionCall("look-up", "{}"),
];

test("answers from the script of the server, whole or line by line, and counts the tokens", async () => {
  const options: ReferenceServerOptions = { script: [{ output: answer }], deltaLength: 4 };
  const { lines: whole } = await asked({ model: "m", messages: [user], stream: false }, options);
  const made: unknown = expect.stringMatching(/^call_[0-9a-f]{8}$/);
  expect(whole).toMatchObject([
    {
      ...{ model: "m", created_at: "2026-01-01T00:00:00.000Z", done: true, done_reason: "stop", prompt_eval_count: 12 },
      message: {
        ...{ role: "assistant", content: "I look.", thinking: "Hm." },
        tool_calls: [
          { id: "call_1", function: { index: 0, name: "look-up", arguments: { of: "a" } } },
          { id: made, function: { index: 1, name: "look-up", arguments: {} } },
        ],
      },
    },
  ]);
  const { lines } = await asked({ model: "m", messages: [user] }, options);
  expect(lines.map(({ done }) => done)).toEqual([false, false, false, false, false, true]);
  expect(lines.map((line) => line["message"])).toMatchObject([
    ...[{ thinking: "Hm." }, { content: "I lo" }, { content: "ok." }],
    ...[{ tool_calls: [{ id: "call_1" }] }, { tool_calls: [{ id: made }] }, { content: "" }],
  ]);
});

test("says that an answer is not whole, that it only loaded the model, and that it failed", async () => {
  const only = (scripted: object, body: object = {}) =>
    asked({ model: "m", messages: [user], stream: false, ...body }, { answer: () => ({ output: [], ...scripted }) });
  expect((await only({ status: "incomplete" })).lines).toMatchObject([{ done_reason: "length" }]);
  expect((await only({}, { messages: [] })).lines).toMatchObject([{ done_reason: "load" }]);
  const error = { code: "server_error", message: "out of memory" };
  expect(await only({ status: "failed", error })).toEqual({ status: 500, lines: [{ error: "out of memory" }] });
  const strange = await only({ output: [hosted({ type: "web_search_call" })] });
  expect(strange).toMatchObject({
    status: 500,
    lines: [{ error: { message: "a model of Ollama does not say web_search_call" } }],
  });
});

test("breaks off, and tells errors in the middle of a stream", async () => {
  const faults = [{ kind: "stream-error" as const, error: { message: "runner died" }, isNested: false }];
  const { status, lines } = await asked({ model: "m", messages: [user] }, { faults: () => faults.shift() });
  expect(status).toBe(200);
  expect(lines.at(-1)).toEqual({ error: "runner died" });
});

const refusals = [
  ["no object", [], 400, "invalid character in the request body"],
  ["no model", { messages: [] }, 400, "model is required"],
  ["an unknown model", { model: "x", messages: [user] }, 404, "model 'x' not found"],
  [
    "content in parts",
    { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "Hi." }] }] },
    400,
    "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
  ],
  [
    "arguments as a text",
    { model: "m", messages: [{ role: "assistant", tool_calls: [call("a", "{}")] }] },
    400,
    "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments",
  ],
  [
    "an image by address",
    { model: "m", messages: [{ ...user, images: ["https://x"] }] },
    400,
    "illegal base64 data at input byte 0",
  ],
] as const;

test.each(refusals)("refuses %s", async (_, body, status, error) => {
  expect(await asked(body, { models: ["m"] })).toEqual({ status, lines: [{ error }] });
});

test("cuts the oldest messages of a request that is too long in silence, unless truncation is off", async () => {
  const long = { role: "user", content: "x".repeat(400) };
  const messages = [{ role: "system", content: "S" }, long, user];
  await using server = await start({ maxContextTokens: 60 });
  expect((await ask(server, { model: "m", messages })).status).toBe(200);
  expect(server.reading(0)?.items).toMatchObject([
    { role: "system" },
    { role: "user", content: [{ text: user.content }] },
  ]);
  const refused = await ask(server, { model: "m", messages, truncate: false });
  expect(refused).toEqual({ status: 400, lines: [{ error: "the input length exceeds the context length" }] });
});

test("has the model read neighbours of one role as one message, and of calls and thoughts the first one's only", async () => {
  await using server = await start();
  const messages = [
    { role: "user", content: "", images: ["REVG"] },
    ...[user, { role: "user", content: "Now?", images: ["QUJD"] }],
    { role: "assistant", content: "One.", thinking: "Hm.", tool_calls: [call("a"), call("b", { n: 1 })] },
    { role: "assistant", content: "Two.", thinking: "Lost.", tool_calls: [call("lost")] },
    ...[
      { role: "tool", content: "B", tool_call_id: "b" },
      { role: "tool", content: "A" },
    ],
  ];
  await ask(server, { model: "m", messages });
  const expected = [
    {
      ...{ type: "message", role: "user" },
      content: [
        { type: "input_image", image_url: "REVG" },
        { type: "input_image", image_url: "QUJD" },
        { type: "text", text: "Where is it warm?\n\nNow?" },
      ],
    },
    { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
    { type: "message", role: "assistant", content: [{ type: "text", text: "One.\n\nTwo." }] },
    { type: "function_call", call_id: "a", name: "look-up", arguments: '{"of":"a"}' },
    { type: "function_call", call_id: "b", name: "look-up", arguments: '{"n":1}' },
    { type: "function_call_output", call_id: "b", output: "B" },
    { type: "function_call_output", call_id: "a", output: "A" },
  ];
  expect(readItems(server.reading(0)?.items ?? [])).toEqual(readItems(expected));
});
