import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Bill } from "../../../src/analysis/costs/prices/bill.ts";
import type { BillBy } from "../../../src/analysis/costs/prices/bill-by.ts";
import type { BillCost } from "../../../src/analysis/costs/prices/bill-sum.ts";
import { type Asked, type RandomStore, randomStore } from "../../support/bill/random-store.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const numbersOf = ({ requests, tokens, untold }: BillCost) => ({
  requests,
  ...tokens,
  untold: untold.requests,
  contradictory: untold.contradictory,
});

/** What the provider was asked and told, added up by the test itself. */
function truthOf(asked: readonly Asked[]) {
  const sum = (of: (each: Asked) => number): number => asked.reduce((all, each) => all + of(each), 0);
  return {
    requests: asked.length,
    uncached: sum(({ uncached }) => uncached),
    read: sum(({ read }) => read),
    written: sum(({ written }) => written),
    output: sum(({ output }) => output),
    reasoning: sum(({ reasoning }) => reasoning),
    untold: asked.filter(({ outcome }) => outcome === "untold").length,
    contradictory: asked.filter(({ outcome }) => outcome === "contradictory").length,
  };
}

const added = (costs: readonly BillCost[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const cost of costs)
    for (const [name, count] of Object.entries(numbersOf(cost))) sums[name] = (sums[name] ?? 0) + count;
  return sums;
};

/** The name of the row in which each request belongs; null for the rest. */
const rowNames: Readonly<Record<string, (asked: Asked, world: RandomStore) => string | null>> = {
  model: ({ model }) => model,
  conversation: ({ cause }) => cause,
  day: ({ day }) => day,
  provider: () => "scripted prefix=",
  "label:user": ({ cause }, { users }) => users.get(cause) ?? null,
};

/** One of the two models has prices, in 10⁻¹² dollars a token. */
const prices = { uncached: 4_000_000n, read: 400_000n, written: 5_000_000n, output: 20_000_000n };
const priceFile = JSON.stringify({
  "m-1": {
    ...{ litellm_provider: "openai", input_cost_per_token: 4e-6, cache_read_input_token_cost: 4e-7 },
    ...{ cache_creation_input_token_cost: 5e-6, output_cost_per_token: 2e-5 },
  },
});

/** An amount in 10⁻¹² dollars, read without the code under test. */
function pico(amount: string | null): bigint {
  const [whole = "0", fraction = ""] = (amount ?? "0").split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);

/** What the provider told, else the price of the model that has one. */
function moneyOf({ paid, declared, uncached, read, written, output }: Asked): bigint {
  if (paid !== null) return BigInt(paid) * 1_000_000n;
  if (declared !== "m-1") return 0n;
  const counts = { uncached, read, written, output };
  return sumOf(Object.entries(prices).map(([name, rate]) => rate * BigInt(Reflect.get(counts, name) as number)));
}

test("every row of a bill, the rest and the total have what was asked and told, to the token, in random stores", async () => {
  const { file } = temporaryFolder();
  writeFileSync(file("prices.json"), priceFile);
  const met = {
    children: 0,
    forks: 0,
    erased: 0,
    erasedBlocks: 0,
    blamed: 0,
    skipped: 0,
    damaged: 0,
    paid: 0,
    untold: 0,
    contradictory: 0,
  };
  for (const seed of seeds(30, 3_000, 60)) {
    const world = await randomStore(seed);
    const { store, asked } = world;
    for (const [by, nameOf] of Object.entries(rowNames)) {
      const bill = await store.bill({ by: by as BillBy, prices: file("prices.json") });
      const at = `seed ${seed}, by ${by}`;
      expect(numbersOf(bill.total), at).toEqual(truthOf(asked));
      expect(added([...bill.rows, bill.rest]), at).toEqual({ ...added([bill.total]) });
      for (const row of bill.rows)
        expect(numbersOf(row), `${at}: ${row.name}`).toEqual(
          truthOf(asked.filter((each) => nameOf(each, world) === row.name)),
        );
      expect(numbersOf(bill.rest), at).toEqual(truthOf(asked.filter((each) => nameOf(each, world) === null)));
      const told = asked.flatMap(({ paid }) => (paid === null ? [] : [BigInt(paid) * 1_000_000n]));
      expect(pico(bill.total.money.told), at).toBe(sumOf(told));
      expect(pico(bill.total.money.total), at).toBe(sumOf(asked.map(moneyOf)));
      checkMoney(bill, at);
      expect(bill, at).toMatchObject({ skipped: world.skipped, erased: world.erased, damaged: world.damaged });
    }
    const runs = await store.bill({ by: "run" });
    expect(added([...runs.rows, runs.rest])).toEqual(added([runs.total]));
    expect(numbersOf(runs.total)).toEqual(truthOf(asked));
    const layers = await store.bill({ by: "layer", prices: file("prices.json") });
    expect(added([...layers.rows, layers.rest]), `seed ${seed}`).toEqual(added([layers.total]));
    expect(numbersOf(layers.total), `seed ${seed}`).toEqual(truthOf(asked));
    checkMoney(layers, `seed ${seed}, by layer`);
    met.blamed += layers.rows.filter(({ name }) => name === "erasure").length;
    count(met, world);
  }
  if (isTelling) expect(Object.entries(met).filter(([, times]) => times === 0)).toEqual([]);
});

/** Money of rows and rest is that of the total, and so are the tokens without a price. */
function checkMoney({ rows, rest, total }: Bill, at: string): void {
  const all = [...rows, rest];
  expect(sumOf(all.map(({ money }) => pico(money.total))), at).toBe(pico(total.money.total));
  const unpriced = (costs: readonly BillCost[]): number =>
    costs.flatMap(({ notPriced }) => notPriced).reduce((sum, { tokens }) => sum + tokens, 0);
  expect(unpriced(all), at).toBe(unpriced([total]));
}

function count(met: Record<string, number>, { asked, erased, skipped, damaged, erasedBlocks }: RandomStore): void {
  const add = (name: string, times: number): void => {
    met[name] = (met[name] ?? 0) + times;
  };
  add("children", asked.filter(({ conversation, cause }) => conversation !== cause).length);
  add("forks", asked.filter(({ conversation }) => !conversation.startsWith("cnv_talk")).length);
  for (const [name, times] of Object.entries({ erased, skipped, damaged, erasedBlocks })) add(name, times);
  add("paid", asked.filter(({ paid }) => paid !== null).length);
  for (const outcome of ["untold", "contradictory"])
    add(outcome, asked.filter((each) => each.outcome === outcome).length);
}
