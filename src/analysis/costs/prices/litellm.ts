import type { Picodollars } from "../../../base/dollars.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { PriceBook } from "./price-book.ts";
import { type PriceClass, type PriceEntry, type PriceSheet, ratePerToken } from "./price-entry.ts";

/** LiteLLM's `model_prices_and_context_window.json`: prices per token, by model id, often with the provider before it. */
export const litellm: PriceBook = {
  format: "litellm",
  isOf: (file) =>
    Object.values(file).some((entry) => isJsonObject(entry) && typeof entry["litellm_provider"] === "string"),
  named: (file, name) => entryOf(file, name),
  found(file, model, vendor) {
    const names = [...(vendor?.litellm ?? []).map((prefix) => `${prefix}/${model}`), model];
    return names.map((name) => entryOf(file, name)).find((entry) => entry !== null) ?? null;
  },
};

function entryOf(file: JsonObject, name: string): PriceEntry | null {
  const entry = Object.hasOwn(file, name) ? file[name] : undefined;
  if (!isJsonObject(entry) || typeof entry["litellm_provider"] !== "string") return null;
  const sheets = new Map<string, PriceSheet & { readonly rates: Map<PriceClass, Picodollars> }>();
  for (const [member, value] of Object.entries(entry)) {
    const [, base = "", isLong, above = "0", tier = null] = grammar.exec(member) ?? [];
    const rate = ratePerToken(value);
    const classes =
      isLong === undefined ? classesByMember.get(base) : base === writes ? ["written 1h" as const] : undefined;
    if (classes === undefined || rate === null) continue;
    const key = `${tier} ${above}`;
    const sheet = sheets.get(key) ?? {
      tier: tier === "batches" ? "batch" : tier,
      above: Number(above) * 1_000,
      rates: new Map(),
    };
    sheets.set(key, sheet);
    for (const each of classes) sheet.rates.set(each, rate);
  }
  // A write whose lifetime is not known may have either price.
  for (const { rates } of sheets.values()) if (rates.has("written 1h")) rates.delete("written any");
  return { name, sheets: [...sheets.values()] };
}

const grammar = /^([a-z_]+?)(_above_1hr)?(?:_above_(\d+)k_tokens)?(?:_(priority|flex|batches))?$/;

const writes = "cache_creation_input_token_cost";

/** A write for five minutes, and OpenAI's, whose lifetimes have one price. */
const classesByMember: ReadonlyMap<string, readonly PriceClass[]> = new Map([
  ["input_cost_per_token", ["uncached"]],
  ["output_cost_per_token", ["output"]],
  ["output_cost_per_reasoning_token", ["reasoning"]],
  ["cache_read_input_token_cost", ["read"]],
  [writes, ["written 5m", "written 30m", "written any"]],
] satisfies readonly (readonly [string, readonly PriceClass[]])[]);
