import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, LoadAPIKeyError } from "@ai-sdk/provider";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { text, user } from "../../../src/domain/make-block.ts";
import { RunFailedError, tool } from "../../../src/index.ts";
import { type AiSdkOptions, aiSdk } from "../../../src/providers/ai-sdk/ai-sdk.ts";
import { aiSdkCodec } from "../../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { answering, serve } from "../../support/providers/loopback.ts";
import { type SdkAnswer, sdkModel, sdkModelV3 } from "../../support/providers/sdk-model.ts";
import { createWorkshop } from "../../support/workshop.ts";

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});
const signed = { anthropic: { signature: "c2lnbmVk" } };
const thinkThenCall: SdkAnswer = {
  content: [
    { type: "reasoning", text: "Two and three.", providerMetadata: signed },
    { type: "text", text: "I will add them.", providerMetadata: { google: { thoughtSignature: "dGV4dA" } } },
    { type: "tool-call", toolCallId: "call-1", toolName: "add", input: '{ "a": 2, "b": 3.0 }' },
  ],
};
const five: SdkAnswer = { content: [{ type: "text", text: "It is five." }] };

type Asking = { readonly options?: Partial<AiSdkOptions>; readonly asks?: readonly string[] };

/** One conversation in which all of `asks` are asked of a model. */
async function talk(model: AiSdkOptions["model"], { options = {}, asks = ["2 + 3?"] }: Asking = {}) {
  const workshop = createWorkshop({ codecs: [aiSdkCodec] });
  const { conversation, engine } = workshop;
  const used = engine({ provider: aiSdk({ model, ...options }), tools: [add] });
  const results = [];
  for (const ask of asks) {
    await conversation.append(ask);
    results.push(await conversation.run(used));
  }
  return { ...workshop, used, results, last: results.at(-1) };
}

/** What a talk fails with; null where it does not. */
const failureOf = (talked: Promise<unknown>): Promise<unknown> =>
  talked.then(
    () => null,
    (error: unknown) => (error instanceof RunFailedError ? error.cause : error),
  );

/** The bodies of the requests in the log. */
async function bodiesIn({ conversation }: Awaited<ReturnType<typeof createWorkshop>>): Promise<readonly JsonObject[]> {
  const bodies: JsonObject[] = [];
  for await (const { event, revision } of conversation.events()) {
    if (event.type !== "InferenceRequested") continue;
    const body = parseJson((await conversation.request(revision)).bodyText);
    if (isJsonObject(body)) bodies.push(body);
  }
  return bodies;
}

describe.each(["json", "sse"] as const)("a model of the AI SDK by %s", (transport) => {
  test("runs the loop of tools, and is given the very prompt that the log holds", async () => {
    const { model, asked } = sdkModel([thinkThenCall, five]);
    const talked = await talk(model, { options: { transport, instructions: "Be brief.", maxOutputTokens: 100 } });
    expect(talked.last).toMatchObject({ status: "completed", text: "It is five." });
    expect(asked).toHaveLength(2);
    const bodies = await bodiesIn(talked);
    for (const [index, options] of asked.entries()) {
      const { model: named, ...body } = bodies[index] ?? {};
      expect(named).toBe("fake-1");
      expect({ ...options, abortSignal: undefined }).toEqual({ ...body, abortSignal: undefined });
    }
    expect(asked[1]).toMatchObject({
      maxOutputTokens: 100,
      prompt: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "2 + 3?" }] },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "Two and three.", providerOptions: signed },
            { type: "text", text: "I will add them.", providerOptions: { google: { thoughtSignature: "dGV4dA" } } },
            { type: "tool-call", toolCallId: "call-1", toolName: "add", input: { a: 2, b: 3 } },
          ],
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", toolCallId: "call-1", toolName: "add", output: { type: "text", value: "5" } },
          ],
        },
      ],
      tools: [{ type: "function", name: "add", description: "Adds two numbers." }],
    });
  });

  test("tells its parts as they come, and what it cost", async () => {
    const { model } = sdkModel([five]);
    const { conversation, used } = await talk(model, { options: { transport }, asks: [] });
    await conversation.append("2 + 3?");
    let said = "";
    for await (const part of conversation.stream(used)) if (part.type === "text-delta") said += part.text;
    expect(said).toBe("It is five.");
    const { usage } = await conversation.run(used);
    expect(usage).toMatchObject({ inputTokens: 12, cachedInputTokens: 8, outputTokens: 5, reasoningTokens: 2 });
  });

  test("keeps unknown content, and sends back what prompts have a form for", async () => {
    const { model, asked } = sdkModel([
      {
        content: [
          { type: "tool-call", toolCallId: "srv-1", toolName: "search", input: '{"q":"x"}', providerExecuted: true },
          { type: "tool-result", toolCallId: "srv-1", toolName: "search", result: { hits: 2 } },
          { type: "source", sourceType: "url", id: "s1", url: "https://example.org/" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
          { type: "text", text: "Two hits." },
        ],
      },
      five,
    ]);
    const { last, conversation } = await talk(model, { options: { transport }, asks: ["search", "and 2 + 3?"] });
    expect(last).toMatchObject({ status: "completed", text: "It is five." });
    const kinds = (await conversation.turn()).blocks.map(({ kind, type }) => `${kind} ${type}`);
    expect(kinds.slice(1, 5)).toEqual(["other tool-call", "other tool-result", "other file", "assistant message"]);
    const [, second] = asked;
    expect(JSON.parse(JSON.stringify(second?.["prompt"]))).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "srv-1", input: { q: "x" }, providerExecuted: true },
          { type: "tool-result", toolCallId: "srv-1", output: { type: "json", value: { hits: 2 } } },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
          { type: "text", text: "Two hits." },
        ],
      },
      { role: "user" },
    ]);
  });

  test("of which nothing is complete is an answer that is cut off: no call of it runs", async () => {
    const { model } = sdkModel([{ ...thinkThenCall, reason: "length" }]);
    const { last } = await talk(model, { options: { transport } });
    expect(last).toMatchObject({ status: "incomplete", text: "I will add them." });
  });
});

test("files go to models of V3 in their own form", async () => {
  const parts = [
    { type: "text", text: "What is this?" },
    { type: "image", url: "data:image/png;base64,AQID" },
    { type: "image", url: "https://example.org/a.png" },
  ];
  const asked = await Promise.all(
    [sdkModel([five]), sdkModelV3([five])].map(async ({ model, asked: of }) => {
      const { conversation, used } = await talk(model, { asks: [] });
      await conversation.append(user(parts));
      await conversation.run(used);
      return of[0]?.["prompt"];
    }),
  );
  const file = (mediaType: string, data: unknown) => ({ type: "file", mediaType, data });
  const told = (...files: readonly unknown[]) => [{ role: "user", content: [text("What is this?"), ...files] }];
  const url = new URL("https://example.org/a.png");
  expect(asked).toEqual([
    told(file("image/png", { type: "data", data: "AQID" }), file("image/*", { type: "url", url })),
    told(file("image/png", "AQID"), file("image/*", url)),
  ]);
});

describe("a model of the AI SDK that fails", () => {
  const apiError = (statusCode: number, responseBody: string, responseHeaders = {}) =>
    new APICallError({
      message: "no",
      url: "https://api",
      requestBodyValues: {},
      statusCode,
      responseBody,
      responseHeaders,
    });

  const broken = (code: string) =>
    new APICallError({
      ...{ message: `Cannot connect to API: ${code}`, url: "https://api", requestBodyValues: {} },
      cause: Object.assign(new Error(code), { code }),
    });

  test("is asked again if no server listened, because nothing was sent", async () => {
    const { model, asked } = sdkModel([broken("ECONNREFUSED"), five]);
    expect((await talk(model)).last).toMatchObject({ text: "It is five." });
    expect(asked).toHaveLength(2);
  });

  test.each([
    ["as the server's object", { error: { message: "try later", code: "server_error" } }, "try later"],
    ["as a text", "try later", "try later"],
    [
      "as a connection that broke",
      new TypeError("terminated", { cause: new Error("other side closed") }),
      "other side closed",
    ],
  ])("in its stream says why: %s", async (_, breaks, text) => {
    const { model } = sdkModel([{ ...five, breaks }]);
    expect(String(await failureOf(talk(model)))).toContain(text);
  });

  test("is asked again where the server refused for now", async () => {
    const { model, asked } = sdkModel([
      apiError(429, '{"error":{"message":"slow down"}}', { "retry-after": "2" }),
      five,
    ]);
    const { last, waits } = await talk(model);
    expect(last).toMatchObject({ text: "It is five." });
    expect(asked).toHaveLength(2);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThanOrEqual(2_000);
  });

  test.each([
    ["a refusal", apiError(400, '{"error":{"message":"bad"}}'), { kind: "invalid-request", outcome: "rejected" }],
    ["an answer that the SDK cannot read", apiError(200, "{}"), { outcome: "unknown", status: 200 }],
    ["no key", new LoadAPIKeyError({ message: "no key" }), { kind: "authentication", outcome: "rejected" }],
    ["anything else", new Error("oops"), { outcome: "unknown", message: "oops" }],
    ["a connection that broke", broken("ECONNRESET"), { kind: "connection", outcome: "unknown" }],
  ])("says so: %s", async (_, error, told) => {
    const { model, asked } = sdkModel([error]);
    const failure = await failureOf(talk(model));
    expect(failure).toMatchObject(told);
    expect(asked).toHaveLength(1);
  });

  test.each([
    ["ends early", { ...five, breaks: "off" }],
    ["says that it was interrupted", { ...five, reason: "interrupted" }],
    ["says an error", { ...five, breaks: new Error("overloaded") }],
  ] as const)("in mid-stream keeps what had come: it %s", async (_, answer) => {
    const { model, asked } = sdkModel([answer]);
    const failure = await failureOf(talk(model));
    expect(failure).toMatchObject({ outcome: "unknown", partial: [{ type: "text", text: "It is five." }] });
    expect(asked).toHaveLength(1);
  });

  test("and does not hear of the signal is left when its time is up", async () => {
    const { model } = sdkModel([]);
    const deaf = { ...model, doStream: () => new Promise<never>(() => undefined) };
    const failure = await failureOf(talk(deaf, { options: { timeoutMs: 1 } }));
    expect(failure).toMatchObject({ kind: "connection", outcome: "unknown" });
  });
});

describe("a mistake is an error when it is made", () => {
  const { model } = sdkModel([]);
  const other = sdkModelV3([]).model;
  test.each([
    ["no model", () => aiSdk({ model: JSON.parse("null") as never }), /model is null: give a model/],
    ["a name", () => aiSdk({ model: { name: "claude" } as never }), /model has no specificationVersion/],
    ["an old model", () => aiSdk({ model: { ...model, specificationVersion: "v2" } }), /specification v2.*AI SDK 6/],
    [
      "a misspelt option",
      () => aiSdk({ model, ...{ maxTokens: 5 } }),
      /no option 'maxTokens': did you mean 'maxOutputTokens'/,
    ],
    ["effort at V3", () => aiSdk({ model: other, reasoning: "high" }), /V3 have no reasoning.*providerOptions/],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });

  test("a run that asks for another model, and one whose model has no word for the effort", async () => {
    const { conversation, used, engine } = await talk(model, { asks: [] });
    await conversation.append("hello");
    await expect(conversation.run(used, { model: "fake-2" })).rejects.toThrow(/make another provider for fake-2/);
    const old = engine({ provider: aiSdk({ model: other }) });
    await expect(conversation.run(old, { reasoningEffort: "high" })).rejects.toThrow(/V3 have no reasoning/);
  });
});

test("with its own fetch the texts that went over the wire are in the log, byte for byte", async () => {
  const answer =
    '{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}';
  await using server = await serve(answering(answer));
  const { conversation, last } = await talk(
    ({ fetch }) => createOpenAICompatible({ name: "mine", baseURL: server.baseURL, apiKey: "none", fetch })("tiny"),
    { options: { transport: "json" }, asks: ["hello"] },
  );
  expect(last).toMatchObject({ text: "Hi." });
  const wires: unknown[] = [];
  for await (const { event } of conversation.events())
    if (event.type === "ResponseReceived") wires.push(event.data.rest["wire"]);
  expect(wires).toEqual([
    [{ url: `${server.baseURL}/chat/completions`, request: server.received[0]?.body, status: 200, response: answer }],
  ]);
});

test("without a key an official model says what is missing, and nothing is sent", async () => {
  vi.stubEnv("ANTHROPIC_API_KEY", undefined);
  const sent: unknown[] = [];
  const fetch = (address: unknown): Promise<never> => Promise.reject(new Error(`sent ${sent.push(address)}`));
  const failure = await failureOf(talk(createAnthropic({ fetch })("claude")));
  vi.unstubAllEnvs();
  expect(failure).toMatchObject({ kind: "authentication", outcome: "rejected" });
  expect(sent).toEqual([]);
});
