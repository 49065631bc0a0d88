import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { claudeCliStandIn, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { system } from "../../../src/domain/make-block.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { lens } from "../../../src/middleware/lens.ts";
import { claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import {
  type CachedProvider,
  type CachedWorld,
  cachedProviders,
  cachedWorld,
  minute,
} from "../../support/caching/cached-world.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { createWorkshop } from "../../support/workshop.ts";

const { chat, messages, responses } = cachedProviders;

const long = (text: string): string => `${text} ${"word ".repeat(60)}`.trimEnd();

type Asked = Partial<EngineConfig> & { readonly model?: string };

async function ask(world: CachedWorld, wire: CachedProvider, said: string, { model = "m-1", ...config }: Asked = {}) {
  world.clock.now += minute;
  await world.talk.append(long(said));
  await world.talk.run(world.engine({ provider: wire.provider(world.server.url, { model }), ...config }));
}

const cacheOf = async ({ talk, rules }: CachedWorld) => (await talk.why(undefined, { cacheRules: rules })).cache;

/** A layer that shows the model another form of the second message; its version is in the form. */
const veil = (version: string) =>
  lens({
    ...{ name: "veil", version },
    hide: (block) => (block.text.startsWith("two") ? block.withText(`${version} ${block.text}`) : block),
  });

test("the first request has nothing to compare with, and the next one reads all of it", async () => {
  await using world = await cachedWorld(chat);
  await ask(world, chat, "one");
  const nothing = { against: null, unit: null, divergence: null, author: null, edit: null, lost: null, avoid: null };
  expect(await cacheOf(world)).toMatchObject({ cause: "first", ...nothing, tokens: { read: 0 } });
  await ask(world, chat, "two");
  const second = await cacheOf(world);
  expect(second).toMatchObject({ cause: "read", author: null, avoid: null, lost: { tokens: 0, isAbout: false } });
  expect(second.unit).toEqual({ path: "messages.1", kind: "block", name: null });
  expect(second.against).toMatchObject({ stream: "conversation-cnv_workshop" });
});

test.each([chat, messages, responses])(
  "$front: why names the layer that changed a block, with its versions, and what would have avoided it",
  async (wire) => {
    await using world = await cachedWorld(wire);
    await ask(world, wire, "one");
    await ask(world, wire, "two", { middleware: [veil("1.0.0")] });
    await ask(world, wire, "three", { middleware: [veil("1.1.0")] });
    const cache = await cacheOf(world);
    expect(cache).toMatchObject({
      ...{ cause: "changed", author: { kind: "layer", name: "veil", version: "1.1.0" }, avoid: "layer-edits-once" },
      divergence: { index: 2, change: "edited", actor: { kind: "middleware", name: "veil" }, block: "user" },
      edit: { before: `1.0.0 ${long("two")}`, after: `1.1.0 ${long("two")}`, changed: { actor: { name: "veil" } } },
    });
    const { input = 0, read = 0 } = cache.tokens ?? {};
    expect(cache.lost?.tokens).toBe((cache.expected?.tokens ?? 0) - (read ?? 0));
    expect([cache.lost?.tokens, input - (read ?? 0)].every((tokens) => (tokens ?? 0) > 0)).toBe(true);
    await ask(world, wire, "four");
    expect(await cacheOf(world)).toMatchObject({
      // The layer is gone: it is the one whose form is missing.
      ...{ author: { kind: "layer", name: "veil" }, divergence: { change: "edited" } },
      edit: { before: `1.1.0 ${long("two")}`, after: long("two") },
    });
  },
);

test("a layer that changes a system block is named, also where the wire has its text beside the messages", async () => {
  await using world = await cachedWorld(messages);
  await world.talk.append([system(long("Be kind."))]);
  const tone = (version: string) =>
    lens({
      ...{ name: "tone", version },
      hide: (block) => (block.kind === "system" ? block.withText(`${version} ${block.text}`) : block),
    });
  await ask(world, messages, "one", { middleware: [tone("1.0.0")] });
  await ask(world, messages, "two", { middleware: [tone("1.1.0")] });
  expect(await cacheOf(world)).toMatchObject({
    ...{ cause: "changed", unit: { kind: "system" }, author: { name: "tone", version: "1.1.0" } },
    divergence: { index: 0, change: "edited" },
  });
});

test("of several layers that change a block, the one that did otherwise than before is named", async () => {
  await using world = await cachedWorld(chat);
  const stamp = defineMiddleware(
    { name: "stamp", version: "1.0.0" },
    (next) => (turn) =>
      next(turn.map((block) => (block.text.startsWith("two") ? block.withText(`${block.text}!`) : block))),
  );
  await ask(world, chat, "one");
  await ask(world, chat, "two", { middleware: [veil("1.0.0")] });
  await ask(world, chat, "three", { middleware: [stamp, veil("1.0.0")] });
  expect(await cacheOf(world)).toMatchObject({
    author: { name: "stamp" },
    edit: { before: `1.0.0 ${long("two")}`, after: `1.0.0 ${long("two")}!` },
  });
});

test("the caller, compactions and settings are authors, too", async () => {
  await using world = await cachedWorld(messages);
  for (const said of ["one", "two", "three"]) await ask(world, messages, said);
  await world.talk.revertToExchange(-2);
  await ask(world, messages, "four");
  expect(await cacheOf(world)).toMatchObject({ author: { kind: "caller" }, avoid: "append-only" });
  await world.talk.compact({ how: "drop-exchanges", keep: 1 });
  await ask(world, messages, "five");
  expect(await cacheOf(world)).toMatchObject({ author: { kind: "compaction" }, avoid: "compact-less" });
  await ask(world, messages, "six", { model: "m-2" });
  expect(await cacheOf(world)).toMatchObject({
    ...{ cause: "setting-changed", author: { kind: "settings" }, changedSettings: ["model"], avoid: "fixed-settings" },
    ...{ unit: { path: "settings.model", name: "model" }, divergence: null, edit: null },
  });
  world.clock.now += 10 * minute;
  await ask(world, messages, "seven", { model: "m-2" });
  expect(await cacheOf(world)).toMatchObject({ cause: "expired", author: null, idleMs: 11 * minute });
});

test("a layer's own question is compared with its last one", async () => {
  await using world = await cachedWorld(chat);
  const curious = defineMiddleware({ name: "curious", version: "1.0.0" }, (next) => async (turn, ctx) => {
    await ctx.infer({ input: long("and what is this?") });
    return next(turn);
  });
  for (const said of ["one", "two"]) await ask(world, chat, said, { middleware: [curious] });
  const asides: number[] = [];
  for await (const { event, revision, frame } of world.talk.events())
    if (event.type === "InferenceRequested" && frame?.includes("a") === true) asides.push(revision);
  const { cache } = await world.talk.why(asides[1], { cacheRules: world.rules });
  expect(cache).toMatchObject({ cause: "read", against: { revision: asides[0] }, unit: null });
});

test("the price of a miss is what the lost tokens cost, less what reading them would have", async () => {
  const { file } = temporaryFolder();
  const entry = {
    ...{ litellm_provider: "anthropic", input_cost_per_token: 4e-6, output_cost_per_token: 2e-5 },
    ...{ cache_read_input_token_cost: 4e-7, cache_creation_input_token_cost: 5e-6 },
  };
  writeFileSync(file("prices.json"), JSON.stringify({ "m-1": entry }));
  await using world = await cachedWorld(messages);
  await ask(world, messages, "one");
  await ask(world, messages, "two", { middleware: [veil("1.0.0")] });
  await ask(world, messages, "three", { middleware: [veil("1.1.0")] });
  const { cache } = await world.talk.why(undefined, { cacheRules: world.rules, prices: file("prices.json") });
  const lost = cache.lost?.tokens ?? 0;
  // All of the lost tokens were written again.
  expect(cache.tokens?.written["5m"]).toBeGreaterThanOrEqual(lost);
  expect(cache.price).toMatchObject({ usd: String((lost * 46) / 1e7), notPriced: [], entry: "m-1", format: "litellm" });
  await ask(world, messages, "four", { model: "m-2" });
  const other = await world.talk.why(undefined, { cacheRules: world.rules, prices: file("prices.json") });
  expect(other.cache.price).toMatchObject({ usd: null, notPriced: [{ why: "no-entry" }, { why: "no-entry" }] });
});

test("what an answer does not report is untold, and the change is named all the same", async () => {
  await using world = await cachedWorld(chat);
  await ask(world, chat, "one");
  await ask(world, chat, "two", { middleware: [veil("1.0.0")] });
  world.server.inject({ kind: "untold" });
  await ask(world, chat, "three", { middleware: [veil("1.1.0")] });
  expect(await cacheOf(world)).toMatchObject({
    ...{ cause: "untold", foreseen: "changed", author: { name: "veil" }, lost: null, price: null },
    tokens: { read: null },
  });
});

test("a fork is compared with what its parent asked", async () => {
  await using world = await cachedWorld(chat);
  await ask(world, chat, "one");
  const fork = await world.talk.fork();
  await fork.append(long("two"));
  await fork.run(world.engine({ provider: chat.provider(world.server.url, { model: "m-1" }) }));
  const { cache } = await fork.why(undefined, { cacheRules: world.rules });
  expect(cache).toMatchObject({ cause: "read", against: { stream: "conversation-cnv_workshop" } });
});

test("a request that was moved to another account is in another cache", async () => {
  await using world = await cachedWorld(responses);
  await ask(world, responses, "one");
  const provider = { ...responses.provider(world.server.url, { model: "m-1" }), scope: "elsewhere" };
  await ask(world, responses, "two", { provider });
  expect(await cacheOf(world)).toMatchObject({ cause: "more-than-known", foreseen: "other-partition" });
});

test("nothing is concluded about prompts that a program makes, or whose codec is not available", async () => {
  await using server = await startReferenceServer();
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await conversation.run(
    workshop.engine({ provider: claudeCli({ model: "m-1", ...claudeCliStandIn(`${server.url}/v1`) }) }),
  );
  expect((await conversation.why()).cache).toMatchObject({ cause: "unknown", foreseen: "unknown", rules: null });
});

test.each<[string, object, RegExp]>([
  ["a misspelt option", { price: "x" }, /^why has no option 'price': did you mean 'prices'\?$/],
  ["a misspelt rule", { cacheRules: { minimum: 1 } }, /has no option 'minimum'/],
  [
    "a rule of another type",
    { cacheRules: { minimumTokens: "1" } },
    /^why: cacheRules\.minimumTokens is a text: give a number/,
  ],
  ["a lifetime of another form", { cacheRules: { lifetimes: { default: 5 } } }, /lifetimes\.default takes an object/],
  ["names of entries without a file", { priceAs: { a: "b" } }, /^why: priceAs names entries of a price file/],
])("why refuses %s", async (_, options, message) => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["hi"]).engine);
  await expect(conversation.why(undefined, options)).rejects.toThrow(message);
});
