import type { PriceFile } from "../bill/price-file.ts";
import { type PriceOptions, pricesOf } from "../conversation/prices.ts";
import { UsageError } from "./exit-codes.ts";

/** @throws {UsageError} for a named entry of no file. */
export function checkPrices({ prices, priceAs }: PriceOptions): void {
  if (priceAs !== undefined && prices === undefined)
    throw new UsageError("--price-as names an entry of a price file: give --prices FILE too");
}

/** Reads the price file that a command names; null if it names none. */
export async function pricesIn(options: PriceOptions): Promise<PriceFile | null> {
  checkPrices(options);
  return pricesOf("why", options);
}
