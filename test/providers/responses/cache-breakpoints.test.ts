import { expect, test } from "vitest";
import { type ReferenceServerOptions, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject, objectsOf } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { assistant, image, system, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { createWorkshop } from "../../support/workshop.ts";

const model = "gpt-5.6-sol";
const long = (text: string): string => `${text} ${"word ".repeat(60)}`.trimEnd();

type Asked = Partial<OpenaiResponsesOptions>;

/** A conversation with a server that caches as OpenAI does from GPT-5.6 on, and looks one message end back. */
async function world(options: ReferenceServerOptions = {}, lookback = 1) {
  const workshop = createWorkshop();
  const server = await startReferenceServer({
    ...{ seed: "marks", now: () => workshop.clock.now },
    caches: { responses: { boundaries: "message-ends", lookback, cachesAnswers: false, reportsWrites: true } },
    ...options,
  });
  const ask = async (said: readonly string[], asked: Asked): Promise<void> => {
    const at = { model, apiKey: "none", baseURL: server.baseUrl, transport: "json" } as const;
    const provider = openaiResponses({ ...at, ...asked });
    workshop.clock.now += 1_000;
    for (const each of said) await workshop.conversation.append(long(each));
    await workshop.conversation.run(workshop.engine({ provider }));
  };
  /** The places of breakpoints in each body: the indexes of items. */
  const marks = () =>
    server.requests.map(({ body }) =>
      objectsOf(isJsonObject(body) ? body["input"] : []).flatMap((item, at) =>
        JSON.stringify(item).includes("prompt_cache_breakpoint") ? [at] : [],
      ),
    );
  return { ...workshop, server, ask, marks, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test.each<[string, Asked]>([
  ["chained", {}],
  ["in full", { store: false }],
])(
  "%s: what an earlier request wrote is read behind more messages than the server looks back over",
  async (_, asked) => {
    const read = async (more: Asked) => {
      await using here = await world();
      await here.ask(["one"], { ...asked, ...more });
      await here.ask(["two", "three", "four"], { ...asked, ...more });
      const cacheRules = { minimumTokens: 0, stepTokens: 1, lookback: 1, boundaries: "message-ends" } as const;
      const { cause } = (await here.conversation.why(undefined, { cacheRules })).cache;
      const verdicts = here.server.requests.map(({ cache }) => cache);
      expect(cause).toBe(verdicts[1]?.reason);
      return { verdicts, marks: here.marks() };
    };
    const [without, withMarks] = [await read({}), await read({ cacheBreakpoints: true })];
    expect(without.marks).toEqual([[], []]);
    expect(without.verdicts.map((cache) => cache?.tokens.read)).toEqual([0, 0]);
    expect(without.verdicts[1]?.reason).toBe("out-of-lookback");
    expect(withMarks.marks).toEqual([[0], asked.store === false ? [0, 4] : [2]]);
    expect(withMarks.verdicts[1]).toMatchObject({
      reason: "read",
      tokens: { read: withMarks.verdicts[0]?.tokens.prompt },
    });
    expect(withMarks.verdicts[0]?.tokens).toEqual(without.verdicts[0]?.tokens);
  },
);

test("in mode explicit, nothing is cached without breakpoints, and everything up to the newest message with them", async () => {
  const written = async (more: Asked) => {
    await using here = await world();
    const asked = { prompt_cache_options: { mode: "explicit" }, ...more };
    for (const said of ["one", "two"]) await here.ask([said], asked);
    return here.server.requests.map(({ cache }) => [cache?.tokens.written, cache?.tokens.read]);
  };
  expect(await written({})).toEqual([
    [0, 0],
    [0, 0],
  ]);
  const [first, second] = await written({ cacheBreakpoints: true });
  expect(first?.[0]).toBeGreaterThan(60);
  expect(second?.[1]).toBe(first?.[0]);
});

test("the bodies are rebuilt to the byte, the chain goes on, and why finds the same as the server", async () => {
  await using here = await world({}, 20);
  const { conversation, server } = here;
  for (const said of ["one", "two", "three"])
    await here.ask([said], { cacheBreakpoints: { ttl: "12h" }, cacheDiagnostics: true });
  const sent: string[] = [];
  for await (const { event, revision } of conversation.events())
    if (event.type === "InferenceRequested") sent.push((await conversation.request(revision)).bodyText);
  expect(sent).toEqual(server.requests.map(({ bodyText }) => bodyText));
  expect(sent[2]).toContain('"prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}');
  const { decision, cache } = await conversation.why(undefined, { cacheRules: { minimumTokens: 0 } });
  expect(decision).toMatchObject({ strategy: "chained", changedSettings: [] });
  expect(cache).toMatchObject({ cause: "read", serverSays: { says: "same", agrees: true } });
  expect(cache.foreseenRead?.tokens).toBe(server.requests[2]?.cache?.tokens.read);
});

test("a model that takes no breakpoints is sent none, and the answer is had all the same", async () => {
  await using here = await world({ unsupported: ["prompt_cache_breakpoint"] });
  for (const said of ["one", "two"]) await here.ask([said], { cacheBreakpoints: true });
  expect(here.marks()).toEqual([[0], [], []]);
  expect((await here.conversation.turn()).exchanges).toHaveLength(2);
});

const encoded = (
  blocks: readonly Block[],
  settings: JsonObject,
  breakpoints: readonly number[],
): readonly JsonObject[] => {
  const input = blocks.map((block) => ({ block, withId: false }));
  const details = { breakpoints, compared: null };
  const body = responsesCodec.encodeRequest({
    ...{ settings: { model, cacheBreakpoints: true, ...settings }, input, anchor: null, transport: "json", details },
  });
  return objectsOf((JSON.parse(body) as { readonly input: unknown }).input);
};

const marked = (items: readonly JsonObject[]): readonly number[] =>
  items.flatMap((item, at) => (JSON.stringify(item).includes('"mode":"explicit"') ? [at] : []));

test("breakpoints are on the last part of messages only, and those that blocks came with are left out", () => {
  const own = user([{ type: "text", text: "Look.", prompt_cache_breakpoint: { mode: "explicit" } }]);
  const called = [
    toolCall({ callId: "c", name: "look-up", arguments: "{}" }),
    toolResult({ callId: "c", output: "1" }),
  ];
  const blocks = [system("Be kind.", "developer"), system("Be brief."), own, assistant("Yes."), ...called];
  expect(marked(encoded(blocks, {}, [6, 0]))).toEqual([1, 2]);
  expect(marked(encoded(blocks, {}, [0]))).toEqual([1]);
  expect(marked(encoded(blocks.slice(2), {}, [0]))).toEqual([]);
  const shown = user([{ type: "text", text: "Look." }, image("https://pictures.test/cat.png")]);
  const [item = {}] = encoded([shown], {}, [1]);
  expect(objectsOf(item["content"]).map((part) => part["prompt_cache_breakpoint"])).toEqual([
    undefined,
    { mode: "explicit" },
  ]);
  const heard = user([
    { type: "text", text: "Listen." },
    { type: "audio", audio: { data: "", format: "wav" } },
  ]);
  expect(marked(encoded([heard], {}, [1]))).toEqual([]);
});

test("with the automatic one, a request sets at most four, and the option takes nothing else", () => {
  const planned = {
    anchor: null,
    blocks: 12,
    said: [],
    sentBefore: [9, 6, 3],
    capabilities: { cacheBreakpoints: true },
  };
  const of = (settings: JsonObject) =>
    responsesCodec.detailsOf({ ...planned, newest: null, settings: { model, cacheBreakpoints: true, ...settings } });
  expect(of({})).toEqual({ breakpoints: [12, 9, 0] });
  expect(of({ prompt_cache_options: { mode: "explicit" } })).toEqual({ breakpoints: [12, 9, 6, 0] });
  expect(of({ cacheBreakpoints: false })).toBeUndefined();
  const wrong: object = { cacheBreakpoints: { ttl: "1h" } };
  expect(() => openaiResponses({ model, apiKey: "none", ...wrong })).toThrow('give true, false, { ttl: "30m" } or');
  const off = openaiResponses({ model, apiKey: "none", cacheBreakpoints: false });
  expect(off.settings).toEqual({ model });
});
