import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import { pricesOf } from "../../analysis/costs/prices.ts";

/** The price file of a studio, read once; null without one. */
export type Prices = () => Promise<PriceFile | null>;

/** Reads the price file when it is first asked for. A file that cannot be used fails every time. */
export function pricesFrom(prices: string | undefined): Prices {
  let read: Promise<PriceFile | null> | undefined;
  return () => {
    read ??= pricesOf("createStudio", prices === undefined ? {} : { prices });
    return read;
  };
}
