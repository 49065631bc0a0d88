import { dollarText } from "../base/dollars.ts";
import { type BillCell, type BillKey, nothingBilled } from "../projections/bill-cells.ts";
import type { PriceFile } from "./price-file.ts";
import { priceOfCell, type Unpriced } from "./price-of-cell.ts";

/** The tokens of a request's input that were not read from a cache. */
export type PaidInput = Pick<BillCell, "uncached" | "written">;

/** What a miss cost more than reading the same tokens from the cache would have. */
export type MissPrice = {
  /** In dollars, as decimal text; null if a class has no price. */
  readonly usd: string | null;
  /** Tokens without a price, and why. */
  readonly notPriced: readonly Unpriced[];
  /** The name of the entry that was used; null if none fits. */
  readonly entry: string | null;
};

/**
 * How the lost tokens of a miss were paid. They follow what was read, so they are among what was written to the cache, the longest
 * lifetime first, and the rest of them among what was not cached.
 */
export function lostClasses(lost: number, { uncached, written }: PaidInput): PaidInput {
  let left = lost;
  const take = (tokens: number): number => {
    const taken = Math.min(left, tokens);
    left -= taken;
    return taken;
  };
  const byLifetime = Object.entries(written).toSorted(([one], [other]) => minutesOf(other) - minutesOf(one));
  const taken = byLifetime.map(([lifetime, tokens]) => [lifetime, take(tokens)] as const);
  return { written: Object.fromEntries(taken.filter(([, tokens]) => tokens > 0)), uncached: take(uncached) };
}

/** `1h` has 60, `5m` has 5; a lifetime without a number has 0. */
function minutesOf(lifetime: string): number {
  const [, number = "0", unit = "m"] = /^(\d+)([mh])$/.exec(lifetime) ?? [];
  return Number(number) * (unit === "h" ? 60 : 1);
}

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
