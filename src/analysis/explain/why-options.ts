import { isJsonObject } from "../../base/json.ts";
import { anything, checkOptions, choiceOf, kindOf, type OptionTable, optionsOf } from "../../base/options.ts";
import { type PriceOptions, priceOptions } from "../costs/prices.ts";
import type { CacheRules } from "../costs/prompt-cache/cache-rules.ts";

/** The caller's own rules of a prompt cache: they take precedence over what turnlog knows of the vendor's. */
export type OwnCacheRules = Partial<Omit<CacheRules, "source">>;

export type WhyOptions = PriceOptions & {
  /** Rules of the provider's prompt cache, such as its minimum or its lifetimes; by default what its vendor says of the model. */
  readonly cacheRules?: OwnCacheRules;
  /** Called with the number of events read, while the rows of other conversations read events that they have not seen. */
  readonly onProgress?: (events: number) => void;
};

const numberOrNull = (what: string, given: unknown): number | null => {
  if (given === null || (typeof given === "number" && given >= 0)) return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give a number, or null for not known`);
};

const rules: OptionTable<OwnCacheRules> = {
  minimumTokens: numberOrNull,
  stepTokens: numberOrNull,
  boundaries: choiceOf("every-unit", "breakpoints", "message-ends"),
  lookback(what, given) {
    if (typeof given === "number" && Number.isInteger(given) && given >= 0) return given;
    throw new TypeError(`${what} is ${kindOf(given)}: give a whole number`);
  },
  lifetimes(what, given) {
    if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: give { default: { leastMs, mostMs } }`);
    for (const [name, lifetime] of Object.entries(given)) {
      checkOptions(`${what}.${name}`, lifetime, { leastMs: true, mostMs: true });
      for (const bound of ["leastMs", "mostMs"]) numberOrNull(`${what}.${name}.${bound}`, Reflect.get(lifetime, bound));
    }
    return anything(what, given);
  },
};

const ownCacheRules = optionsOf<OwnCacheRules>(rules);

export const whyOptions = optionsOf<WhyOptions>({
  ...{ ...priceOptions, onProgress: anything },
  cacheRules(what, given) {
    ownCacheRules.check("cacheRules", given, `${what}.`);
    return anything(what, given);
  },
});
