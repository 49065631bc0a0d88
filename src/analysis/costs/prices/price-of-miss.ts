import { dollarText } from "../../../base/dollars.ts";
import { type BillKey, nothingBilled } from "../rows/bill-cells.ts";
import type { PaidInput } from "../rows/lost-classes.ts";
import type { PriceFile } from "./price-file.ts";
import { priceOfCell } from "./price-of-cell.ts";

/** What a miss cost more than reading the same tokens from the cache would have. */
export type MissPrice = {
  /** In dollars, as decimal text; null if a class has no price. */
  readonly usd: string | null;
  /** Tokens without a price, and why. */
  readonly notPriced: readonly {
    readonly class: string;
    readonly tokens: number;
    readonly why: "no-prices" | "no-entry" | "ambiguous" | "no-price";
  }[];
  /** The name of the entry that was used; null if none fits. */
  readonly entry: string | null;
};

/** The price of the lost tokens as they were paid, less their price if they had been read. */
export function priceOfMiss(key: BillKey, lost: PaidInput, prices: PriceFile): MissPrice {
  const read = lost.uncached + Object.values(lost.written).reduce((sum, tokens) => sum + tokens, 0);
  const paid = priceOfCell({ ...key, ...nothingBilled, ...lost }, prices);
  const saved = priceOfCell({ ...key, ...nothingBilled, read }, prices);
  const notPriced = [...paid.unpriced, ...saved.unpriced];
  const difference = paid.amount - saved.amount;
  return {
    // A provider may write for less than it reads for; then nothing was lost.
    usd: notPriced.length > 0 ? null : dollarText(difference < 0n ? 0n : difference),
    notPriced,
    entry: paid.entry?.name ?? null,
  };
}
