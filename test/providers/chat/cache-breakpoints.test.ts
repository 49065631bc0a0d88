import { expect, test } from "vitest";
import * as z from "zod";
import {
  type CacheOptions,
  functionCall,
  message,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject, objectsOf } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { assistant, image, system, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { azureChat } from "../../../src/providers/chat/azure-chat.ts";
import { chatCodecs, defineChatCodec } from "../../../src/providers/chat/chat-codec.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import type { ChatCompletionsOptions } from "../../../src/providers/chat/chat-options.ts";
import { createWorkshop } from "../../support/workshop.ts";

type Asked = Partial<ChatCompletionsOptions>;
type Wire = { readonly asked: Asked; readonly facts: CacheOptions };

/** As OpenAI caches from GPT-5.6 on, and as OpenRouter passes requests on to Anthropic. */
const wires = {
  openai: { asked: { model: "gpt-5.6-sol" }, facts: { boundaries: "message-ends", lookback: 1, reportsWrites: true } },
  openrouter: {
    asked: { model: "anthropic/claude-sonnet-5", dialect: "openrouter" },
    facts: { boundaries: "breakpoints", lookback: 1, lifetimesMs: { "5m": 300_000, "1h": 3_600_000 } },
  },
} as const satisfies Readonly<Record<string, Wire>>;

const long = (text: string): string => `${text} ${"word ".repeat(60)}`.trimEnd();

/** A conversation with a server that caches like this. */
async function world({ asked, facts }: Wire, options: ReferenceServerOptions = {}) {
  const workshop = createWorkshop();
  const server = await startReferenceServer({
    ...{ seed: "marks", now: () => workshop.clock.now, caches: { chat: facts }, chat: asked.dialect ?? "openai" },
    ...options,
  });
  const ask = async (
    said: readonly string[],
    more: Asked = {},
    tools: Parameters<typeof workshop.engine>[0]["tools"] = [],
    conversation = workshop.conversation,
  ) => {
    const provider = chatCompletions({
      ...{ model: "none", apiKey: "none", baseURL: server.baseUrl, transport: "json", instructions: long("Be brief.") },
      ...{ ...asked, ...more },
    });
    workshop.clock.now += 1_000;
    for (const each of said) await conversation.append(long(each));
    await conversation.run(workshop.engine({ provider, tools }));
  };
  const verdicts = () => server.requests.flatMap(({ cache }) => cache ?? []);
  const marks = () => server.requests.map(({ body }) => markedIn(isJsonObject(body) ? body : {}));
  return { ...workshop, server, ask, verdicts, marks, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** The indexes of messages with a breakpoint. */
const markedIn = ({ messages }: JsonObject): readonly number[] =>
  objectsOf(messages).flatMap((each, at) =>
    /"(prompt_cache_breakpoint|cache_control)":/.test(JSON.stringify(each)) ? [at] : [],
  );

test.each(["openai", "openrouter"] as const)(
  "%s: what an earlier request wrote is read behind more messages than the server looks back over",
  async (name) => {
    const read = async (more: Asked) => {
      await using here = await world(wires[name]);
      await here.ask(["one"], more);
      await here.ask(["two", "three", "four"], more);
      const { boundaries, lookback } = wires[name].facts;
      const cacheRules = { minimumTokens: 0, stepTokens: 1, boundaries, lookback };
      const { cause } = (await here.conversation.why(undefined, { cacheRules })).cache;
      expect(cause).toBe(here.verdicts()[1]?.reason);
      return { verdicts: here.verdicts(), marks: here.marks() };
    };
    const [without, withMarks] = [await read({}), await read({ cacheBreakpoints: true })];
    expect(without.marks).toEqual([[], []]);
    expect(without.verdicts.map(({ tokens }) => tokens.read)).toEqual([0, 0]);
    expect(without.verdicts[1]?.reason).toBe(name === "openai" ? "out-of-lookback" : "no-breakpoint");
    // The instructions, the message that the first request ended with, and the newest.
    expect(withMarks.marks).toEqual([
      [0, 1],
      [0, 1, 5],
    ]);
    const [first, second] = withMarks.verdicts;
    expect(second).toMatchObject({ reason: "read", tokens: { read: first?.tokens.prompt } });
    expect(first?.tokens.prompt).toBe(without.verdicts[0]?.tokens.prompt);
  },
);

test("in mode explicit, a loop of tool calls reads what its last request wrote, because results take breakpoints here", async () => {
  const lookUp = tool({
    name: "look-up",
    description: "",
    inputSchema: z.object({}),
    execute: () => long("Warm."),
  });
  const read = async (more: Asked) => {
    await using here = await world(wires.openai, {
      script: [
        { output: [functionCall("look-up", "{}")] },
        { output: [functionCall("look-up", "{}")] },
        { output: [message("Rome.")] },
      ],
    });
    await here.ask(["Where is it warm?"], { prompt_cache_options: { mode: "explicit" }, ...more }, [lookUp]);
    const verdicts = here.verdicts();
    const reasons = verdicts.map(({ reason }) => reason);
    return { tokens: verdicts.map(({ tokens }) => tokens), reasons, marks: here.marks() };
  };
  const without = await read({});
  expect(without.tokens.map((each) => [each.read, each.written])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  expect(without.reasons).toEqual(["first", "no-breakpoint", "no-breakpoint"]);
  const { tokens, marks } = await read({ cacheBreakpoints: true });
  expect(marks).toEqual([
    [0, 1],
    [0, 1, 3],
    [0, 1, 3, 5],
  ]);
  expect(tokens.map((each) => each.read)).toEqual([0, tokens[0]?.prompt, tokens[1]?.prompt]);
});

test.each([
  ["openai", { ttl: "12h" }, { mode: "explicit", ttl: "12h" }],
  ["openrouter", { ttl: "1h" }, { type: "ephemeral", ttl: "1h" }],
] as const)(
  "%s: the bodies are rebuilt to the byte, and why finds the same as the server",
  async (name, asked, mark) => {
    await using here = await world({ ...wires[name], facts: { ...wires[name].facts, lookback: 20 } });
    const { conversation, server } = here;
    for (const said of ["one", "two", "three"]) await here.ask([said], { cacheBreakpoints: asked });
    const sent: string[] = [];
    for await (const { event, revision } of conversation.events())
      if (event.type === "InferenceRequested") sent.push((await conversation.request(revision)).bodyText);
    expect(sent).toEqual(server.requests.map(({ bodyText }) => bodyText));
    expect(sent[2]).toContain(JSON.stringify(mark));
    expect(sent[2]).not.toContain("cacheBreakpoints");
    const { cache } = await conversation.why(undefined, { cacheRules: { minimumTokens: 0 } });
    expect(cache.cause).toBe("read");
    expect(cache.foreseenRead?.tokens).toBe(here.verdicts()[2]?.tokens.read);
  },
);

test.each([
  ["openai", "prompt_cache_breakpoint"],
  ["openrouter", "cache_control"],
] as const)(
  "%s: a model that takes no breakpoints is sent none, and the answer is had all the same",
  async (name, member) => {
    await using here = await world(wires[name], { unsupported: [member] });
    for (const said of ["one", "two"]) await here.ask([said], { cacheBreakpoints: true });
    expect(here.marks()).toEqual([[0, 1], [], []]);
    expect((await here.conversation.turn()).exchanges).toHaveLength(2);
    const learned: JsonObject[] = [];
    for await (const { event } of here.conversation.events())
      if (event.type === "CapabilityLearned")
        learned.push({ of: event.data.capability, model: event.data.model ?? null });
    expect(learned).toEqual([{ of: "cacheBreakpoints", model: wires[name].asked.model }]);
  },
);

test.each(["openai", "openrouter"] as const)(
  "%s: conversations share the instructions, which have a breakpoint, and why finds the other's use of them",
  async (name) => {
    const shared = async (more: Asked) => {
      const facts = { ...wires[name].facts, lookback: 20 };
      await using here = await world({ ...wires[name], facts });
      here.clock.now = Date.UTC(2026, 10, 1);
      const instructions = "word ".repeat(2_000);
      await here.ask(["one"], { instructions, ...more });
      const other = here.store.conversation("cnv_another");
      await other.append(long("two"));
      await here.ask([], { instructions, ...more }, [], other);
      const { cause, foreseenRead, against } = (await other.why()).cache;
      return { cause, foreseenRead, against, server: here.verdicts()[1] };
    };
    const withMarks = await shared({ cacheBreakpoints: true });
    expect(withMarks).toMatchObject({ cause: "read", against: { stream: "conversation-cnv_workshop" } });
    const read = withMarks.server?.tokens.read ?? 0;
    expect(read).toBeGreaterThan(2_000);
    expect(Math.abs((withMarks.foreseenRead?.tokens ?? 0) - read)).toBeLessThan(read * 0.15);
    // Without them, no entry ends there.
    expect((await shared({})).cause).toBe("first");
  },
);

test("openrouter: a breakpoint that the caller has OpenRouter place is known to why", async () => {
  await using here = await world({ ...wires.openrouter, facts: { ...wires.openrouter.facts, lookback: 20 } });
  for (const said of ["one", "two"]) await here.ask([said], { extraBody: { cache_control: { type: "ephemeral" } } });
  const { cache } = await here.conversation.why();
  expect([cache.cause, cache.foreseenRead?.tokens]).toEqual(["read", here.verdicts()[1]?.tokens.read]);
  expect(here.verdicts()[1]?.tokens.read).toBeGreaterThan(60);
});

const encoded = (
  dialect: "openai" | "openrouter",
  blocks: readonly Block[],
  breakpoints: readonly number[],
  more: JsonObject = {},
): readonly JsonObject[] => {
  const input = blocks.map((block) => ({ block, withId: false }));
  const settings = { model: "m", cacheBreakpoints: true, ...more };
  const body = chatCodecs[dialect].encodeRequest({
    ...{ settings, input, anchor: null, transport: "json", details: { breakpoints } },
  });
  return objectsOf((JSON.parse(body) as { readonly messages: unknown }).messages);
};

test("breakpoints are on the last part of messages that are not the model's, and those that blocks came with are left out", () => {
  const own = user([
    { type: "text", text: "Look.", prompt_cache_breakpoint: { mode: "explicit" } },
    { type: "text", text: "Well?" },
  ]);
  const called = [
    assistant("Let me see."),
    toolCall({ callId: "c", name: "look-up", arguments: "{}" }),
    toolCall({ callId: "d", name: "look-up", arguments: "{}" }),
    toolResult({ callId: "c", output: "1" }),
    toolResult({ callId: "d", output: "2" }),
  ];
  const blocks = [system("Be kind.", "developer"), system("Be brief."), own, ...called, user("And?")];
  // The calls are in one message with the text before them.
  const places = (...breakpoints: readonly number[]) => markedIn({ messages: encoded("openai", blocks, breakpoints) });
  const settings = { model: "m", instructions: "Be quick." };
  expect(markedIn({ messages: encoded("openai", blocks, [0], settings) })).toEqual([0]);
  expect([places(9, 0), places(8), places(7), places(6), places(3), places(0)]).toEqual([
    [1, 6],
    [5],
    [4],
    [2],
    [2],
    [1],
  ]);
  expect(places()).toEqual([]);
  expect(encoded("openai", blocks.slice(2), [0, 1])).toMatchObject([
    { role: "user", content: [{ text: "Look." }, { text: "Well?", prompt_cache_breakpoint: { mode: "explicit" } }] },
    ...[{ role: "assistant" }, { role: "tool", content: "1" }, { role: "tool", content: "2" }, { content: "And?" }],
  ]);
  expect(encoded("openai", [user("And?")], [1])).toEqual([
    {
      role: "user",
      content: [{ type: "text", text: "And?", prompt_cache_breakpoint: { mode: "explicit" } }],
    },
  ]);
});

test("OpenAI takes a breakpoint on an image, OpenRouter on texts only, and nobody on an empty one", () => {
  const shown = user([{ type: "text", text: "Look." }, image("https://pictures.test/cat.png")]);
  const marked = (dialect: "openai" | "openrouter", blocks: readonly Block[]) =>
    markedIn({ messages: encoded(dialect, blocks, [blocks.length]) });
  expect(marked("openai", [user("Hi."), shown])).toEqual([1]);
  expect(marked("openrouter", [user("Hi."), shown])).toEqual([0]);
  expect(marked("openrouter", [user("Hi."), user("")])).toEqual([0]);
});

test("a codec that a caller defines writes breakpoints in the form that its dialect names", () => {
  const dialect = { codec: "mine/1", reasoningMember: null, outputLimit: "max_tokens" } as const;
  const [mine, plain] = [defineChatCodec({ ...dialect, breakpoints: "cache_control" }), defineChatCodec(dialect)];
  const parts = {
    ...{
      settings: { model: "m", cacheBreakpoints: true },
      input: [{ block: user("Hi."), withId: false }],
      anchor: null,
    },
    ...{ transport: "json", details: { breakpoints: [1] } },
  };
  expect(mine.encodeRequest(parts)).toContain('"cache_control":{"type":"ephemeral"}');
  expect(plain.encodeRequest(parts)).toBe('{"model":"m","messages":[{"role":"user","content":"Hi."}]}');
  expect(Object.hasOwn(plain, "detailsOf")).toBe(false);
});

test("the option has the lifetimes of its dialect, and servers that take no breakpoints have no option", () => {
  const given = (more: object) => () => chatCompletions({ model: "m", apiKey: "none", ...more });
  expect(given({ cacheBreakpoints: { ttl: "1h" } })).toThrow(
    `chatCompletions: cacheBreakpoints with the dialect 'openai' is an object: give true, false, { ttl: "30m" } or { ttl: "12h" }`,
  );
  expect(given({ cacheBreakpoints: { ttl: "30m" }, dialect: "openrouter" })).toThrow('{ ttl: "5m" } or { ttl: "1h" }');
  expect(given({ cacheBreakpoints: "30m" })).toThrow("chatCompletions: cacheBreakpoints is a text");
  expect(given({ cacheBreakpoints: true, dialect: "mistral" })).toThrow(
    "whose servers take no breakpoints: leave it out, or give the dialect 'openai' or 'openrouter'",
  );
  expect(given({ cacheBreakpoint: true })).toThrow("did you mean 'cacheBreakpoints'");
  const off = chatCompletions({ model: "m", apiKey: "none", cacheBreakpoints: false, dialect: "mistral" });
  expect([off.settings, off.capabilities]).toEqual([{ model: "m" }, { files: false, audio: false }]);
  const azure = azureChat({
    model: "prod",
    apiKey: "none",
    endpoint: "https://x.openai.azure.com",
    cacheBreakpoints: { ttl: "30m" },
  });
  expect(azure.capabilities).toEqual({ cacheBreakpoints: true });
});
