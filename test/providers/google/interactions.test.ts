import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { assistant, image, text, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { StreamDelta } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { googleInteractions, interactionsCodec } from "../../../src/entries/google.ts";
import { codecChecks, functionCall, message, startReferenceServer } from "../../../src/entries/testing.ts";
import { openStore, tool } from "../../../src/index.ts";
import { answering, type Loopback, serve } from "../../support/providers/loopback.ts";

const codec = interactionsCodec;
const usage = { total_tokens: 20, total_input_tokens: 8, total_output_tokens: 5, total_thought_tokens: 7 };
const thought = { type: "thought", summary: [{ type: "text", text: "Hm." }], signature: "c2ln" };
const said = { type: "model_output", content: [{ type: "text", text: "Hello." }] };
const call = { type: "function_call", id: "c1", name: "one", arguments: { n: 1 } };
const answerOf = (steps: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  ...{ id: "v1_a", object: "interaction", model: "gemini-3", status: "completed", steps, usage },
  ...more,
});

describe("the codec", () => {
  const answers = [
    answerOf([thought, said]),
    answerOf([{ type: "thought", signature: "c2ln" }, call, { ...call, id: "c2" }], {
      status: "requires_action",
      previous_interaction_id: "v1_0",
    }),
    answerOf([
      { type: "google_search_call", id: "s", arguments: { queries: ["q"] }, signature: "c2ln" },
      { type: "google_search_result", call_id: "s", result: [{ search_suggestions: "s" }] },
      {
        type: "model_output",
        content: [
          { type: "text", text: "A", annotations: [{ type: "url_citation", url: "https://here.example" }] },
          { type: "image", data: "AA==", mime_type: "image/png", resolution: "low" },
          { type: "video", data: "BB==", mime_type: "video/mp4" },
        ],
      },
    ]),
    answerOf([{ type: "something_new", deep: [1] }, { type: "model_output" }, { type: "function_call", id: "" }]),
    { id: "v1_f", status: "failed", errors: [{ code: "internal_error", message: "It broke." }] },
  ];
  const requests = [
    {
      parts: {
        settings: { model: "gemini-3", tools: [{ name: "n", description: "d", parameters: { type: "object" } }] },
        input: [
          user([text("B"), image("data:image/png;base64,AA==")]),
          toolCall({ callId: "toolu_1", name: "n", arguments: '{"b":1,"a":2}' }),
          toolResult({ callId: "toolu_1", output: "1" }),
          assistant("C"),
        ].map((block) => ({ block, withId: false })),
        ...{ anchor: null, transport: "json" },
      },
      body: '{"model":"gemini-3","tools":[{"type":"function","name":"n","description":"d","parameters":{"type":"object"}}],"input":[{"type":"user_input","content":[{"type":"text","text":"B"},{"type":"image","data":"AA==","mime_type":"image/png"}]},{"type":"function_call","id":"toolu_1","name":"n","arguments":{"b":1,"a":2}},{"type":"function_result","name":"n","call_id":"toolu_1","result":"1"},{"type":"model_output","content":[{"type":"text","text":"C"}]}]}',
    },
  ];
  for (const { name, run } of codecChecks(codec, { answers, requests })) test(name, run);

  const read = (response: JsonObject, settings: JsonObject = {}) =>
    codec.readAnswer(response, { inferenceId: "inf_0000000000000001", settings, capabilities: {} });

  test("what Google keeps of a whole answer can be continued from", () => {
    expect(read(answerOf([said])).anchor).toEqual({ kind: "interaction", id: "v1_a" });
    expect(read(answerOf([call], { status: "requires_action" })).anchor).toEqual({ kind: "interaction", id: "v1_a" });
    expect(read(answerOf([said]), { store: false }).anchor?.unusable).toBe("not-stored");
    expect(read(answerOf([said], { status: "incomplete" }))).toMatchObject({
      isComplete: false,
      anchor: { unusable: "incomplete" },
    });
  });

  test("beside a part of an unknown kind, what the model said is read, and all of it goes back", () => {
    const novel = {
      type: "model_output",
      content: [
        { type: "hologram", of: "Paris" },
        { type: "text", text: "Look." },
      ],
    };
    const [draft] = read(answerOf([novel])).blocks;
    expect(draft).toMatchObject({ kind: "assistant", payload: { content: [{ type: "text", text: "Look." }] } });
    const { wire, ...rest } = draft ?? assistant("");
    const block = new Block({ id: null, ...rest, wire: { scope: "google", ...wire } });
    const input = [{ block, withId: false }];
    expect(parseJson(codec.encodeRequest({ settings: {}, input, anchor: null, transport: "json" }))).toEqual({
      input: [novel],
    });
  });

  test("thoughts are counted with what was said, and tools of Google's with the prompt", () => {
    expect(read(answerOf([said], { usage: { ...usage, total_tool_use_tokens: 2 } })).usage).toMatchObject({
      ...{ inputTokens: 10, outputTokens: 12, reasoningTokens: 7, cachedInputTokens: 0 },
    });
  });

  test("settings of runs are said in Google's words, or refused by name", () => {
    const adjust = (adjustments: Parameters<NonNullable<typeof codec.adjust>>[1]) =>
      codec.adjust?.({ model: "m", generation_config: { seed: 1 } }, adjustments);
    expect(adjust({ maxOutputTokens: 5, topP: 0.5, toolChoice: { tool: "one" }, reasoningEffort: "low" })).toEqual({
      model: "m",
      generation_config: {
        ...{ seed: 1, top_p: 0.5, max_output_tokens: 5, thinking_level: "low" },
        tool_choice: { allowed_tools: { mode: "any", tools: ["one"] } },
      },
    });
    expect(adjust({ output: { type: "object" }, toolChoice: "required" })).toEqual({
      ...{ model: "m", generation_config: { seed: 1, tool_choice: "any" } },
      response_format: { type: "text", mime_type: "application/json", schema: { type: "object" } },
    });
    expect(() => adjust({ reasoningEffort: "xhigh" })).toThrow(/accepts? minimal, low, medium, high$/);
    expect(() => adjust({ parallelToolCalls: false })).toThrow(/parallelToolCalls: Gemini has no such setting/);
    expect(() => adjust({ toolChoice: "some" })).toThrow(/toolChoice is 'some'/);
  });
});

const servers: Loopback[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});
const apiKey = "AIza-secret-of-the-test";
const eventsOf = (...events: readonly JsonObject[]): string =>
  events.map((data) => `data: ${JSON.stringify(data)}\n\n`).join("");

async function asked(...given: Parameters<typeof answering>) {
  const server = await serve(answering(...given));
  servers.push(server);
  const deltas: StreamDelta[] = [];
  const provider = googleInteractions({ model: "gemini-3", apiKey, baseURL: server.baseURL });
  const { settings, transport } = provider;
  const answer = provider.infer({
    ...{ bodyText: '{"store":false,"model":"gemini-3","input":[]}', settings, transport },
    signal: new AbortController().signal,
    onDelta: (delta) => void deltas.push(delta),
  });
  const failure = answer.then(
    () => null,
    (error: unknown) => (error instanceof ProviderError ? error : null),
  );
  return { answer, failure, deltas, server };
}

const begun = eventsOf(
  { event_type: "interaction.created", interaction: { id: "v1_a", object: "interaction", status: "in_progress" } },
  { event_type: "step.start", index: 0, step: { type: "thought" } },
  {
    ...{ event_type: "step.delta", index: 0 },
    delta: { type: "thought_summary", content: { type: "text", text: "Hm" } },
  },
  { event_type: "step.delta", index: 0, delta: { type: "thought_summary", content: { type: "text", text: "." } } },
  { event_type: "step.delta", index: 0, delta: { type: "thought_signature", signature: "c2ln" } },
  { event_type: "step.stop", index: 0 },
  { event_type: "step.start", index: 1, step: { type: "model_output", content: [{ type: "text", text: "Hel" }] } },
  { event_type: "step.delta", index: 1, delta: { type: "text", text: "lo." } },
);
const ended = eventsOf(
  { event_type: "step.stop", index: 1 },
  { event_type: "step.start", index: 2, step: { type: "function_call", id: "c1", name: "one", arguments: {} } },
  { event_type: "step.delta", index: 2, delta: { type: "arguments_delta", arguments: '{"n"' } },
  { event_type: "step.delta", index: 2, delta: { type: "arguments_delta", arguments: ":1}" } },
  { event_type: "step.stop", index: 2 },
  {
    event_type: "interaction.completed",
    interaction: { id: "v1_a", status: "requires_action", model: "gemini-3", usage },
  },
);
const sse = { "content-type": "text/event-stream" };

describe("the transport", () => {
  test("puts a stream together to the interaction that would have come whole", async () => {
    const { answer, deltas, server } = await asked(`${begun}${ended}event: done\ndata: [DONE]\n\n`, 200, sse);
    expect((await answer).response).toEqual(answerOf([thought, said, call], { status: "requires_action" }));
    const [received] = server.received;
    expect([received?.url, received?.headers["x-goog-api-key"]]).toEqual(["/v1/interactions", apiKey]);
    const texts = deltas.flatMap((delta) => ("text" in delta ? [[delta.type, delta.text]] : []));
    expect(texts).toEqual([
      ["reasoning-delta", "Hm"],
      ["reasoning-delta", "."],
      ["text-delta", "Hel"],
      ["text-delta", "lo."],
      ["tool-call-delta", '{"n"'],
      ["tool-call-delta", ":1}"],
    ]);
  });

  test("takes a stream without its end for one that was cut, with what had come", async () => {
    const { failure } = await asked(begun, 200, sse);
    expect(await failure).toMatchObject({ kind: "stream-cut", outcome: "unknown", partial: [thought, said] });
  });

  test("tells an error of the stream, a failed interaction, and a refusal", async () => {
    const error = { code: "internal_error", message: "It broke." };
    const inStream = await asked(begun + eventsOf({ event_type: "error", error }), 200, sse);
    expect(await inStream.failure).toMatchObject({ message: "It broke.", partial: [thought, said] });
    const unnamed = await asked(`${begun}data: ${JSON.stringify({ error })}\n\n`, 200, sse);
    expect(await unnamed.failure).toMatchObject({ message: "It broke.", partial: [thought, said] });
    const failed = await asked({ id: "v1_a", status: "failed", errors: [error] });
    expect(await failed.failure).toMatchObject({ message: "It broke.", kind: "server-error" });
    const lost = await asked({ error: { code: "not_found", message: "Requested entity was not found." } }, 404);
    expect(await lost.failure).toMatchObject({ kind: "lost-state", outcome: "rejected" });
    const orphan = await asked(
      {
        error: {
          code: "invalid_request",
          message: "Please ensure that function response turn comes immediately after a function call turn.",
        },
      },
      400,
    );
    expect(await orphan.failure).toMatchObject({ kind: "orphan-tool-output", outcome: "rejected" });
    expect(await (await asked({ hello: 1 })).failure).toMatchObject({ outcome: "unknown" });
  });

  test("refuses settings that would put the context out of our hands", () => {
    const given = { model: "gemini-3", apiKey };
    const make = (more: object) => () => googleInteractions({ ...given, ...more });
    expect(make({ previous_interaction_id: "v1_a" })).toThrow(/with store: true the engine decides/);
    expect(make({ extraBody: { background: true } })).toThrow(/background is not supported/);
    expect(make({ system_instruction: "A" })).toThrow(/system_instruction is not supported: give it as instructions/);
    expect(make({ stroe: true })).toThrow(/did you mean 'store'/);
    expect(make({ apiKey: "" })).toThrow(/there is no API key/);
  });
});

describe("against the reference server", () => {
  const weather = tool({
    name: "weather",
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: () => "sunny",
  });
  const answer = ({ request }: { readonly request: number }) => ({
    output: request === 0 ? [functionCall("weather", '{"city":"Paris"}', { callId: "c1" })] : [message("It is sunny.")],
  });
  const bodies = (server: Awaited<ReturnType<typeof startReferenceServer>>) =>
    server.requests.map(({ status, bodyText }) => {
      const body = parseJson(bodyText);
      if (!isJsonObject(body)) throw new Error("a body is an object");
      return { status, store: body["store"], parent: body["previous_interaction_id"] ?? null, input: body["input"] };
    });

  test("every request holds the whole Turn, and nothing is kept, unless it is asked for", async () => {
    await using server = await startReferenceServer({ answer });
    const provider = googleInteractions({ model: "gemini-3", apiKey, baseURL: server.baseUrl });
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    await conversation.append("Paris?");
    await conversation.run(createEngine({ provider, tools: [weather] }));
    expect(bodies(server)).toMatchObject([
      { status: 200, store: false, parent: null, input: [{ type: "user_input" }] },
      {
        ...{ status: 200, store: false, parent: null },
        input: [{ type: "user_input" }, { type: "function_call" }, { type: "function_result", name: "weather" }],
      },
    ]);
  });

  test("with store, a request continues from the one before, and a result names the tool of a call that it does not hold", async () => {
    await using server = await startReferenceServer({ answer });
    const provider = googleInteractions({ model: "gemini-3", apiKey, baseURL: server.baseUrl, store: true });
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    const engine = createEngine({ provider, tools: [weather] });
    await conversation.append("Paris?");
    await conversation.run(engine);
    const [, second] = bodies(server);
    expect(second).toEqual({
      ...{ status: 200, store: true, parent: server.requests[0]?.responseId },
      input: [{ type: "function_result", name: "weather", call_id: "c1", result: "sunny" }],
    });
    for (const { responseId } of server.requests) if (responseId !== undefined) server.forget(responseId);
    await conversation.append("And now?");
    await conversation.run(engine);
    expect(bodies(server).slice(2)).toMatchObject([
      { status: 404, input: [{ type: "user_input" }] },
      { status: 200, parent: null, input: { length: 5 } },
    ]);
    expect((await store.verify()).problems).toEqual([]);
  });
});
