import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import type { Adjustments } from "../../../src/domain/events/run-events.ts";
import { assistant, audio, file, image, system, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import type { Draft, Settings } from "../../../src/engine/ports/codec.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { draftOf } from "../../../src/providers/anthropic/content-blocks.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";
import { codecChecks } from "../../../src/testing/rehearsal/codec-checks.ts";

const settings: Settings = { model: "claude-test", max_tokens: 100 };
const usage = {
  ...{ input_tokens: 3, cache_creation_input_tokens: 20, cache_read_input_tokens: 400, output_tokens: 9 },
  output_tokens_details: { thinking_tokens: 5 },
};
const message = (content: readonly JsonObject[], stop_reason = "end_turn", others: JsonObject = {}): JsonObject => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-test", content, stop_reason },
  ...{ stop_sequence: null, stop_details: null, usage },
  ...others,
});
const said = { type: "text", text: "It is sunny." };
const thinking = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
const called = { type: "tool_use", id: "toolu_1", name: "look-up", input: { city: "Paris", at: 1 } };
const citation = { type: "char_location", cited_text: "sun", document_index: 0 };
const searched = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sun" } };
const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ encrypted_content: "YQ" }] };
const answers = [
  message([said]),
  message([thinking, { type: "redacted_thinking", data: "cmVk" }, said, called], "tool_use"),
  message(
    [
      { ...thinking, thinking: "" },
      { ...called, caller: { type: "direct" }, toolset_name: "weather" },
    ],
    "tool_use",
  ),
  message([
    { ...said, citations: [citation] },
    { ...said, citations: null },
  ]),
  message([searched, found, said, { type: "of_tomorrow", is: ["new"] }], "pause_turn", {
    container: { id: "container_1" },
  }),
  message([{ type: "tool_use", id: 7, name: "odd" }, { type: "thinking", thinking: "Hm." }, { type: "text" }]),
  message([{ ...called, input: { city: "Paris" }, partial_json: '{ "city" : "Paris" }' }], "tool_use"),
  message([{ type: "text", text: "It is" }], "max_tokens"),
  message([], "refusal", { stop_details: { type: "refusal", category: "bio" } }),
  { type: "error", error: { type: "overloaded_error", message: "Overloaded" }, request_id: null },
];
// A tool of the server, which may pause an answer.
const searching = { ...settings, tools: [{ type: "web_search_20250305", name: "web_search" }] };
for (const { name, run } of codecChecks(messagesCodec, { answers, settings: searching })) test(name, run);

const sent = (blocks: readonly (Block | Draft)[], given: Settings = settings, transport = "json"): JsonObject => {
  const input = blocks.map((block) => ({
    block: block instanceof Block ? block : new Block({ id: null, ...block, wire: { scope: "here", ...block.wire } }),
    withId: false,
  }));
  const body = parseJson(messagesCodec.encodeRequest({ settings: given, input, anchor: null, transport }));
  return isJsonObject(body) ? body : {};
};
const read = (answer: JsonObject) =>
  messagesCodec.readAnswer(answer, { inferenceId: "inf_1", settings, capabilities: {} });

test("a paused answer says so, and its last block keeps the container that its code runs in", () => {
  const paused = message([said, searched], "pause_turn", {
    container: { id: "container_1", expires_at: "2026-03-01" },
  });
  const { isPaused, isComplete, blocks } = read(paused);
  expect({ isPaused, isComplete }).toEqual({ isPaused: true, isComplete: true });
  const details = (input: readonly Draft[], container?: JsonValue) =>
    messagesCodec.detailsOf?.({
      ...{ settings: container === undefined ? settings : { ...settings, container }, anchor: null, blocks: 2 },
      ...{
        ...{ sentBefore: [], capabilities: {}, newest: null },
        said: input.map((block) => new Block({ id: null, ...block, wire: { scope: "here", ...block.wire } })),
      },
    });
  expect(details(blocks)).toEqual({ container: "container_1" });
  expect(details(blocks.slice(0, 1))).toBeUndefined();
  expect(details(blocks, "container_2")).toBeUndefined();
  expect(details(blocks, { skills: [] })).toEqual({ container: "container_1" });
  expect(read(message([said])).isPaused).toBeUndefined();
});

test.each<[Settings, boolean]>([
  [{}, false],
  [{ tools: [{ name: "look-up", input_schema: {} }] }, false],
  [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, true],
  [{ mcp_servers: [{ type: "url", url: "https://mcp.test", name: "files" }] }, true],
])("whether tools of the server may pause an answer: %j", (more, mayPause) => {
  expect(messagesCodec.mayPause?.({ ...settings, ...more })).toBe(mayPause);
});

test("roles are merged, results come first in the message after their calls, and leading system blocks go to the top", () => {
  const blocks = [
    ...[system("Be brief."), system("Be kind."), user("Weather?"), user("In Paris.")],
    ...[
      draftOf(thinking),
      draftOf(called),
      toolResult({ callId: "toolu_1", output: "sunny" }),
      user("And?"),
      assistant("Warm."),
    ],
  ];
  expect(sent(blocks, { ...settings, instructions: "First." }, "sse")).toEqual({
    ...settings,
    system: ["First.", "Be brief.", "Be kind."].map((text) => ({ type: "text", text })),
    messages: [
      { role: "user", content: ["Weather?", "In Paris."].map((text) => ({ type: "text", text })) },
      { role: "assistant", content: [thinking, called] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "sunny" },
          { type: "text", text: "And?" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "Warm." }] },
    ],
    stream: true,
  });
});

test("images and files go as they are said here, in messages and in results", () => {
  const picture = image("data:image/png;base64,aGk=");
  const pdf = file({ name: "a.pdf", data: "data:application/pdf;base64,aGk=" });
  const shown = user([picture, image("https://example.com/a.png"), pdf, file({ fileId: "file_1" })]);
  const content = [
    { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: "aGk=" }, title: "a.pdf" },
    { type: "document", source: { type: "file", file_id: "file_1" } },
  ];
  const call = toolCall({ callId: "c", name: "look-up", arguments: "{}" });
  const { messages } = sent([shown, call, toolResult({ callId: "c", output: [picture] })]);
  expect(messages).toEqual([
    { role: "user", content },
    { role: "assistant", content: [{ type: "tool_use", id: "c", name: "look-up", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: content.slice(0, 1) }] },
  ]);
});

test("arguments stay the text that came, go as the object that they are, and as Anthropic's guide says where they are none", () => {
  const argumentsIn = (content: JsonObject) => read(message([content], "tool_use")).blocks[0]?.payload["arguments"];
  expect(argumentsIn({ ...called, input: { n: 1 }, partial_json: '{"n": 1.0}' })).toBe('{"n": 1.0}');
  expect(argumentsIn({ ...called, input: { n: 1 } })).toBe('{"n":1}');
  const cut = toolCall({ callId: "c", name: "look-up", arguments: '{"city":' });
  expect(sent([user("Go."), cut])["messages"]).toContainEqual({
    role: "assistant",
    content: [{ type: "tool_use", id: "c", name: "look-up", input: { INVALID_JSON: '{"city":' } }],
  });
  expect(argumentsIn({ ...called, input: { INVALID_JSON: '{"city":' } })).toBe('{"city":');
});

test.each<[string, Block]>([
  ["a refusal", assistant([{ type: "refusal", refusal: "No." }])],
  ["audio", user([audio("aGk=", "wav")])],
  ["a spreadsheet", user([file({ name: "a.xls", data: "data:application/vnd.ms-excel;base64,aGk=" })])],
  [
    "free text for a tool",
    new Block({ id: null, kind: "tool_call", payload: { type: "custom", callId: "c", name: "n", arguments: "x" } }),
  ],
  ["a message that says nothing", user(" ")],
])("%s cannot be sent", (_, block) => {
  expect(messagesCodec.unsendableReason(block, { withId: false })).toEqual(expect.any(String));
});

test("a text of the model without a word is left out, and what it was said with stays", () => {
  const blocks = read(message([thinking, { type: "text", text: "" }, called], "tool_use")).blocks.map(
    ({ kind, payload, wire }, index) =>
      new Block({
        ...{ id: null, kind, payload },
        wire: { scope: "here", group: { id: "inf_1", index, size: 3, stored: false }, ...wire },
      }),
  );
  expect(blocks.map((block) => messagesCodec.unsendableReason(block, { withId: false }))).toEqual([null, null, null]);
  expect(sent([...blocks, toolResult({ callId: "toolu_1", output: "sunny" })])["messages"]).toEqual([
    { role: "assistant", content: [thinking, called] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "sunny" }] },
  ]);
});

test("usage counts what was read from a cache, and an answer that was cut or refused is not whole", () => {
  const { usage: told, isComplete, status } = read(message([said]));
  expect([isComplete, status]).toEqual([true, "end_turn"]);
  expect(told).toMatchObject({ inputTokens: 423, cachedInputTokens: 400, outputTokens: 9, reasoningTokens: 5 });
  expect(read(message([said], "max_tokens")).isComplete).toBe(false);
  expect(read(message([], "refusal", { stop_details: { category: "bio" } }))).toMatchObject({
    isComplete: false,
    contentFilters: [{ source: "completion", blocked: true, results: { bio: { filtered: true } } }],
  });
});

test("what runs ask otherwise is said in the words of the API, or refused by name", () => {
  const adjust = (given: Settings, asked: Adjustments): Settings => messagesCodec.adjust?.(given, asked) ?? {};
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const all = {
    instructions: "Now.",
    maxOutputTokens: 7,
    reasoningEffort: "high",
    parallelToolCalls: false,
    output: schema,
  };
  expect(adjust(settings, { ...all, toolChoice: "required", model: "claude-other" })).toEqual({
    model: "claude-other",
    max_tokens: 7,
    instructions: "Now.",
    tool_choice: { type: "any", disable_parallel_tool_use: true },
    output_config: {
      effort: "high",
      format: { type: "json_schema", schema: { ...schema, additionalProperties: false } },
    },
  });
  expect(adjust(settings, { toolChoice: { tool: "look-up" } })["tool_choice"]).toEqual({
    type: "tool",
    name: "look-up",
  });
  expect(adjust(settings, { reasoningEffort: "none" })["thinking"]).toEqual({ type: "disabled" });
  expect(adjust(settings, { temperature: 1, topP: 0.5 })).toMatchObject({ temperature: 1, top_p: 0.5 });
  expect(() => adjust(settings, { reasoningEffort: "minimal" })).toThrow("has no effort 'minimal'");
  const tools = [{ name: "look-up", description: "Looks up.", parameters: { type: "object" } }];
  const offered = messagesCodec.offer(
    { ...settings, tools: [{ type: "web_search_20250305", name: "web_search" }] },
    { tools, capabilities: {} },
  );
  expect(sent([user("Go.")], offered)["tools"]).toEqual([
    { type: "web_search_20250305", name: "web_search" },
    { name: "look-up", description: "Looks up.", input_schema: { type: "object" } },
  ]);
});

test.each<[string, readonly Block[], Settings, number | null]>([
  ["what the model said is followed by a word of the user", [user("Go."), assistant("I")], settings, 2],
  ["a message that says nothing is not there", [user("Go."), assistant(" ")], settings, null],
  ["what the user said stands last", [user("Go."), assistant("I"), user("And?")], settings, null],
  ["a system prompt alone is followed by a word of the user", [system("Go.")], settings, 1],
  ["models that go on with their own words do", [user("Go."), assistant("I")], { model: "claude-3-haiku" }, null],
])("%s", (_, blocks, given, at) => {
  const repairs = shape(Turn.of(blocks), 0, {
    ...{ scope: "here", codec: messagesCodec, itemIds: false, quarantined: new Set<string>(), heldFrom: 0 },
    settings: given,
  });
  expect(repairs.filter(({ rule }) => rule === "prompt").map(({ index }) => index)).toEqual(at === null ? [] : [at]);
});

test("a thread is created with everything but marks for the cache, and continued with what is new", () => {
  const threaded: Settings = { ...settings, threads: true, instructions: "Be brief.", tools: [] };
  const marked = user([{ type: "text", text: "Go.", cache_control: { type: "ephemeral" } }]);
  expect(sent([user("Go.")], threaded)).toMatchObject({ system: "Be brief.", tools: [], thread: { type: "create" } });
  expect(JSON.stringify(sent([marked], threaded))).not.toContain("cache_control");
  const input = [{ block: user("And?"), withId: false }];
  const anchor = { kind: "thread", id: "msg_1" };
  const body = parseJson(messagesCodec.encodeRequest({ settings: threaded, input, anchor, transport: "json" }));
  expect(body).toEqual({
    ...settings,
    messages: [{ role: "user", content: [{ type: "text", text: "And?" }] }],
    thread: { type: "continue", previous_message_id: "msg_1" },
  });
});

test.each([
  ["of nothing", []],
  [
    "with a text of nothing",
    [
      { type: "text", text: " " },
      { type: "tool_use", id: "toolu_1", name: "look", input: {} },
    ],
  ],
])("a thread is not continued behind an answer %s, which the server takes before no other message", (_, content) => {
  const answer = { id: "msg_1", type: "message", role: "assistant", model: "claude", content, stop_reason: "end_turn" };
  const asked = { inferenceId: "inf_1", capabilities: {} };
  const { anchor } = messagesCodec.readAnswer(answer, { ...asked, settings: { ...settings, threads: true } });
  expect(anchor).toEqual({ kind: "thread", id: "msg_1", unusable: "says-nothing" });
});

test("an answer is continued from where threads were asked for", () => {
  const asked = { inferenceId: "inf_1", capabilities: {} };
  const answer = message([{ type: "text", text: "Warm." }]);
  const threaded = messagesCodec.readAnswer(answer, { ...asked, settings: { ...settings, threads: true } });
  expect(threaded.anchor).toEqual({ kind: "thread", id: "msg_1" });
  expect(messagesCodec.readAnswer(answer, { ...asked, settings }).anchor).toBeUndefined();
});

test("the user is made to say more behind a system prompt alone, and not behind a system message that a thread goes on with", () => {
  const isNeeded = (isContinued: boolean) =>
    messagesCodec.prompt?.isNeeded([system("Be brief.")], { settings: { ...settings, threads: true }, isContinued });
  expect([isNeeded(false), isNeeded(true)]).toEqual([true, false]);
});

test("temperature and topP are taken by the older version of the API, and refused by name for the newer one", () => {
  const adjusted = (version?: string) => {
    const { codec, settings } = anthropic({ model: "m", apiKey: "k", version });
    return codec.adjust?.(settings, { temperature: 0, topP: 0.5 });
  };
  expect(adjusted("2023-06-01")).toMatchObject({ model: "m", temperature: 0, top_p: 0.5 });
  for (const version of [undefined, "2026-10-21", "2027-01-01"])
    expect(() => adjusted(version)).toThrow(
      /does not accept temperature since its version 2026-10-21.*version: "2023-06-01"/,
    );
  const { codec, settings } = anthropic({ model: "m", apiKey: "k" });
  expect(() => codec.adjust?.(settings, { topP: 1 })).toThrow("does not accept topP");
  expect(codec.adjust?.(settings, { maxOutputTokens: 9 })).toMatchObject({ max_tokens: 9 });
});
