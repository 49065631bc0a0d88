import { isJsonObject } from "../../base/json.ts";
import { kindOf, type ValueCheck } from "../../base/options.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** Whether turnlog sets explicit cache breakpoints, and the lifetime of the entries that end at them. */
export type CacheBreakpoints<Lifetime extends string = "30m" | "12h"> = boolean | { readonly ttl: Lifetime };

/** Checks the option `cacheBreakpoints` of a wire with these lifetimes. */
export const breakpointsFor =
  <const Lifetime extends string>(...lifetimes: readonly Lifetime[]): ValueCheck<CacheBreakpoints<Lifetime>> =>
  (what, given) => {
    if (typeof given === "boolean") return given;
    const asked = isJsonObject(given) && Object.keys(given).length === 1 ? given["ttl"] : undefined;
    const ttl = lifetimes.find((each) => each === asked);
    if (ttl !== undefined) return { ttl };
    const forms = ["true", "false", ...lifetimes.map((each) => `{ ttl: "${each}" }`)];
    throw new ProviderSettingsError(
      `${what} is ${kindOf(given)}: give ${forms.slice(0, -1).join(", ")} or ${forms.at(-1) ?? ""}`,
    );
  };
