import { expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { type CachedProvider, cachedProviders, cachedWorld, minute } from "../../support/caching/cached-world.ts";
import { isTelling, seeds } from "../../support/cases.ts";

const { chat, messages } = cachedProviders;
const long = (text: string, words = 600): string => `${text} ${"word ".repeat(words)}`.trimEnd();

/** Conversations of one program: they have the same instructions. */
async function opened(wire: CachedProvider) {
  const world = await cachedWorld(wire);
  const { clock, store, server, rules } = world;
  const ask = async (id: string, { idle = 1, instructions = long("Be kind."), model = "m-1" } = {}) => {
    clock.now += idle * minute;
    const talk = store.conversation(`cnv_${id}`);
    await talk.append(long(`I am ${id}.`, 30));
    await talk.run(world.engine({ provider: wire.provider(server.url, { model, instructions }) }));
    return talk;
  };
  const cacheOf = async (talk: Conversation) => (await talk.why(undefined, { cacheRules: rules })).cache;
  return { ...world, ask, cacheOf };
}

// A first message is another one, so what the server calls changed is what follows the prefix.
const causes: Readonly<Record<string, string>> = { changed: "read", read: "read", expired: "expired" };

test.each(Object.entries(cachedProviders))(
  "%s: what the first request of a conversation read is explained by the conversation that used its prefix last",
  async (name, wire) => {
    const met = new Map<string, number>();
    for (const seed of seeds(1, 40, 4)) {
      await using world = await opened(wire);
      const { ask, cacheOf, server } = world;
      const draw = drawFrom("prefixes", name, seed);
      const last = new Map<string, string>();
      for (let n = 0; n < 6; n += 1) {
        const instructions = draw.chance(0.2) ? long("Be brief.") : long("Be kind.");
        const talk = await ask(`${n}`, { idle: draw.pick([1, 2, 4, 7, 20]), instructions });
        const truth = server.requests.at(-1)?.cache ?? expect.fail("no verdict");
        const cache = await cacheOf(talk);
        const against = last.get(instructions);
        const cause = against === undefined ? "first" : causes[truth.reason];
        expect([n, cache.cause], `seed ${seed}`).toEqual([n, cause]);
        expect(cache.against?.stream, `seed ${seed}, ${n}`).toBe(against && `conversation-${against}`);
        expect(Math.abs((cache.foreseenRead?.tokens ?? 0) - truth.tokens.read)).toBeLessThan(
          Math.max(16, truth.tokens.read * 0.15),
        );
        met.set(cache.cause, (met.get(cache.cause) ?? 0) + 1);
        for (let more = draw.below(3); more > 0; more -= 1)
          await ask(`${n}`, { idle: draw.pick([1, 4]), instructions });
        last.set(instructions, talk.id);
      }
    }
    if (isTelling) expect(["first", "read", "expired"].filter((cause) => !met.has(cause))).toEqual([]);
  },
);

test("rows join the uses of a prefix if all conversations are asked for, and a bill stays the same", async () => {
  await using world = await opened(messages);
  const { ask, store, cacheOf } = world;
  const model = "claude-opus-5";
  const instructions = long("Be kind.", 3_000);
  await ask("a", { model, instructions });
  await ask("b", { model, instructions, idle: 3 });
  expect((await store.cache()).misses).toEqual([]);
  const cold = await ask("c", { model, instructions, idle: 20 });
  const { lost } = await cacheOf(cold);
  const [miss, ...others] = (await store.cache()).misses;
  expect(others).toEqual([]);
  expect(miss).toMatchObject({ cause: "expired", author: null, requests: 1 });
  expect(Math.abs((miss?.lost ?? 0) - (lost?.tokens ?? 0))).toBeLessThan((lost?.tokens ?? 0) * 0.15);
  const { hitRate, requests } = await store.cache();
  expect([requests, (hitRate ?? 0) > 0.2]).toEqual([3, true]);
  // Of one conversation, the others are not asked for.
  expect((await store.cache({ conversations: [cold.id] })).misses).toEqual([]);
  const [bill, whole] = [await store.bill({ by: "layer" }), await store.bill()];
  expect(bill.total).toEqual(whole.total);
});

test("another model and other instructions are another prefix, and nothing is concluded from them", async () => {
  await using world = await opened(chat);
  const { ask, cacheOf } = world;
  await ask("a");
  expect(await cacheOf(await ask("b", { model: "m-2" }))).toMatchObject({ cause: "first", against: null });
  expect(await cacheOf(await ask("c", { instructions: "Be brief." }))).toMatchObject({ cause: "first", against: null });
});
