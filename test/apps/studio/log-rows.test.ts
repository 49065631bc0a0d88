import { expect, test } from "vitest";
import { LogRows } from "../../../src/apps/studio/log-rows.ts";
import type { LogRow } from "../../../src/apps/studio/page-documents.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";

test("rows that are kept as bytes are the rows that were added, also in parts and behind filters", () => {
  for (const seed of seeds(6, 60, 10)) {
    const random = createRandom(seed);
    const plain = Array.from({ length: 1 + random.below(900) }, (_, revision) => drawnRow(random, revision));
    const kept = new LogRows();
    for (const row of plain) kept.add(row);
    expect(kept.length).toBe(plain.length);
    expect(kept.slice(0, plain.length)).toEqual(plain);
    for (let look = 0; look < 10; look += 1) {
      const from = random.below(plain.length + 2);
      const to = from + random.below(600);
      expect(kept.slice(from, to), `seed ${seed}, ${from} to ${to}`).toEqual(plain.slice(from, to));
      expect(kept.mark(from)?.type).toBe(plain[from]?.type);
    }
    for (const [filter, fits] of filters) {
      const part = { from: random.below(5), n: random.below(300) };
      const expected = plain.filter(fits);
      expect(kept.filtered(filter, part), `seed ${seed}, ${filter}`).toEqual({
        total: expected.length,
        rows: expected.slice(part.from, part.from + part.n),
      });
    }
    const isEdit = ({ type }: { readonly type: string }): boolean => type === "TurnEdited";
    expect(kept.lastRevision(isEdit)).toBe(plain.findLastIndex(isEdit));
  }
});

const filters: readonly (readonly [text: string, fits: (row: LogRow) => boolean])[] = [
  ["", () => true],
  ["type:edit", ({ type }) => type === "TurnEdited"],
  ["layer:red", ({ layer }) => layer?.startsWith("red") === true],
  ["chain:rebased", ({ verdict }) => verdict === "rebased"],
  ["hotel", ({ words, sentence }) => `${words} ${sentence}`.toLowerCase().includes("hotel")],
  [
    "type:edit hotel Rome",
    ({ type, sentence }) => type === "TurnEdited" && /hotel/i.test(sentence) && /rome/i.test(sentence),
  ],
];

const one = <Item>(random: Random, items: readonly [Item, ...Item[]]): Item =>
  items[random.below(items.length)] ?? items[0];

function drawnRow(random: Random, revision: number): LogRow {
  const said = one(random, ["a Hotel in Rome", "“two\tlines\nof it”", "\ud83d\ude86 \ud800", ""]);
  return {
    ...{
      revision,
      at: `2026-11-26T00:00:${revision}Z`,
      type: one(random, ["TurnEdited", "InferenceRequested", "Other"]),
    },
    ...{ sign: one(random, ["layer", "bad", "request"]), layer: one(random, ["redact", "other", null]) },
    ...{ layerNumber: one(random, [1, null]), words: one(random, ["redact", "tool-loop"]), detail: said },
    ...{ change: one(random, ["~", null]), value: one(random, ["back", "on", "4 B"]), sentence: said },
    ...{ verdict: one(random, ["rebased", "full", null]), problem: one(random, [null, "broken"]) },
  };
}
