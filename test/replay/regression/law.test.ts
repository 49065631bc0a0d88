import { afterAll, expect, test } from "vitest";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { AnyEngine } from "../../../src/engine/options/engine.ts";
import { culpritName } from "../../../src/replay/regression/culprit.ts";
import { withNondeterminism } from "../../../src/replay/regression/nondeterminism.ts";
import { enterOtherWorld } from "../../../src/replay/regression/other-world.ts";
import { createLab, regress } from "../../../src/replay/regression/regress.ts";
import { RegressionSum } from "../../../src/replay/regression/summary.ts";
import { firstSeed, isLong, isRound, isTelling, seeds } from "../../support/cases.ts";
import { plantedKinds, randomLab } from "../../support/lab/random-lab.ts";

const stores = seeds(7, 1_000, 60);
const tally: Record<string, number> = { stores: 0, requests: 0, compared: 0, culprits: 0 };

afterAll(() => {
  console.log(
    `lab: ${Object.entries(tally)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ")}`,
  );
});

const add = (counts: Readonly<Record<string, number>>): void => {
  for (const [name, count] of Object.entries(counts)) tally[name] = (tally[name] ?? 0) + count;
};

/** The first culprit in a store, with what differs between two executions, and all of them. */
async function culpritsIn(store: TurnlogStore, engine: () => AnyEngine) {
  const sum = new RegressionSum();
  const lab = await createLab(store, engine(), {});
  for await (const { stream } of store.events.heads("conversation-")) {
    const id = stream.slice("conversation-".length);
    const compared = await lab.compare(id);
    const restore = enterOtherWorld();
    try {
      const again = await createLab(store, engine(), {});
      const runIds = compared.traces.map(({ runId }) => runId);
      const { codec } = engine().options.provider;
      sum.add(
        runIds.length === 0 ? compared.result : withNondeterminism(compared, await again.traces(id, runIds), codec),
      );
    } finally {
      restore();
    }
  }
  const { first, culprits } = sum.result(true);
  return { first: first === null ? null : culpritName(first), all: culprits.map(({ name }) => name) };
}

test(`${stores.length} random stores: no alarm without a change, and the culprit of each change (from seed ${firstSeed})`, {
  timeout: 3_600_000,
}, async () => {
  for (const seed of stores) {
    const { store, engine, versions, planted, pair, tally: drawn } = await randomLab(seed);
    const label = `seed ${seed}`;
    const same = await regress(store, engine());
    expect({ changed: same.changed, added: same.added, ends: same.ends, first: same.first }, label).toEqual({
      ...{ changed: 0, added: 0, ends: 0, first: null },
    });
    expect(same.compared, label).toBeGreaterThan(0);
    expect((await regress(store, engine(versions))).differing, `${label}, versions`).toBe(0);
    const change = planted[seed % plantedKinds.length];
    if (change === undefined) throw new Error("nothing was planted");
    const found = await culpritsIn(store, () => engine(change.config));
    expect(change.culprits, `${label}, ${change.kind}`).toContain(found.first);
    // Nothing else is blamed, although other layers act in the same requests.
    if (change.kind !== "nondeterminism")
      expect(change.culprits, `${label}, ${change.kind}`).toEqual(expect.arrayContaining([...found.all]));
    // In short, test/replay/regression/several-culprits.test.ts asks for this.
    if (change.kind === "edit" && (isLong || isRound)) {
      const both = await culpritsIn(store, () => engine(pair.config));
      expect(both.all.toSorted(), `${label}, two changes`).toEqual(pair.culprits);
      add({ pairs: 1 });
    }
    if (change.kind !== "nondeterminism") {
      const base = engine(change.config);
      expect((await regress(store, base, { compareWith: base })).differing, `${label}, baseline`).toBe(0);
    }
    add({ stores: 1, requests: same.requests, compared: same.compared, culprits: 1, ...drawn });
  }
  if (isTelling) expect(tally["compared"]).toBeGreaterThan((tally["requests"] ?? 0) / 2);
});
