import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { image, system, user } from "../../src/domain/make-block.ts";
import type { EngineConfig } from "../../src/engine/stack/create-engine.ts";
import { defineMiddleware } from "../../src/engine/stack/middleware.ts";
import { tool } from "../../src/engine/stack/tool.ts";
import { lens } from "../../src/middleware/lens.ts";
import { anthropic } from "../../src/providers/anthropic/anthropic.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { describeCacheCause } from "../../src/wording/describe-cache.ts";
import { type CachedProvider, cachedProviders, cachedWorld, minute } from "../support/caching/cached-world.ts";
import { eventsOf } from "../support/workshop.ts";

const { chat, gemini, messages, responses } = cachedProviders;
const long = (text: string): string => `${text} ${"word ".repeat(600)}`.trimEnd();
const veil = (version: string) =>
  lens({
    ...{ name: "veil", version },
    hide: (block) => (block.text.startsWith("three") ? block.withText(`${version} ${block.text}`) : block),
  });
/** Does not show the model the blocks that begin so. */
const without = (version: string, hidden: string) =>
  defineMiddleware({ name: "without", version }, (next) => async (turn) => {
    const shown = turn.filter(({ text }) => !text.startsWith(hidden));
    return turn.concat((await next(shown)).after(shown.length));
  });
const lookUp = tool({
  ...{ name: "look-up", description: "Looks up.", inputSchema: z.object({ of: z.string() }) },
  execute: async () => "found",
});
const erasure = { kind: "erasure" };

/** Three exchanges, and the means to erase a block and to go on. Every request says the whole conversation, unless its mode says otherwise. */
async function begun(wire: CachedProvider) {
  const events = createMemoryStore();
  const world = await cachedWorld(wire, { events });
  const { clock, talk, server } = world;
  const store = new TurnlogStore(events, { clock: () => clock.now });
  const provider = wire.provider(server.url, { model: "m-1" });
  const ask = async (said: string, { of = talk, ...config }: Partial<EngineConfig> & { of?: typeof talk } = {}) => {
    clock.now += minute;
    await of.append(long(said));
    await of.run(world.engine({ provider, mode: "stateless", ...config }));
  };
  const erase = async (begin: string) => {
    clock.now += 1_000;
    const block = (await talk.turn()).blocks.find(({ text }) => text.startsWith(begin))?.id ?? "";
    const plan = await store.planErasure({ blocks: [{ conversation: talk.id, block }] });
    await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
    return block;
  };
  const whyAt = async (revision?: number, of = talk) => of.why(revision, { cacheRules: world.rules });
  return { ...world, erase, ask, whyAt, store, events, provider };
}

const threeTimes = ["one", "two", "three"];

test.each(Object.entries(cachedProviders))(
  "%s: a miss after an erasure is blamed on it, and on who ordered it, in why, in the rows and in a bill by layer",
  async (_, wire) => {
    await using world = await begun(wire);
    const { talk, erase, ask, whyAt, store, server } = world;
    for (const said of threeTimes) await ask(said);
    const block = await erase("two");
    await ask("four");
    const { cache, decision } = await whyAt();
    expect(server.requests.at(-1)?.cache).toMatchObject({ reason: "changed", differs: { path: cache.unit?.path } });
    const erased = (await eventsOf(talk)).find(({ event }) => event.type === "LinesErased");
    expect(cache).toMatchObject({
      ...{ cause: "changed", author: erasure, avoid: null },
      divergence: { index: 2, blockId: block, change: "erased", actor: { kind: "operator", name: "dpo" } },
      edit: { before: null, after: "[erased]", changed: { revision: erased?.revision, actor: { name: "dpo" } } },
    });
    expect(cache.lost?.tokens).toBeGreaterThan(500);
    expect(decision.cache).toMatchObject({ unit: block, erased: true, actor: { name: "dpo" }, keptBlocks: 2 });
    expect(decision.cache?.lostBytes).toBeGreaterThan(2_000);
    const { misses } = await store.cache();
    expect(misses).toMatchObject([{ cause: "changed", author: "erasure", lost: cache.lost?.tokens }]);
    const [bill, whole] = [await store.bill({ by: "layer" }), await store.bill()];
    expect(bill.total).toEqual(whole.total);
    expect(bill.rows).toMatchObject([{ name: "erasure", requests: 1 }]);
    // The stand-in stays the same, so nothing more is lost.
    await ask("five");
    const later = await whyAt();
    expect([later.cache, later.decision.cache]).toMatchObject([{ cause: "read", author: null }, { unit: null }]);
    expect((await store.cache()).misses).toEqual(misses);
  },
);

test("requests from before the erasure have the verdicts that they had", async () => {
  await using world = await begun(chat);
  const { talk, erase, ask, whyAt } = world;
  for (const said of threeTimes) await ask(said);
  await ask("four", { middleware: [veil("1.0.0")] });
  const verdicts = async () => {
    const all = [];
    for await (const { event, revision } of talk.events())
      if (event.type === "InferenceRequested") {
        const { cause, author, unit, against, lost } = (await whyAt(revision)).cache;
        all.push({ cause, author, unit, against: against?.revision, lost });
      }
    return all;
  };
  const before = await verdicts();
  expect(before.map(({ cause }) => cause)).toEqual(["first", "read", "read", "changed"]);
  await erase("two");
  expect(await verdicts()).toEqual(before);
});

const picture = (text: string) => user([{ type: "text", text }, image(`data:image/png;base64,${btoa(text)}`)]);

test("Anthropic's cache depends on whether there are images, and of an erased block it is known whether it had one", async () => {
  await using world = await begun(messages);
  const { talk, erase, ask, whyAt } = world;
  await ask("one");
  await ask("two");
  await talk.append(picture("Look."));
  await ask("three");
  const { revision, cache } = await whyAt();
  expect(cache).toMatchObject({ cause: "setting-changed", unit: { name: "images" }, author: { kind: "settings" } });
  await erase("Look.");
  expect((await whyAt(revision)).cache).toEqual(cache);
});

test("if an erasure took the only image, it is blamed for what the cache lost by that", async () => {
  await using world = await begun(messages);
  const { talk, server, erase, ask, whyAt } = world;
  for (const said of ["Look.", "See."]) await talk.append(picture(said));
  for (const said of threeTimes) await ask(said);
  const first = await erase("Look.");
  await ask("four");
  // There is another one still.
  expect((await whyAt()).cache).toMatchObject({ cause: "changed", author: erasure, divergence: { blockId: first } });
  const second = await erase("See.");
  await ask("five");
  expect(server.requests.at(-1)?.cache).toMatchObject({ reason: "setting-changed" });
  expect((await whyAt()).cache).toMatchObject({
    ...{ cause: "setting-changed", unit: { name: "images" }, author: erasure, avoid: null },
    divergence: { blockId: second, change: "erased", actor: { name: "dpo" } },
  });
});

test("two blocks that requests sent without some of their parts are not alike once both are erased", async () => {
  await using world = await begun(messages);
  const { talk, erase, ask, whyAt } = world;
  for (const said of ["Left", "Right"])
    await talk.append(
      user([
        { type: "text", text: long(said) },
        { type: "refusal", refusal: "No." },
      ]),
    );
  await ask("one", { middleware: [without("1.0.0", "Left")] });
  await ask("two", { middleware: [without("1.1.0", "Right")] });
  const { revision, cache, decision } = await whyAt();
  expect(decision.repairs).toMatchObject([{ rule: "omit-parts", index: 0 }]);
  await erase("Left");
  await erase("Right");
  const { cause, unit, author } = (await whyAt(revision)).cache;
  expect({ cause, unit, author }).toEqual({ cause: cache.cause, unit: cache.unit, author: cache.author });
});

test("the earliest change leads: of an erasure and a layer, the one of the earlier block", async () => {
  await using world = await begun(chat);
  const { erase, ask, whyAt } = world;
  for (const said of threeTimes) await ask(said);
  await erase("two");
  await ask("four", { middleware: [veil("1.0.0")] });
  expect(await whyAt()).toMatchObject({
    ...{ cache: { author: erasure }, decision: { cache: { erased: true, keptBlocks: 2 } } },
  });
  await ask("five");
  const { cache } = await whyAt();
  expect(cache).toMatchObject({ author: { kind: "layer", name: "veil" }, divergence: { index: 4 } });
  await erase("five");
  await ask("six", { middleware: [veil("1.1.0")] });
  const { cache: layer, decision } = await whyAt();
  expect(layer).toMatchObject({ author: { name: "veil" }, divergence: { index: 4, change: "edited" } });
  expect(decision.cache?.erased).toBeUndefined();
});

test("a request that continues from what the server holds has read what was erased, and has no miss", async () => {
  await using world = await begun(responses);
  const { erase, ask, whyAt, server } = world;
  for (const said of threeTimes) await ask(said, { mode: "chained" });
  await erase("two");
  await ask("four", { mode: "chained" });
  expect(server.requests.at(-1)?.cache).toMatchObject({ reason: "read" });
  expect((await whyAt()).cache).toMatchObject({ cause: "read", author: null });
  await ask("five");
  expect((await whyAt()).cache).toMatchObject({ cause: "changed", author: erasure, divergence: { change: "erased" } });
});

test("an erased answer that an earlier request had not sent yet is no change, and one that it had sent is", async () => {
  await using world = await begun(chat);
  const { talk, store, erase, ask, whyAt } = world;
  await ask("one");
  const answer = (await talk.turn()).blocks.at(-1)?.id ?? "";
  const plan = await store.planErasure({ blocks: [{ conversation: talk.id, block: answer }] });
  await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
  await ask("two");
  expect(await whyAt()).toMatchObject({ cache: { cause: "read", author: null }, decision: { cache: { unit: null } } });
  await erase("one");
  await ask("three");
  expect((await whyAt()).cache).toMatchObject({ author: erasure, divergence: { index: 0 } });
});

// Anthropic's codec takes them from the blocks; Gemini's requests have them as a setting.
test.each([messages, gemini])(
  "$front: instructions of the Turn that were erased are blamed on the erasure",
  async (wire) => {
    await using world = await begun(wire);
    const { talk, erase, ask, whyAt } = world;
    await talk.append([system(long("Be kind."))]);
    for (const said of threeTimes) await ask(said);
    await erase("Be kind.");
    await ask("four");
    expect((await whyAt()).cache).toMatchObject({
      ...{ cause: "changed", unit: { kind: "system" }, author: erasure },
      divergence: { index: 0, change: "erased", actor: { name: "dpo" } },
    });
  },
);

test.each(Object.entries(cachedProviders))(
  "%s: a layer that puts a block before instructions that were erased long ago is blamed, and not the erasure",
  async (_, wire) => {
    await using world = await begun(wire);
    const { talk, erase, ask, whyAt } = world;
    const noting = defineMiddleware(
      { name: "noting", version: "1.0.0" },
      (next) => (turn) => next(turn.insert(0, user("A note."))),
    );
    await talk.append([system(long("Be kind."))]);
    for (const said of threeTimes) await ask(said);
    await erase("Be kind.");
    await ask("four");
    expect((await whyAt()).cache.author).toEqual(erasure);
    await ask("five", { middleware: [noting] });
    expect((await whyAt()).cache).toMatchObject({ cause: "changed", author: { kind: "layer", name: "noting" } });
  },
);

test("of settings that were erased with the instructions, why names only the instructions as changed", async () => {
  await using world = await begun(gemini);
  const { talk, erase, ask, whyAt } = world;
  await talk.append([system(long("Be kind."))]);
  await ask("one", { tools: [lookUp] });
  await erase("Be kind.");
  await ask("two", { tools: [lookUp] });
  expect((await whyAt()).cache.changedSettings).toEqual(["instructions"]);
});

test.each(Object.entries(cachedProviders))(
  "%s: what is estimated by bytes, and the cause that follows from it, stays as it was before a long text was erased",
  async (_, wire) => {
    await using world = await begun(wire);
    const { talk, erase, ask, whyAt } = world;
    const hidden = { tools: [lookUp], middleware: [without("1.0.0", "First")] };
    await talk.append(long("First"));
    await talk.append(long("Second"));
    for (const said of ["one", "two"]) await ask(said, hidden);
    await ask("three", { tools: [lookUp] });
    const { revision, cache } = await whyAt();
    expect(cache).toMatchObject({ cause: "changed", author: { name: "without" }, shared: { isAbout: true } });
    for (const gone of ["First", "Second"]) {
      await erase(gone);
      expect((await whyAt(revision)).cache).toEqual({ ...cache, edit: { ...cache.edit, after: "[erased]" } });
    }
  },
);

// Anthropic reads the tools first, so that something is shared, and Gemini the instructions.
test.each([
  ["messages", "unknown"],
  ["gemini", "changed"],
] as const)(
  "%s: of a request whose own instructions were erased, why says what it said, or nothing that it would estimate by their size",
  async (name, expected) => {
    const wire = cachedProviders[name];
    await using world = await begun(wire);
    const { talk, server, erase, ask, whyAt } = world;
    const options = { model: "m-1", apiKey: "none", baseURL: server.url, cache: true, transport: "json" } as const;
    const provider = name === "gemini" ? world.provider : anthropic({ ...options, systemAs: "instructions" });
    await talk.append([system("Be kind.")]);
    const hidden = { provider, tools: [lookUp], middleware: [without("1.0.0", "Be kind.")] };
    for (const said of ["one", "two"]) await ask(said, hidden);
    await ask("three", { provider, tools: [lookUp] });
    const { revision, cache } = await whyAt();
    expect(cache).toMatchObject({ cause: "changed", unit: { kind: "system" }, author: { kind: "settings" } });
    await erase("Be kind.");
    const known = { cause: cache.cause, unit: cache.unit, author: cache.author, against: cache.against };
    const unknown = { cause: "unknown", unit: null, author: null, against: null };
    expect((await whyAt(revision)).cache).toMatchObject(expected === "changed" ? known : unknown);
  },
);

test.each(["its own", "the other's"])(
  "the first request of a conversation read what another one had cached; after %s instructions were erased, why does not say that nobody did",
  async (whose) => {
    await using world = await begun(gemini);
    const { talk, store, ask, whyAt } = world;
    const [first, second] = [talk, store.conversation()];
    for (const each of [first, second]) {
      await each.append([system(long("Be kind."))]);
      await ask("one", { of: each });
    }
    const { revision, cache } = await whyAt(undefined, second);
    expect(cache).toMatchObject({ cause: "read", against: { stream: `conversation-${first.id}` } });
    const erased = whose === "its own" ? second : first;
    const block = (await erased.turn()).blocks[0]?.id ?? "";
    const plan = await store.planErasure({ blocks: [{ conversation: erased.id, block }] });
    await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
    const cause = whose === "its own" ? "unknown" : "more-than-known";
    expect((await whyAt(revision, second)).cache).toMatchObject({ cause, against: null, author: null, lost: null });
    expect(describeCacheCause(cause)).toContain("settings were erased");
  },
);

test("a tool of which an erasure left only the name counts as no changed setting", async () => {
  await using world = await begun(gemini);
  const { talk, erase, ask, whyAt } = world;
  await talk.append([system(long("Be kind."))]);
  for (const said of ["one", "two"]) await ask(said, { tools: [lookUp], middleware: [without("1.0.0", "Be kind.")] });
  await ask("three", { tools: [lookUp] });
  const { revision, before, decision } = await whyAt();
  expect([before?.changedSettings, decision.cache?.settings]).toEqual([["instructions"], ["instructions"]]);
  await erase("Be kind.");
  expect((await whyAt(revision)).before?.changedSettings).toEqual([]);
  await ask("four", { tools: [lookUp], middleware: [without("1.0.0", "Be kind.")] });
  expect((await whyAt()).decision.cache?.settings).toEqual([]);
});

test("a fork from before the erasure is told apart from its parent by the repair, also if its log does not say who erased it", async () => {
  await using world = await begun(chat);
  const { talk, erase, ask, whyAt } = world;
  for (const said of threeTimes) await ask(said);
  const revision = (await talk.head())?.revision ?? 0;
  const older = await talk.fork();
  await erase("two");
  const newer = await talk.fork(revision);
  for (const fork of [older, newer]) {
    await ask("four", { of: fork });
    const { cache } = await whyAt(undefined, fork);
    // The second fork says what the first one has said.
    const cause = fork === older ? "changed" : "more-than-known";
    const told = { foreseen: "changed", author: erasure, divergence: { index: 2, change: "erased" } };
    expect(cache).toMatchObject({ cause, ...told });
  }
});

test.each(Object.entries(cachedProviders))(
  "%s: a miss after settings were erased is blamed on the erasure in why, in the rows and in a bill by layer, and a hit on nothing",
  async (_, wire) => {
    for (const isSame of [true, false]) {
      await using world = await begun(wire);
      const { ask, whyAt, store, server } = world;
      const instructed = (instructions: string) => ({
        provider: wire.provider(server.url, { model: "m-1", instructions: long(instructions) }),
      });
      const secret = "The PIN of Ann is 7302.";
      for (const said of threeTimes) await ask(said, instructed(secret));
      await store.erase(await store.planErasure({ texts: [secret] }), { by: "dpo", ground: "gdpr-17" });
      await ask("four", instructed(isSame ? secret : "Be kind."));
      const { cache, decision, before } = await whyAt();
      expect(before?.changedSettings ?? []).toEqual([]);
      expect(server.requests.at(-1)?.cache?.reason).toBe(isSame ? "read" : "changed");
      // Planning cannot compare the instructions, and says so.
      expect(decision.cache).toMatchObject({ settings: [], unit: null, actor: null, erased: true });
      const { misses } = await store.cache();
      if (isSame) {
        expect([cache.cause, cache.author, cache.lost, misses]).toEqual(["unknown", null, null, []]);
        continue;
      }
      expect(cache).toMatchObject({ cause: "unknown", author: erasure, against: null, edit: null, avoid: null });
      expect(cache.lost?.tokens).toBeGreaterThan(2_000);
      expect(misses).toMatchObject([{ cause: "unknown", author: "erasure", lost: cache.lost?.tokens }]);
      expect((await store.bill({ by: "layer" })).rows).toMatchObject([{ name: "erasure", requests: 1 }]);
      // The next request has settings that are known, and those that changed later are settings.
      await ask("five", instructed("Be kind."));
      await ask("six", instructed("Be exact."));
      expect((await whyAt()).cache).toMatchObject({ cause: "changed", author: { kind: "settings" } });
      expect((await store.cache()).misses.map(({ author }) => author)).toEqual(["settings", "erasure"]);
    }
  },
);

test("another process that begins with a snapshot knows that the settings were erased, and reports no lost cache", async () => {
  await using world = await begun(chat);
  const { talk, ask, server, clock, store, events } = world;
  const secret = long("The PIN of Ann is 7302.");
  await ask("one", { provider: chat.provider(server.url, { model: "m-1", instructions: secret }) });
  await store.erase(await store.planErasure({ texts: [secret] }), { by: "dpo", ground: "gdpr-17" });
  // So many events that the next append saves a snapshot.
  for (let n = 0; n < 520; n += 1) await talk.append(`${n}`);
  const again = new TurnlogStore(events, { clock: () => clock.now }).conversation(talk.id);
  const provider = chat.provider(server.url, { model: "m-1", instructions: long("Be kind.") });
  const types = [];
  for await (const { type } of again.stream(world.engine({ provider, mode: "stateless", cacheLost: { tokens: 1 } })))
    types.push(type);
  expect((await again.why()).decision.cache).toMatchObject({ settings: [], unit: null, erased: true });
  expect([types.includes("request-start"), types.includes("cache-lost")]).toEqual([true, false]);
});

test("nothing is concluded from settings that were erased", async () => {
  await using world = await begun(chat);
  const { ask, whyAt, store, server } = world;
  const provider = chat.provider(server.url, { model: "m-1", instructions: long("The PIN of Ann is 7302.") });
  for (const said of threeTimes) await ask(said, { provider });
  const plan = await store.planErasure({ texts: ["The PIN of Ann is 7302."] });
  await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
  await ask("four", { provider });
  // The same settings were sent, and the log does not have them any more.
  expect((await whyAt()).cache).toMatchObject({
    cause: "unknown",
    foreseen: "unknown",
    against: null,
    author: null,
  });
  await ask("five", { provider });
  expect((await whyAt()).cache).toMatchObject({ cause: "read", author: null });
});
