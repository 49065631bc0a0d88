import fc from "fast-check";
import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { SearchResult } from "../../../src/index.ts";
import { createWorkshop, freshStore, storeKinds, type Workshop } from "../../support/workshop.ts";

test.each(storeKinds)("a %s store finds a text, with its place and the text around it", async (kind) => {
  const { store } = createWorkshop({ events: await freshStore(kind) });
  const said = await store.conversation("cnv_paris").append("What is the\nWeather in Paris?");
  await store.conversation("cnv_rome").append("What is the weather in Rome?");
  const { hits, hasMore } = await store.search("weather paris");
  expect(hasMore).toBe(false);
  expect(hits).toMatchObject([
    {
      ...{ conversation: "cnv_paris", title: null, revision: 1, actor: { kind: "user" } },
      block: { id: said.blocks[0]?.id, kind: "user" },
      snippet: "What is the Weather in Paris?",
      match: { start: 12, end: 19 },
    },
  ]);
  expect(placesOf(await store.search("weather"))).toEqual(["cnv_rome@1", "cnv_paris@1"]);
  expect(placesOf(await store.search('"in rome"'))).toEqual(["cnv_rome@1"]);
  expect(placesOf(await store.search('"rome in"'))).toEqual([]);
  expect(placesOf(await store.search("eath"))).toEqual(["cnv_rome@1", "cnv_paris@1"]);
});

test("what was said since the last search is found, and what became of a title", async () => {
  const { store } = createWorkshop();
  const conversation = store.conversation("cnv_trip");
  await conversation.relabel({ title: "Journey to Italy" });
  expect(await store.search("italy")).toMatchObject({ hits: [{ title: "Journey to Italy", block: null }] });
  await conversation.append("a train to Italy");
  expect(placesOf(await store.search("ITALY"))).toEqual(["cnv_trip@2", "cnv_trip@1"]);
  await conversation.relabel({ title: "Journey to Spain" });
  expect(placesOf(await store.search("italy"))).toEqual(["cnv_trip@2"]);
  expect(placesOf(await store.search("spain"))).toEqual(["cnv_trip@3"]);
});

test("answers, calls, results of tools and what layers wrote are found, each once", async () => {
  const { store, conversation, scripted } = createWorkshop();
  const hide = defineMiddleware({ name: "hide", version: "1.0.0" }, (next) => async (turn) => {
    const secret = turn.blocks.filter(({ text }) => text.includes("hunter2"));
    const hidden = turn.replaceEach(secret, (block) => block.withText("my password is [starred]"));
    const result = await next(hidden);
    const shown = result.blocks.filter(({ text }) => text.includes("[starred]"));
    return result.replaceEach(shown, (block) => block.withText("my password is hunter2"));
  });
  const weather = tool({
    ...{ name: "weather", description: "The weather", inputSchema: z.object({ city: z.string() }) },
    execute: ({ city }) => `sunny in ${city}`,
  });
  const calls = [{ name: "weather", arguments: { city: "Oslo" } }];
  const { engine } = scripted([{ calls }, "Bring sunglasses."], { tools: [weather], middleware: [hide] });
  await conversation.append("my password is hunter2");
  await conversation.run(engine);
  const kinds = async (text: string): Promise<readonly (string | undefined)[]> =>
    (await store.search(text)).hits.map(({ block }) => block?.kind);
  expect(await kinds("oslo")).toEqual(["tool_result", "tool_call"]);
  expect(await kinds("SUNGLASSES")).toEqual(["assistant"]);
  expect(await kinds("starred")).toEqual(["user"]);
  expect(await kinds("hunter2")).toEqual(["user"]);
});

test("a fork is found by what was said in it, and not by what it has from its parent", async () => {
  const { store, conversation } = createWorkshop();
  await conversation.append("hello from the parent");
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("hello from the fork");
  expect(placesOf(await store.search("hello"))).toEqual(["cnv_fork@1", "cnv_workshop@1"]);
});

test("a limit ends the hits, and says that there are more", async () => {
  const { store, conversation } = createWorkshop();
  await conversation.append(Array.from({ length: 200 }, (_, n) => `message ${n}`));
  const { hits, hasMore } = await store.search("message", { limit: 3 });
  expect([hits.map(({ snippet }) => snippet), hasMore]).toEqual([["message 199", "message 198", "message 197"], true]);
  expect((await store.search("message", { limit: 200 })).hasMore).toBe(false);
});

test("of a long text the snippet shows what was found, and where", async () => {
  const { store, conversation } = createWorkshop();
  const around = "🙂".repeat(500);
  await conversation.append(`${around}die große Straße${around}`);
  const [hit] = (await store.search("STRASSE")).hits;
  const { snippet = "", match = { start: 0, end: 0 } } = hit ?? {};
  expect(snippet.slice(match.start, match.end)).toBe("Straße");
  expect(snippet).toMatch(/^….*…$/u);
  expect(snippet.length).toBeLessThan(180);
  expect(snippet.isWellFormed()).toBe(true);
});

test("an index that was deleted is made again, and one that says something else is not believed", async () => {
  const { store, conversation } = createWorkshop();
  await conversation.append("needle");
  const found = await store.search("needle");
  const { views } = store.events;
  for (const build of (await views?.builds("search-texts")) ?? []) {
    const rows = (await views?.rows(build, { after: null, limit: 10 })) ?? [];
    const lying = rows.map((row) => ({ ...row, view: '[[1,0,"a lie"],[1,7,"a lie"],[99,0,"a lie"]]' }));
    expect(lying).toHaveLength(1);
    await views?.save(build, { ...build, rows: lying });
  }
  expect((await store.search("a lie")).hits).toEqual([]);
  const gone = await views?.begin("search-texts", 0);
  if (gone !== undefined) await views?.publish(gone);
  expect(await store.search("needle")).toEqual(found);
});

test("what is found is what a look at every text finds", async () => {
  const word = fc.string({ unit: fc.constantFrom("a", "B", "é", "ß", "天", "🙂", '"', "\\", "\n", "1"), maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 30 }), word, async (texts, wanted) => {
      fc.pre(/[^\s"]/u.test(wanted) && !wanted.includes('"'));
      const { store } = createWorkshop();
      for (const [n, text] of texts.entries()) await store.conversation(`cnv_${n % 3}`).append(text);
      const plain = (text: string): string => text.replace(/\s+/gu, " ").toUpperCase().toLowerCase();
      const words = plain(wanted)
        .split(" ")
        .filter((each) => each !== "");
      const expected = new Set(
        texts.flatMap((text) => (words.every((each) => plain(text).includes(each)) ? [text] : [])),
      );
      const { hits } = await store.search(wanted, { limit: 100 });
      const found = hits.map(({ snippet }) => snippet);
      expect(new Set(found)).toEqual(new Set([...expected].map((text) => text.replace(/\s+/gu, " "))));
    }),
    { numRuns: 50 },
  );
});

test("a search has types that a caller can import", () => {
  expectTypeOf<Workshop["store"]["search"]>().returns.resolves.toEqualTypeOf<SearchResult>();
});

const placesOf = ({ hits }: SearchResult): readonly string[] =>
  hits.map(({ conversation, revision }) => `${conversation}@${revision}`);
