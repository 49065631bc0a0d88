import { readFile } from "node:fs/promises";
import { isJsonObject } from "../../base/json.ts";
import { anything, kindOf, type OptionTable, textOf } from "../../base/options.ts";
import { type PriceFile, readPriceFile } from "./prices/price-file.ts";

/** A price file of the caller's. */
export type PriceOptions = {
  /** The path of a price file: LiteLLM's `model_prices_and_context_window.json`, or models.dev's `api.json`. */
  readonly prices?: string;
  /** The names of entries in the price file, by the name of a model that it does not know, such as a deployment of Azure. */
  readonly priceAs?: Readonly<Record<string, string>>;
};

export const priceOptions: OptionTable<PriceOptions> = {
  prices: textOf("the path of a price file"),
  priceAs(what, given) {
    if (isJsonObject(given) && Object.values(given).every((name) => typeof name === "string"))
      return anything(what, given);
    throw new TypeError(`${what} is ${kindOf(given)}: give { model: "name of an entry" }`);
  },
};

/** Reads the price file; null if none is given. */
export async function pricesOf(where: string, { prices: file, priceAs }: PriceOptions): Promise<PriceFile | null> {
  if (file !== undefined)
    return readPriceFile(await readFile(file, "utf8"), { file, ...(priceAs === undefined ? {} : { priceAs }) });
  if (priceAs === undefined) return null;
  throw new TypeError(`${where}: priceAs names entries of a price file: give prices too`);
}
