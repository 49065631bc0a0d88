import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cacheDocument } from "../../../src/apps/documents/caching.ts";
import { billDocument } from "../../../src/apps/documents/stores.ts";
import type { MissesDocument } from "../../../src/apps/studio/misses-document.ts";
import type { OverviewDocument } from "../../../src/apps/studio/page-documents.ts";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

const demoStore = useDemoStore();

const prices = JSON.stringify({
  demo: {
    ...{ litellm_provider: "openai", input_cost_per_token: 5e-6, output_cost_per_token: 3e-5 },
    ...{ cache_read_input_token_cost: 5e-7 },
  },
});

async function openPriced() {
  const folder = demoStore();
  const file = folder.file("prices.json");
  writeFileSync(file, prices);
  const here = await studioHere(`sqlite:${folder.file("turnlog.db")}`, { prices: file });
  const id = (await here.store.list()).conversations[0]?.id ?? "";
  const at = { cwd: folder.path };
  return {
    ...{ ...here, id },
    cache: async () =>
      readDocument(cacheDocument, await turnlogHere(["cache", "--all", "--prices", file, "--json"], at)),
    bill: async () => readDocument(billDocument, await turnlogHere(["bill", "--prices", file, "--json"], at)),
    [Symbol.asyncDispose]: () => here[Symbol.asyncDispose](),
  };
}

test("the strip's requests add up to turnlog cache and turnlog bill, to the digit", async () => {
  await using demo = await openPriced();
  const { totals, requests } = await demo.get<OverviewDocument>(`/api/c/${demo.id}`);
  const [cache, bill] = [await demo.cache(), await demo.bill()];
  const { input, read, lost } = cache.tokens;
  expect(totals.cache).toEqual({ requests: cache.requests, input, read, lost });
  expect([totals.money, totals.missMoney]).toEqual([bill.total.money.total, cache.money]);
  const sum = (place: 5 | 7 | 9): number => requests.items.reduce((all, each) => all + each[place], 0);
  expect([sum(5), sum(7), sum(9)]).toEqual([input, read, lost]);
  const missed = requests.items.filter((each) => each[9] > 0);
  expect(missed.map((each) => [each[0], requests.caches[each[10]], each[12]])).toEqual(
    cache.misses.toReversed().map(({ cause, author, money }, n) => [[24, 62][n], { cause, author }, money]),
  );
});

test("the requests that paid most again are named with who caused that, and add up to the misses", async () => {
  await using demo = await openPriced();
  const { worst, days, ...read } = await demo.get<MissesDocument>("/api/misses");
  const cache = await demo.cache();
  expect(worst.map(({ conversation, revision }) => [conversation, revision])).toEqual([
    [demo.id, 62],
    [demo.id, 24],
  ]);
  expect(worst.map(({ cause, author, lost, money }) => ({ cause, author, lost, money }))).toEqual(
    cache.misses.map(({ cause, author, lost, money }) => ({ cause, author, lost, money })),
  );
  expect(read).toEqual({ read: 1, conversations: 1 });
  expect(days.map(({ lost, money }) => ({ lost, money }))).toEqual([{ lost: cache.tokens.lost, money: cache.money }]);
  expect(await demo.get("/api/misses?since=2100-01-01")).toMatchObject({ worst: [], days: [] });
});

test("the banner of a request says what it paid again, and who caused it unless its title does", async () => {
  await using demo = await openPriced();
  const text = async (revision: number): Promise<string> =>
    (await demo.get<StackDocument>(`/api/c/${demo.id}/stack/${revision}`)).banner.text;
  const { misses } = await demo.cache();
  for (const [n, revision] of [62, 24].entries())
    expect(await text(revision)).toMatch(new RegExp(`read from the cache, ${misses[n]?.lost} paid again\\.$`));
  const find = (from: number, direction: number) =>
    demo.get(`/api/c/${demo.id}/find/${from}?what=miss&direction=${direction}`);
  expect([await find(0, 1), await find(24, 1), await find(24, -1)]).toEqual([
    { what: "miss", revision: 24 },
    { what: "miss", revision: 62 },
    { what: "miss", revision: null },
  ]);
});

test("pages of the strip and of the log are those of the whole", async () => {
  await using demo = await openPriced();
  const { groups, requests } = await demo.get<OverviewDocument>(`/api/c/${demo.id}`);
  expect([groups.from, groups.total, requests.from, requests.total]).toEqual([0, 5, 0, 8]);
  expect(await demo.get(`/api/c/${demo.id}/groups?from=2`)).toEqual({
    from: 2,
    total: 5,
    items: groups.items.slice(2),
  });
  expect(await demo.get(`/api/c/${demo.id}/requests?from=99`)).toMatchObject({ from: 8, total: 8, items: [] });
});
