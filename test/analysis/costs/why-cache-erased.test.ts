import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { system, user } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { cachedProviders } from "../../support/caching/cached-world.ts";
import { erasingWorld, long, lookUp, picture, threeTimes, veil } from "../../support/caching/erasing-world.ts";
import { eventsOf } from "../../support/workshop.ts";

const { chat, gemini, messages, responses } = cachedProviders;
const erasure = { kind: "erasure" };

test.each(Object.entries(cachedProviders))(
  "%s: a miss after an erasure is blamed on it, and on who ordered it, in why, in the rows and in a bill by layer",
  async (_, wire) => {
    await using world = await erasingWorld(wire);
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

test("if an erasure took the only image, it is blamed for what the cache lost by that", async () => {
  await using world = await erasingWorld(messages);
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

test("the earliest change leads: of an erasure and a layer, the one of the earlier block", async () => {
  await using world = await erasingWorld(chat);
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
  await using world = await erasingWorld(responses);
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
  await using world = await erasingWorld(chat);
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
    await using world = await erasingWorld(wire);
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
    await using world = await erasingWorld(wire);
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
  await using world = await erasingWorld(gemini);
  const { talk, erase, ask, whyAt } = world;
  await talk.append([system(long("Be kind."))]);
  await ask("one", { tools: [lookUp] });
  await erase("Be kind.");
  await ask("two", { tools: [lookUp] });
  expect((await whyAt()).cache.changedSettings).toEqual(["instructions"]);
});

test("a fork from before the erasure is told apart from its parent by the repair, also if its log does not say who erased it", async () => {
  await using world = await erasingWorld(chat);
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
      await using world = await erasingWorld(wire);
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
  await using world = await erasingWorld(chat);
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
  await using world = await erasingWorld(chat);
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
