import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lens } from "../../../src/middleware/lens.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import {
  type CachedProvider,
  type CachedWorld,
  cachedProviders,
  cachedWorld,
  minute,
} from "../../support/caching/cached-world.ts";
import { drawnLayers } from "../../support/caching/drawn-layers.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const { messages } = cachedProviders;
// Vendors' minimums apply to rows, so prompts have to be longer.
const long = (text: string): string => `${text} ${"word ".repeat(3_000)}`.trimEnd();

const veil = (version: string) =>
  lens({
    ...{ name: "veil", version },
    hide: (block) => (block.text.startsWith("two") ? block.withText(`${version} ${block.text}`) : block),
  });

async function ask(
  { talk, server, clock, engine }: CachedWorld,
  wire: CachedProvider,
  said: string,
  { version, model = "claude-opus-5", idle = 1 }: { version?: string; model?: string; idle?: number } = {},
) {
  clock.now += idle * minute;
  await talk.append(long(said));
  const middleware = version === undefined ? [] : [veil(version)];
  await talk.run(engine({ provider: wire.provider(server.url, { model }), middleware }));
}

test("append-only talk within the lifetime has no miss", async () => {
  await using world = await cachedWorld(messages);
  for (const said of ["one", "two", "three", "four"]) await ask(world, messages, said);
  const report = await world.store.cache();
  expect(report).toMatchObject({ requests: 4, misses: [], money: null, tokens: { lost: 0 } });
  expect(report.unknown).toEqual({ untold: 0, notLookedAt: 0, unknown: 0 });
  expect(report.hitRate).toBe(report.tokens.read / report.tokens.input);
  expect(report.hitRate).toBeGreaterThan(0.5);
});

test("misses are listed by cause and author, the dearest first, and a bill by layer has their tokens", async () => {
  const { file } = temporaryFolder();
  const entry = {
    ...{ litellm_provider: "anthropic", input_cost_per_token: 4e-6, output_cost_per_token: 2e-5 },
    ...{ cache_read_input_token_cost: 4e-7, cache_creation_input_token_cost: 5e-6 },
  };
  writeFileSync(file("prices.json"), JSON.stringify({ "claude-opus-5": entry, "claude-opus-4-8": entry }));
  await using world = await cachedWorld(messages);
  const { store, talk, rules } = world;
  await ask(world, messages, "one");
  await ask(world, messages, "two", { version: "1.0.0" });
  await ask(world, messages, "three", { version: "1.0.0" });
  await ask(world, messages, "four", { version: "1.1.0" });
  const veiled = await talk.why(undefined, { cacheRules: rules, prices: file("prices.json") });
  await ask(world, messages, "five", { version: "1.1.0", model: "claude-opus-4-8" });
  const moved = await talk.why(undefined, { cacheRules: rules, prices: file("prices.json") });
  await ask(world, messages, "six", { version: "1.1.0", model: "claude-opus-4-8", idle: 20 });
  const expired = await talk.why(undefined, { cacheRules: rules, prices: file("prices.json") });
  const report = await store.cache({ prices: file("prices.json") });
  const nobody = { requests: 1, removed: 0, notPriced: 0 };
  const lost = [expired, moved, veiled].map(({ cache }) => cache.lost?.tokens ?? 0);
  const money = [expired, moved, veiled].map(({ cache }) => cache.price?.usd);
  expect(report.misses).toEqual([
    { ...nobody, cause: "expired", author: null, lost: lost[0], money: money[0] },
    { ...nobody, cause: "setting-changed", author: "settings", lost: lost[1], money: money[1] },
    { ...nobody, cause: "changed", author: "veil@1.1.0", lost: lost[2], money: money[2] },
  ]);
  expect(report.tokens.lost).toBe(lost.reduce((sum, each) => sum + each, 0));
  const bill = await store.bill({ by: "layer", prices: file("prices.json") });
  expect(bill.rows.map(({ name, tokens, requests }) => [name, tokens.uncached + tokens.written, requests])).toEqual([
    ["settings", lost[1], 1],
    ["veil@1.1.0", lost[2], 1],
  ]);
  const whole = await store.bill({ prices: file("prices.json") });
  expect(bill.total).toEqual(whole.total);
});

test("a miss within the lifetime that was asked for is not told as expired", async () => {
  const hour = 60 * minute;
  const facts = { lifetimesMs: { default: 5 * minute, "5m": 5 * minute, "1h": hour } };
  const kept: CachedProvider = {
    ...messages,
    provider: (url, { model }) =>
      anthropic({ model, apiKey: "none", baseURL: url, cache: { ttl: "1h" }, transport: "json" }),
  };
  await using world = await cachedWorld(messages, { facts });
  await ask(world, kept, "one");
  await ask(world, kept, "two", { idle: 20 });
  world.server.inject({ kind: "evict" });
  await ask(world, kept, "three", { idle: 20 });
  await ask(world, kept, "four", { idle: 70 });
  const { misses } = await world.store.cache();
  expect(misses.map(({ cause }) => cause).toSorted()).toEqual(["expired", "unexplained"]);
});

test.each(Object.entries(cachedProviders))(
  "%s: rows blame whom the test knows, and a bill by layer adds up to the whole",
  async (_, wire) => {
    let met = 0;
    for (const seed of seeds(2, 30, 4)) {
      await using world = await cachedWorld(wire);
      const judged = await drawnLayers(world, wire, { seed, requests: 12 });
      const allowed = new Set(judged.flatMap(({ authors }) => [...authors]));
      const { misses } = await world.store.cache();
      const blamed = misses.flatMap(({ author }) => (author === null ? [] : [author.replace(/@.*/, "")]));
      met += blamed.length;
      expect(blamed.filter((author) => !allowed.has(author))).toEqual([]);
      const [bill, whole] = [await world.store.bill({ by: "layer" }), await world.store.bill()];
      expect(bill.total).toEqual(whole.total);
      const sum = (of: (cost: (typeof bill)["rest"]) => number) =>
        [...bill.rows, bill.rest].reduce((all, cost) => all + of(cost), 0);
      expect(sum(({ tokens }) => tokens.uncached)).toBe(whole.total.tokens.uncached);
      expect(sum(({ tokens }) => tokens.written)).toBe(whole.total.tokens.written);
      expect(sum(({ tokens }) => tokens.read)).toBe(whole.total.tokens.read);
      expect(sum(({ requests }) => requests)).toBe(whole.total.requests);
    }
    if (isTelling) expect(met).toBeGreaterThan(0);
  },
);
