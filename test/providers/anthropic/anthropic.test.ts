import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import type { JsonObject } from "../../../src/base/json.ts";
import type { InferenceRequest, StreamDelta } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { createEngine, openStore, secret, tool } from "../../../src/index.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { messagesError } from "../../../src/providers/anthropic/errors.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";
import type { AnthropicOptions } from "../../../src/providers/anthropic/options.ts";
import { answering, eventStream, eventsOf, serve } from "../../support/providers/loopback.ts";

type Answerer = Parameters<typeof serve>[0];

async function endpoint(answer: Answerer, options: Partial<AnthropicOptions> = {}) {
  const { baseURL, received, ...server } = await serve(answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const url = baseURL.replace(/\/v1$/, "");
  const provider = anthropic({ model: "claude-test", apiKey: "sk-ant-12345678", baseURL: url, ...options });
  const told: StreamDelta[] = [];
  const infer = (request: Partial<InferenceRequest> = {}) =>
    provider.infer({
      ...{ bodyText: '{"model":"claude-test"}', settings: { model: "claude-test" }, transport: "sse" },
      signal: new AbortController().signal,
      onDelta: (delta) => void told.push(delta),
      ...request,
    });
  const failing = (request?: Partial<InferenceRequest>) => infer(request).then(undefined, (error: unknown) => error);
  return { provider, received, told, infer, failing };
}

const usage = { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 1 };
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage };
const call = { type: "tool_use", id: "toolu_1", name: "look-up", input: {} };
const delta = (index: number, given: JsonObject) => ({ type: "content_block_delta", index, delta: given });
const begun = [
  { type: "message_start", message },
  { type: "ping" },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  delta(0, { type: "thinking_delta", thinking: "Wh" }),
  delta(0, { type: "thinking_delta", thinking: "ere?" }),
  delta(0, { type: "signature_delta", signature: "c2ln" }),
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  delta(1, { type: "text_delta", text: "I " }),
  delta(1, { type: "text_delta", text: "look." }),
];
const ended = [
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: call },
  delta(2, { type: "input_json_delta", partial_json: "" }),
  delta(2, { type: "input_json_delta", partial_json: '{"city": ' }),
  delta(2, { type: "input_json_delta", partial_json: '"Paris"}' }),
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 20 } },
  { type: "message_stop" },
];
const thought = { type: "thinking", thinking: "Where?", signature: "c2ln" };

test("a stream is put together, and told while it comes", async () => {
  const { infer, told, received } = await endpoint(answering(eventsOf(...begun, ...ended), 200, eventStream));
  const { response } = await infer();
  expect(response).toEqual({
    ...message,
    content: [
      thought,
      { type: "text", text: "I look." },
      { ...call, input: { city: "Paris" }, partial_json: '{"city": "Paris"}' },
    ],
    ...{ stop_reason: "tool_use", stop_sequence: null, usage: { ...usage, output_tokens: 20 } },
  });
  expect(told.flatMap((each) => ("text" in each ? [[each.type, each.text]] : []))).toEqual([
    ...[
      ["reasoning-delta", "Wh"],
      ["reasoning-delta", "ere?"],
      ["text-delta", "I "],
      ["text-delta", "look."],
    ],
    ...[
      ["tool-call-delta", '{"city": '],
      ["tool-call-delta", '"Paris"}'],
    ],
  ]);
  expect(received.map(({ method, url, body }) => [method, url, body])).toEqual([
    ["POST", "/v1/messages", '{"model":"claude-test"}'],
  ]);
  expect(received[0]?.headers).toMatchObject({
    ...{ "anthropic-version": "2026-10-21", authorization: "Bearer sk-ant-12345678", accept: "text/event-stream" },
  });
});

test("a stream that is cut is an error, with what had come", async () => {
  const { failing } = await endpoint(answering(eventsOf(...begun), 200, eventStream));
  expect(await failing()).toMatchObject({
    ...{ kind: "stream-cut", outcome: "unknown" },
    partial: [thought, { type: "text", text: "I look." }],
  });
});

test("an error in a stream that a proxy does not mark as one is reported with its message", async () => {
  const data = { error: { type: "overloaded_error", message: "Try another route" } };
  const { failing } = await endpoint(
    answering(`${eventsOf(...begun)}data: ${JSON.stringify(data)}\n\n`, 200, eventStream),
  );
  expect(await failing()).toMatchObject({
    ...{ kind: "server-error", outcome: "unknown", message: "Try another route" },
    partial: [thought, { type: "text", text: "I look." }],
  });
});

test("an error in a stream is one of the provider, which may have acted", async () => {
  const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const { failing } = await endpoint(answering(eventsOf(...begun, error), 200, eventStream));
  expect(await failing()).toMatchObject({
    ...{ kind: "server-error", outcome: "unknown", message: "Overloaded", providerCode: "overloaded_error" },
    partial: [thought, { type: "text", text: "I look." }],
  });
});

test.each<[string, number, string, string | null, JsonObject]>([
  [
    "missing-tool-output",
    400,
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_x. Each",
    "messages.3",
    {},
  ],
  [
    "orphan-tool-output",
    400,
    "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_x. Each",
    "messages.2.content.0",
    {},
  ],
  ["duplicate-item", 400, "messages.1.content.1: `tool_use` ids must be unique", "messages.1.content.1", {}],
  [
    "invalid-encrypted-content",
    400,
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound",
    "messages.1.content.0",
    {},
  ],
  [
    "invalid-encrypted-content",
    400,
    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    "messages.1.content.0",
    {},
  ],
  ["context-length-exceeded", 400, "prompt is too long: 210000 tokens > 200000 maximum", null, {}],
  ["invalid-request", 400, "messages: at least one message is required", null, {}],
  ["authentication", 401, "invalid x-api-key", null, { type: "authentication_error" }],
  ["rate-limited", 402, "Your credit balance is too low", null, { type: "billing_error" }],
  ["authentication", 403, "not allowed", null, { type: "permission_error" }],
  ["invalid-request", 404, "model: claude-none", null, { type: "not_found_error" }],
  [
    "lost-state",
    404,
    "the thread is gone",
    null,
    { type: "not_found_error", details: { error_code: "thread_not_found" } },
  ],
  ["already-continued", 400, "continued", null, { details: { error_code: "thread_already_continued" } }],
  ["already-continued", 400, "in flight", null, { details: { error_code: "thread_continue_in_flight" } }],
  ["anchor-mismatch", 400, "output_config differs", null, { details: { error_code: "thread_fingerprint_mismatch" } }],
  ["chaining-unsupported", 400, "thinking", null, { details: { error_code: "thread_unsupported_request" } }],
  ["context-length-exceeded", 413, "Request exceeds the maximum size", null, { type: "request_too_large" }],
  ["rate-limited", 429, "slow down", null, { type: "rate_limit_error" }],
  ["server-error", 500, "Internal server error", null, { type: "api_error" }],
  ["server-error", 529, "Overloaded", null, { type: "overloaded_error" }],
])("%s: HTTP %i %s", (kind, status, text, param, others) => {
  const { error_code: code } = (others["details"] ?? {}) as { error_code?: string };
  const type = others["type"] ?? "invalid_request_error";
  const body = JSON.stringify({ type: "error", error: { type, message: text, ...others }, request_id: "req_1" });
  const headers = new Headers({ "request-id": "req_1", "retry-after": "3" });
  const failed = messagesError({ status, body, headers });
  // Of a model that there is not, what to do is said, too.
  const message = `${text}${text.startsWith("model: ") ? "; give the provider or the run a model that this server has" : ""}`;
  expect(failed).toMatchObject({ kind, status, message, param, providerCode: code ?? type, requestId: "req_1" });
  expect(failed.retryAfterMs).toBe(3000);
  expect(failed.outcome).toBe(status === 500 ? "unknown" : "rejected");
});

test("a refusal reaches the caller with its body, and nothing is sent twice", async () => {
  const body = { type: "error", error: { type: "api_error", message: "Internal server error" } };
  const { failing, received } = await endpoint(answering(body, 500));
  const failed = await failing();
  expect(failed).toBeInstanceOf(ProviderError);
  expect(failed).toMatchObject({ kind: "server-error", outcome: "unknown", status: 500, body: JSON.stringify(body) });
  expect(received.length).toBe(1);
});

test("what is no message, or too large, is an error", async () => {
  const nonsense = await endpoint(answering({ hello: true }));
  expect(await nonsense.failing({ transport: "json" })).toMatchObject({ outcome: "unknown" });
  const long = { ...message, content: [{ type: "text", text: "x".repeat(200) }], stop_reason: "end_turn" };
  const large = await endpoint(answering(long), { limits: { itemBytes: 100 } });
  expect(await large.failing({ transport: "json" })).toMatchObject({ kind: "item-too-large", outcome: "unknown" });
});

test("secrets go to the server and are read nowhere", async () => {
  const echo: Answerer = (response, { body }) => {
    const content = [{ type: "text", text: `key sk-ant-12345678 in ${body}` }];
    answering({ ...message, content, stop_reason: "end_turn" })(response, { method: "", url: "", headers: {}, body });
  };
  const mcp_servers = [
    { type: "url", url: "https://mcp.example", name: "crm", authorization_token: secret("CRM") },
  ] as const;
  const { provider, received } = await endpoint(echo, {
    ...{ mcp_servers, instructions: "Be brief.", transport: "json", betas: ["mcp-client-2025-11-20"] },
    secrets: { CRM: "crm-token-1" },
  });
  await using store = await openStore("memory:", { codecs: [messagesCodec] });
  const conversation = store.conversation();
  await conversation.append("Go.");
  const { text } = await conversation.run(createEngine({ provider }));
  expect(received[0]?.body).toContain('"authorization_token":"crm-token-1"');
  expect(received[0]?.url).toBe("/v1/messages?beta=true");
  expect(received[0]?.headers["anthropic-beta"]).toBe("mcp-client-2025-11-20");
  expect(text).toContain("key [secret apiKey] in");
  expect(text).toContain("[secret CRM]");
  expect(text).not.toContain("crm-token-1");
  expect((await conversation.verify()).isSound).toBe(true);
});

test("a run with tools goes through, streamed, and its requests are made again from the log", async () => {
  const answers = [
    [...begun, ...ended],
    [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      delta(0, { type: "text_delta", text: "Sunny." }),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ],
  ];
  const { provider, received } = await endpoint((response, request) => {
    answering(eventsOf(...(answers.shift() ?? [])), 200, eventStream)(response, request);
  });
  const lookUp = tool({
    ...{ name: "look-up", description: "Looks up.", inputSchema: z.object({ city: z.string() }) },
    execute: () => "sunny",
  });
  await using store = await openStore("memory:", { codecs: [messagesCodec] });
  const conversation = store.conversation();
  await conversation.append("Weather?");
  const { text, usage: used } = await conversation.run(createEngine({ provider, tools: [lookUp] }));
  expect([text, used.cachedInputTokens]).toEqual(["Sunny.", 8]);
  expect(received[1]?.body).not.toContain("partial_json");
  expect(JSON.parse(received[1]?.body ?? "")).toMatchObject({
    messages: [
      { role: "user" },
      {
        role: "assistant",
        content: [thought, { type: "text", text: "I look." }, { ...call, input: { city: "Paris" } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "sunny" }] },
    ],
  });
  expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 2 });
});

test.each<[string, Record<string, unknown>, string]>([
  ["no key", { apiKey: "" }, "there is no API key: set ANTHROPIC_API_KEY, or give apiKey"],
  ["system", { system: "x" }, "turnlog calls it instructions"],
  ["a name of another API", { max_output_tokens: 3 }, "did you mean 'max_tokens'?"],
  ["messages", { messages: [] }, "messages is not a setting"],
  ["a key that changes", { apiKey: () => "k" }, "give credentialsOwner"],
  ["instructions of images", { instructions: [{ type: "image" }] }, "instructions must be a text, or a list of blocks"],
  ["an open credential", { mcp_servers: [{ authorization_token: "abc" }] }, 'write secret("NAME") instead'],
])("options are refused: %s", (_, options, text) => {
  const given: AnthropicOptions = { model: "m", apiKey: "k", ...options };
  expect(() => anthropic(given)).toThrow(text);
});
