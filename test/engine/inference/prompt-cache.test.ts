import { expect, test } from "vitest";
import type { Mode } from "../../../src/engine/options/chain-policy.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { thinkingTalk } from "../../support/reasoning/thinking-talk.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

/** What each request of a conversation of four messages read in all, and what of it came from the server's cache. */
async function counted(mode: Mode, middleware: readonly Layer[] = []) {
  const talk = await thinkingTalk();
  for (const text of ["one", "two", "three", "four"]) await talk.say(text, { mode, middleware });
  const answers = dataOf(await eventsOf(talk.conversation), "ResponseReceived");
  return answers.map(({ usage }) => ({
    input: usage?.inputTokens ?? 0,
    cached: usage?.cachedInputTokens ?? 0,
    output: usage?.outputTokens ?? 0,
  }));
}

test.each(["chained", "stateless", "conversation"] as const)(
  "%s: what the server has read and said before comes from its cache, and is reported as cached",
  async (mode) => {
    const [first, ...later] = await counted(mode);
    expect(first?.cached).toBe(0);
    expect(later).toHaveLength(3);
    let before = first?.input ?? 0;
    for (const { input, cached } of later) {
      expect(cached).toBeGreaterThanOrEqual(before);
      expect(cached).toBeLessThan(input);
      before = input;
    }
  },
);

test("instructions that a layer changes with every request keep the chain, and lose the cache", async () => {
  const changing = defineMiddleware({ name: "changing", version: "1.0.0" }, (next) => (turn, ctx) => {
    ctx.instructions(`There are ${turn.length} blocks.`);
    return next(turn);
  });
  expect((await counted("chained", [changing])).map(({ cached }) => cached)).toEqual([0, 0, 0, 0]);
});

test("an edit loses the cache from its place on", async () => {
  const later = (await counted("stateless")).at(-1)?.cached ?? 0;
  const rewrite = (text: string) =>
    defineMiddleware({ name: "rewrite", version: "1.0.0" }, (next) => async (turn) => {
      const block = turn.blocks.find((each) => each.text.startsWith(text));
      const isLast = turn.last?.text === "four";
      return next(block === undefined || !isLast ? turn : turn.replaceEach([block], () => block.withText("new")));
    });
  const [atFirst = 0, atThird = 0] = await Promise.all(
    ["one", "three"].map(async (text) => (await counted("stateless", [rewrite(text)])).at(-1)?.cached),
  );
  expect(atFirst).toBe(0);
  expect(atThird).toBeGreaterThan(0);
  expect(atThird).toBeLessThan(later);
});
