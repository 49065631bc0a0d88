import type { BillCell } from "../rows/bill-cells.ts";
import type { BillBy } from "./bill-by.ts";
import { addCell, type BillCost, costOf, emptySum, type Sum } from "./bill-sum.ts";
import type { PriceFile } from "./price-file.ts";
import { priceOfCell } from "./price-of-cell.ts";

export type BillRow = BillCost & {
  readonly name: string;
  /** In a bill by layer: about how many tokens its changes removed from prompts. They are part of no sum. */
  readonly removed?: number;
};

/** The costs of some conversations. The rows and the rest add up to the total. */
export type Bill = {
  readonly by: BillBy;
  /** From when on requests count, as ISO text; null for all of them. */
  readonly since: string | null;
  /** The price file, and which of its entries were used for which model. */
  readonly prices: {
    readonly file: string;
    readonly sha256: string;
    readonly format: "litellm" | "models.dev";
    readonly entries: readonly { readonly model: string; readonly endpoint: string | null; readonly entry: string }[];
  } | null;
  readonly rows: readonly BillRow[];
  /** What no row includes, because it has no name of that kind: requests outside runs, conversations without the label. */
  readonly rest: BillCost;
  readonly total: BillCost;
  /** How many conversations have events that an operator skipped. */
  readonly skipped: number;
  /** How many conversations were erased, so that their costs are not known any more; null if this caller may not read that. */
  readonly erased: number | null;
  /** How many conversations have events that cannot be read, so that their costs may lack some. */
  readonly damaged: number;
};

/** A cell, and the name of its row; null if it has none. */
export type NamedCell = { readonly name: string | null; readonly cell: BillCell };

/** Adds cells up to rows. */
export function billRows(
  cells: Iterable<NamedCell>,
  { by, prices }: { readonly by: BillBy; readonly prices: PriceFile | null },
): Pick<Bill, "rows" | "rest" | "total" | "prices"> {
  const sumByName = new Map<string, Sum>();
  const entries = new Map<string, { model: string; endpoint: string | null; entry: string }>();
  const [rest, total] = [emptySum(), emptySum()];
  for (const { name, cell } of cells) {
    const price = priceOfCell(cell, prices);
    const sum = name === null ? rest : (sumByName.get(name) ?? emptySum());
    if (name !== null) sumByName.set(name, sum);
    for (const each of [sum, total]) addCell(each, cell, price);
    const model = cell.served ?? cell.declared;
    const used = { model: model ?? "", endpoint: cell.endpoint, entry: price.entry?.name ?? "" };
    if (price.entry !== null) entries.set(JSON.stringify(used), used);
  }
  const hasPrices = prices !== null;
  const rows = [...sumByName]
    .toSorted(by === "day" ? byName : byCost)
    .map(([name, sum]) => ({ name, ...costOf(sum, hasPrices), ...(by === "layer" ? { removed: sum.removed } : {}) }));
  return {
    prices: prices && {
      ...{ file: prices.file, sha256: prices.sha256, format: prices.format },
      entries: [...entries].toSorted(byName).map(([, used]) => used),
    },
    ...{ rows, rest: costOf(rest, hasPrices), total: costOf(total, hasPrices) },
  };
}

const byName = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  left < right ? -1 : left > right ? 1 : 0;

/** The dearest first, else the one with the most tokens. */
function byCost(left: readonly [string, Sum], right: readonly [string, Sum]): number {
  const [cost, otherCost] = [left[1].total, right[1].total];
  if (cost !== otherCost) return cost < otherCost ? 1 : -1;
  return right[1].tokens - left[1].tokens || right[1].requests - left[1].requests || byName(left, right);
}
