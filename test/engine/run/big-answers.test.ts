import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { EventTooLargeError } from "../../../src/log/ports/store-errors.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { isLong } from "../../support/cases.ts";
import { counted, layer } from "../../support/run/scene.ts";
import {
  createWorkshop,
  dataOf,
  eventsOf,
  freshStore,
  rejectionOf,
  storeKinds,
  typesOf,
} from "../../support/workshop.ts";

/** A provider that changes what a scripted one answered. */
function changing(answers: Parameters<typeof scripted>[0], change: (response: JsonObject) => JsonObject) {
  const script = scripted(answers);
  const provider: Provider = {
    ...script,
    async infer(request) {
      const answer = await script.infer(request);
      return { ...answer, response: change(answer.response) };
    },
  };
  return { provider, requests: script.requests };
}

/** The likelihoods of the tokens of an answer, as servers give them: 347 KB for 300. */
const logprobs = Array.from({ length: 300 }, (_, n) => ({
  token: `token ${n}`,
  logprob: 0 - n / 7,
  bytes: [116, 111, 107, 101, 110],
  top_logprobs: Array.from({ length: 20 }, (_, m) => ({ token: `other ${m}`, logprob: 0 - m / 3, bytes: [111, 116] })),
}));

const withLogprobs = (response: JsonObject): JsonObject => ({
  ...response,
  output: [
    {
      ...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
      content: [{ type: "output_text", text: "an answer", annotations: [], logprobs }],
    },
  ],
});

/** A value inside so many objects. */
function nested(levels: number): JsonValue {
  let value: JsonValue = "inside";
  for (let level = 0; level < levels; level += 1) value = { value };
  return value;
}

test.each(storeKinds)(
  "an answer with the likelihoods of 300 tokens is stored, and read as it was (%s)",
  async (kind) => {
    const events = await freshStore(kind);
    const { conversation, engine } = createWorkshop({ events });
    const { provider } = changing(["an answer", "another"], withLogprobs);
    await conversation.append("hello");
    expect((await conversation.run(engine({ provider }))).text).toBe("an answer");
    const [stored] = dataOf(await eventsOf(new TurnlogStore(events).conversation(conversation.id)), "ResponseReceived");
    expect(JSON.stringify(stored?.output)).toContain(JSON.stringify(logprobs).slice(1, -1));
    for await (const { problem } of verifyStore(events, { codecs })) expect(problem).toBeNull();
  },
);

/** More than an append takes events, and than it takes bytes. */
const manyCalls = isLong ? 3_000 : 2_000;

test(`an answer of ${manyCalls} calls is stored, and every call is made once`, async () => {
  const { conversation, store, ...workshop } = createWorkshop();
  const { tool, runs } = counted("count", false);
  const calls = Array.from({ length: manyCalls }, () => ({ name: "count", arguments: { why: "because ".repeat(60) } }));
  const { engine } = workshop.scripted([{ calls }, "counted"], { tools: [tool] });
  await conversation.append(`Count to ${manyCalls}.`);
  expect((await conversation.run(engine)).text).toBe("counted");
  expect(new Set(runs).size).toBe(manyCalls);
  for await (const { problem } of verifyStore(store.events, { codecs })) expect(problem).toBeNull();
});

test("an effect may give 600 KB of embeddings, and is not asked again", async () => {
  const { conversation, store, ...workshop } = createWorkshop();
  const embeddings = Array.from({ length: 32_000 }, (_, n) => Math.sin(n));
  expect(JSON.stringify(embeddings).length).toBeGreaterThan(600_000);
  const lengths: number[] = [];
  const retrieving = layer("retrieving", async (turn, next, ctx) => {
    lengths.push((await ctx.effect("embed", () => embeddings)).length);
    return next(turn);
  });
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["an answer"], { middleware: [retrieving] }).engine);
  expect(lengths).toEqual([32_000]);
  const [finished] = dataOf(await eventsOf(conversation), "EffectFinished");
  expect(finished?.answer).toEqual({ outcome: "ok", value: embeddings });
  for await (const { problem } of verifyStore(store.events, { codecs })) expect(problem).toBeNull();
});

test.each<[string, (response: JsonObject) => JsonObject]>([
  ["a field", (response) => ({ ...response, vendor: nested(5_000) })],
  ["a field just too deep", (response) => ({ ...response, vendor: nested(256) })],
  ["a member of a message", (response) => ({ ...response, output: [{ ...message, vendor: nested(5_000) }] })],
])("an answer that is nested too deeply (%s) is a failure, and is not bought again", async (_, change) => {
  const { conversation, engine } = createWorkshop();
  const { provider, requests } = changing(["an answer", "another"], change);
  await conversation.append("hello");
  const failure = await rejectionOf(conversation.run(engine({ provider })));
  expect(failure).toMatchObject({ code: "run-failed", kind: "unstorable" });
  expect(String(failure)).toContain("more than 256 levels");
  expect(requests).toHaveLength(1);
  const events = await eventsOf(conversation);
  expect(typesOf(events).slice(-2)).toEqual(["InferenceFailed", "RunFailed"]);
  expect((await conversation.at(-1)).run).toBeNull();
});

const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "an answer" }] };

test("of an answer that cannot be stored what can be is kept with the failure", async () => {
  const { conversation, engine } = createWorkshop();
  const { provider } = changing(["an answer"], (response) => ({ ...response, vendor: nested(5_000) }));
  await conversation.append("hello");
  await rejectionOf(conversation.run(engine({ provider })));
  const [failed] = dataOf(await eventsOf(conversation), "InferenceFailed");
  expect(JSON.stringify(failed?.partial)).toContain("an answer");
});

const tooDeep =
  "the effect dig returned a value that cannot be stored: it has more than 256 levels of lists and objects";

test.each<[string, number, object, string]>([
  ["as deep as is stored", 256, { outcome: "ok" }, "RunCompleted"],
  ["a level deeper", 257, { outcome: "error", message: tooDeep }, "RunFailed"],
  ["far deeper", 5_000, { outcome: "error", message: tooDeep }, "RunFailed"],
])("an effect that gives a value %s is recorded, and its run ends", async (_, levels, answer, end) => {
  const { conversation, ...workshop } = createWorkshop();
  const deep = layer("deep", async (turn, next, ctx) => {
    await ctx.effect("dig", () => nested(levels));
    return next(turn);
  });
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["an answer"], { middleware: [deep] }).engine).catch(() => undefined);
  const events = await eventsOf(conversation);
  expect(typesOf(events).at(-1)).toBe(end);
  expect(dataOf(events, "EffectFinished")).toMatchObject([{ answer }]);
});

test.each([
  ["ResponseReceived", "an answer", "InferenceFailed"],
  ["EffectFinished", "out of bounds", "EffectFinished"],
])(
  "where a store refuses an answer as too big (%s), that is recorded, and the run ends",
  async (type, told, failed) => {
    const { conversation, ...workshop } = createWorkshop({
      around: (prepared, append) => {
        const isRefused = prepared.envelopes.some((each) => each.type === type && each.data.includes(told));
        if (isRefused) throw new EventTooLargeError("the server takes less");
        return append();
      },
    });
    const reaching = layer("reaching", async (turn, next, ctx) => {
      await ctx.effect("reach", () => "out of bounds");
      return next(turn);
    });
    const { engine, provider } = workshop.scripted(["an answer", "another"], { middleware: [reaching] });
    await conversation.append("hello");
    const failure = await rejectionOf(conversation.run(engine));
    expect(failure).toMatchObject({ code: "run-failed", kind: "event-too-large" });
    const events = await eventsOf(conversation);
    expect(typesOf(events).slice(-2)).toEqual([failed, "RunFailed"]);
    expect(JSON.stringify(events.at(-2))).toContain("the answer cannot be stored: the server takes less");
    expect(provider.requests).toHaveLength(failed === "InferenceFailed" ? 1 : 0);
    expect((await conversation.at(-1)).run).toBeNull();
  },
);

test("a run ends although a store takes not even word of what it refused", async () => {
  const { conversation, ...workshop } = createWorkshop({
    around: (prepared, append) => {
      if (!prepared.envelopes.some(({ type }) => type === "EffectFinished")) return append();
      throw new EventTooLargeError("the server takes less");
    },
  });
  const reaching = layer("reaching", async (turn, next, ctx) => {
    await ctx.effect("reach", () => "out of bounds");
    return next(turn);
  });
  await conversation.append("hello");
  const running = conversation.run(workshop.scripted(["an answer"], { middleware: [reaching] }).engine);
  expect(await rejectionOf(running)).toMatchObject({ code: "run-failed", kind: "event-too-large" });
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["EffectStarted", "RunFailed"]);
});
