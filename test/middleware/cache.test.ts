import { Keyv } from "keyv";
import { expect, test } from "vitest";
import * as z from "zod";
import type { Layer } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { reexecute } from "../../src/entries/replay.ts";
import { type CacheStore, cache } from "../../src/middleware/cache.ts";
import { contentFilter } from "../../src/middleware/content-filter.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

const hour = 3_600_000;
const key = "a secret key";

/** Asks each of some conversations the same, one after the other. */
async function ask(
  answers: readonly ScriptedAnswer[],
  middleware: readonly Layer[],
  { said = "hello", count = 2, withTool = false } = {},
) {
  const { store, ...workshop } = createWorkshop();
  const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "seen" });
  const { engine, provider } = workshop.scripted(answers, { middleware, tools: withTool ? [look] : [] });
  const texts: string[] = [];
  const talks = Array.from({ length: count }, (_, n) => store.conversation(`cnv_cached${n}`));
  for (const talk of talks) {
    await talk.append(said);
    texts.push((await talk.run(engine)).text);
  }
  return { talks, engine, provider, texts };
}

test("the same question in another conversation is answered from a Keyv, without a request", async () => {
  const keyv = new Keyv();
  const { provider, texts, talks, engine } = await ask(["fine"], [cache({ store: keyv, key, ttl: hour })], {
    count: 3,
  });
  expect(texts).toEqual(["fine", "fine", "fine"]);
  expect(provider.requests).toHaveLength(1);
  for (const talk of talks) expect((await reexecute(talk, engine)).difference).toBeNull();
});

test("a cached answer is no anchor: the next request sends the whole Turn", async () => {
  const layer = cache({ store: new Map<string, string>(), key, ttl: hour });
  const { talks, engine, provider } = await ask(["fine", "and well"], [layer]);
  const [, second] = talks;
  await second?.append("and now?");
  const again = await second?.run(engine);
  expect(again?.steps.map(({ decision }) => decision.strategy)).toEqual(["full"]);
  expect(JSON.stringify(provider.reading(1))).toContain("fine");
});

test.each([
  ["another message", { said: "goodbye" }, {}],
  ["another setting", {}, { temperature: 1 }],
] as const)("%s is another question", async (_, { said = "hello" }: { readonly said?: string }, settings) => {
  const layer = cache({ store: new Map<string, string>(), key, ttl: hour });
  const { engine, provider } = await ask(["one", "two"], [layer], { count: 1 });
  const { store } = createWorkshop();
  const talk = store.conversation();
  await talk.append(said);
  expect((await talk.run(engine, settings)).text).toBe("two");
  expect(provider.requests).toHaveLength(2);
});

test("the store sees neither the question nor its plain digest, and keeps an answer for the time given", async () => {
  const seen: unknown[][] = [];
  const store: CacheStore = { get: (): undefined => undefined, set: (...given): number => seen.push(given) };
  await ask(["fine"], [cache({ store, key, ttl: hour })], { count: 1 });
  expect(seen).toEqual([[expect.stringMatching(/^turnlog:[0-9a-f]{64}$/), '["fine"]', hour]]);
  await ask(["fine"], [cache({ store, key: "another key", ttl: hour })], { count: 1 });
  expect(seen[0]?.[0]).not.toBe(seen[1]?.[0]);
});

test("answers with calls, and answers that broke off, were refused or were filtered, are not kept", async () => {
  const kept = new Map<string, string>();
  const layer = cache({ store: kept, key, ttl: hour });
  await ask([{ calls: [{ name: "look", arguments: {} }] }, { text: "cut", status: "incomplete" }], [layer], {
    count: 1,
    withTool: true,
  });
  const filter = contentFilter({ check: (text) => (text === "bad" ? "bad" : null), action: "redact" });
  expect((await ask(["bad"], [layer, filter], { count: 1 })).texts).toEqual(["[removed]"]);
  expect(kept.size).toBe(0);
});

const failing: readonly (readonly [how: string, fail: () => unknown])[] = [
  ["is down", () => Promise.reject(new Error("connection refused"))],
  ["hangs", () => new Promise(() => undefined)],
  ["has something else", () => "{"],
];

test.each(failing)(
  "a store that %s costs a request and never the run, and the log has what happened",
  async (_, fail) => {
    const layer = cache({ store: { get: fail, set: fail }, key, ttl: hour, timeoutMs: 20 });
    const { talks, texts, engine } = await ask(["one", "two"], [layer]);
    expect(texts).toEqual(["one", "two"]);
    const [talk] = talks;
    if (talk === undefined) throw new Error("there is no conversation");
    expect(dataOf(await eventsOf(talk), "EffectFinished")).toHaveLength(2);
    expect((await reexecute(talk, engine)).difference).toBeNull();
  },
);

test("a Keyv whose backend is lost neither ends the process nor the run, and the log says that it failed", async () => {
  const down = (): Promise<never> => Promise.reject(new Error("the connection is closed"));
  const keyv = new Keyv({
    store: { get: down, set: down, delete: down, clear: down, on: (): undefined => undefined } as never,
  });
  const { texts, talks } = await ask(["one"], [cache({ store: keyv, key, ttl: hour })], { count: 1 });
  expect(texts).toEqual(["one"]);
  const [talk] = talks;
  const finished = talk === undefined ? [] : dataOf(await eventsOf(talk), "EffectFinished");
  expect(finished.map(({ answer }) => answer)).toEqual([
    { outcome: "error", message: expect.stringContaining("the connection is closed") as unknown },
    { outcome: "error", message: expect.stringContaining("the connection is closed") as unknown },
  ]);
});
