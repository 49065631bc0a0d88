import { describe, expect, onTestFinished, test } from "vitest";
import {
  type CacheOptions,
  message,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { askCached, type CachedTalk, cachedFronts } from "../../support/reference-server/cached-fronts.ts";

const words = ["One?", "Two.", "Three?", "Four.", "Five?"].map((text) => `${text} ${"x".repeat(411)}`);
const said = (count: number): readonly string[] => words.slice(0, count);
const minute = 60_000;

describe.each(cachedFronts)("$name", (front) => {
  const started = async (facts: CacheOptions = {}, options: ReferenceServerOptions = {}) => {
    const clock = { ms: 0 };
    const server = await startReferenceServer({
      ...{ seed: "cache", now: () => clock.ms, caches: { [front.name]: facts }, ...options },
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    return { server, clock, ask: (talk: CachedTalk) => askCached(server, front, talk) };
  };

  test("a longer prompt reads all that an earlier one had, and its answer reports that to the token", async () => {
    const { ask } = await started();
    const first = await ask({ said: said(1) });
    expect(first.verdict).toMatchObject({ reason: "first", against: null, differs: null, entry: null });
    expect(first.told.read).toBe(front.name === "gemini" ? undefined : 0);
    const { told, verdict } = await ask({ said: said(3) });
    expect(verdict).toMatchObject({ reason: "read", against: 0, entry: { path: front.paths.said(0), writtenBy: 0 } });
    expect(verdict.differs?.path).toBe(front.paths.said(1));
    expect(verdict.tokens).toMatchObject({ read: first.told.prompt, shared: first.told.prompt });
    expect(told).toMatchObject({ prompt: verdict.tokens.prompt, read: first.told.prompt });
    // The same request again reads all of itself.
    const again = await ask({ said: said(3) });
    expect(again.verdict).toMatchObject({ reason: "read", differs: null, against: 1, tokens: { read: told.prompt } });
  });

  test("a changed message loses the cache from its place on", async () => {
    const { ask } = await started();
    const first = await ask({ said: said(1) });
    await ask({ said: said(3) });
    const [one = "", , ...rest] = said(5);
    const { told, verdict } = await ask({ said: [one, "Changed.", ...rest] });
    expect(verdict).toMatchObject({
      reason: "changed",
      against: 1,
      differs: { path: front.paths.said(1), kind: "message" },
    });
    expect(told.read).toBe(first.told.prompt);
  });

  if (front.paths.tool !== undefined)
    test("a changed tool loses everything behind it", async () => {
      const { ask } = await started();
      await ask({ said: said(1), tools: ["look-up"] });
      const { verdict } = await ask({ said: said(3), tools: ["look-down"] });
      expect(verdict).toMatchObject({ reason: "tools-changed", differs: { path: front.paths.tool, kind: "tool" } });
      expect(verdict.entry?.path).not.toBe(front.paths.said(0));
    });

  if (front.hasModel)
    test("another model reads nothing that this one cached", async () => {
      const { ask } = await started();
      await ask({ said: said(1) });
      const other = await ask({ said: said(1), model: "another-model" });
      expect(other.verdict).toMatchObject({
        reason: "setting-changed",
        differs: { path: "settings.model" },
        tokens: { read: 0 },
      });
      expect(other.told.read ?? 0).toBe(0);
      expect((await ask({ said: said(3) })).verdict).toMatchObject({ reason: "read", against: 0 });
    });

  test("an entry is there until its lifetime has passed since the last request that wrote or read it", async () => {
    const lifetimesMs = { default: 5 * minute, "5m": 5 * minute };
    const { ask, clock } = await started({ lifetimesMs });
    await ask({ said: said(1) });
    for (const [minutes, reason] of [
      [4, "read"],
      [5, "read"],
      [5.1, "expired"],
      [5, "read"],
    ] as const) {
      clock.ms += minutes * minute;
      expect([minutes, (await ask({ said: said(1) })).verdict.reason]).toEqual([minutes, reason]);
    }
  });

  test("a prefix with fewer tokens than the minimum is not cached", async () => {
    const { ask } = await started({ minimumTokens: 350 });
    const short = await ask({ said: said(1) });
    expect(short.told.prompt).toBeLessThan(350);
    expect((await ask({ said: said(1) })).verdict).toMatchObject({ reason: "below-minimum", entry: null });
    await ask({ said: said(4).slice(1) });
    const { verdict } = await ask({ said: said(4).slice(1) });
    expect(verdict).toMatchObject({ reason: "read", tokens: { read: verdict.tokens.prompt } });
  });

  test.each([64, 128])("cached tokens are reported in steps of %i", async (stepTokens) => {
    const { ask } = await started({ stepTokens });
    const first = await ask({ said: said(3) });
    const { told, verdict } = await ask({ said: said(5) });
    const { prompt } = first.told;
    expect(prompt % stepTokens).toBeGreaterThan(0);
    expect([verdict.reason, told.read]).toEqual(["read", prompt - (prompt % stepTokens)]);
  });

  test("nothing is read after an eviction, or from a machine that has nothing; only what is reported changes without a report", async () => {
    const { server, ask } = await started();
    await ask({ said: said(1) });
    for (const [kind, reason] of [
      ["evict", "evicted"],
      ["cold-machine", "cold-machine"],
    ] as const) {
      server.inject({ kind });
      expect((await ask({ said: said(1) })).verdict).toMatchObject({ reason, entry: null, tokens: { read: 0 } });
      // The evicted entry was written again, and the first machine still has its own.
      expect((await ask({ said: said(1) })).verdict).toMatchObject({ reason: "read" });
    }
    // What another machine cached cannot be read here.
    server.inject({ kind: "cold-machine" });
    await ask({ said: said(3) });
    expect((await ask({ said: said(3) })).verdict).toMatchObject({ reason: "cold-machine", entry: { writtenBy: 1 } });
    server.inject({ kind: "untold" });
    const { told, verdict } = await ask({ said: said(1) });
    expect(verdict).toMatchObject({ reason: "read", isTold: false, tokens: { read: verdict.tokens.prompt } });
    expect([told.read, told.written]).toEqual([undefined, undefined]);
  });

  test("an answer that has not begun leaves nothing to read", async () => {
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<undefined>();
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<undefined>();
    const answer = async ({ request }: { readonly request: number }) => {
      if (request === 0) {
        isAsked(undefined);
        await goesOn;
      }
      return { output: [message("Yes.")] };
    };
    const { server, ask } = await started({}, { answer });
    const first = ask({ said: said(1) });
    await asked;
    const second = await askCached(server, front, { said: said(1) });
    goOn(undefined);
    await first;
    expect(second.verdict).toMatchObject({ reason: "not-yet-readable", against: 0, tokens: { read: 0 } });
    expect((await ask({ said: said(1) })).verdict).toMatchObject({ reason: "read", against: 1 });
  });

  test("a front that does not report its cache still has one", async () => {
    const { ask } = await started({ isReported: false });
    await ask({ said: said(1) });
    const { told, verdict } = await ask({ said: said(1) });
    expect([verdict.reason, verdict.isTold, told.read]).toEqual(["read", false, undefined]);
  });
});

test("a front or a fact that does not exist is rejected, with those that do", async () => {
  // @ts-expect-error: there is no such front.
  await expect(startReferenceServer({ caches: { gpt: {} } })).rejects.toThrow("no front 'gpt': give one of responses");
  // @ts-expect-error: there is no such fact.
  await expect(startReferenceServer({ caches: { chat: { ttl: 1 } } })).rejects.toThrow(
    "caches.chat has no member 'ttl'",
  );
});
