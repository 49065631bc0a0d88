import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import { type PriceOptions, pricesOf } from "../../analysis/costs/prices.ts";
import { UsageError } from "./exit-codes.ts";

/** @throws {UsageError} if an entry is named and no file. */
export function checkedPrices<Options extends PriceOptions>(options: Options): Options {
  if (options.priceAs === undefined || options.prices !== undefined) return options;
  throw new UsageError("--price-as names an entry of a price file: give --prices FILE too");
}

/** Reads the price file that a command names; null if it names none. */
export async function pricesIn(options: PriceOptions): Promise<PriceFile | null> {
  return pricesOf("why", checkedPrices(options));
}

/** Why tokens have no price, and what to do. */
export const notPricedWords = {
  "no-prices": "give a price file (--prices)",
  "no-entry": "the file lacks the model (--price-as MODEL=ENTRY)",
  ambiguous: "the file has the model several times with different prices (--price-as MODEL=PROVIDER/MODEL)",
  "no-price": "the file has no price for that",
} as const;
