import type { Picodollars } from "../../../base/dollars.ts";
import { isJsonObject, type JsonObject, objectOf, objectsOf } from "../../../base/json.ts";
import type { PriceBook } from "./price-book.ts";
import { type PriceClass, type PriceEntry, type PriceSheet, ratePerToken } from "./price-entry.ts";

/** models.dev's `api.json`: prices per million tokens, by provider and model. */
export const modelsDev: PriceBook = {
  format: "models.dev",
  isOf: (file) => Object.values(file).some((provider) => isJsonObject(provider) && isJsonObject(provider["models"])),
  named(file, name) {
    // Ids of models contain slashes as well.
    const at = name.indexOf("/");
    return at < 1 ? onlyOne(everywhere(file, name)) : entryOf(file, name.slice(0, at), name.slice(at + 1));
  },
  found(file, model, vendor) {
    const own = (vendor?.modelsDev ?? []).map((provider) => entryOf(file, provider, model));
    return own.find((entry) => entry !== null) ?? onlyOne(everywhere(file, model));
  },
};

const everywhere = (file: JsonObject, model: string): readonly PriceEntry[] =>
  Object.keys(file).flatMap((provider) => entryOf(file, provider, model) ?? []);

/** The entry, if all providers of a model have the same prices. */
function onlyOne([first, ...others]: readonly PriceEntry[]): PriceEntry | "ambiguous" | null {
  if (first === undefined) return null;
  return others.every((other) => textOf(other) === textOf(first)) ? first : "ambiguous";
}

const textOf = ({ sheets }: PriceEntry): string =>
  JSON.stringify(sheets.map(({ above, rates }) => [above, ...[...rates].map(([each, rate]) => `${each} ${rate}`)]));

function entryOf(file: JsonObject, provider: string, model: string): PriceEntry | null {
  const models = objectOf(Object.hasOwn(file, provider) ? objectOf(file[provider])["models"] : undefined);
  const cost = Object.hasOwn(models, model) ? objectOf(models[model])["cost"] : undefined;
  if (!isJsonObject(cost)) return null;
  const tiers = objectsOf(cost["tiers"]).flatMap((tier): PriceSheet[] => {
    const { type, size } = objectOf(tier["tier"]);
    return type === "context" && typeof size === "number" ? [sheetOf(tier, size)] : [];
  });
  const older = isJsonObject(cost["context_over_200k"]) ? [sheetOf(cost["context_over_200k"], 200_000)] : [];
  const sheets = [
    sheetOf(cost, 0),
    ...tiers,
    ...older.filter(({ above }) => tiers.every((tier) => tier.above !== above)),
  ];
  return { name: `${provider}/${model}`, sheets };
}

function sheetOf(cost: JsonObject, above: number): PriceSheet {
  const rates = new Map<PriceClass, Picodollars>();
  for (const [member, classes] of classesByMember) {
    const rate = ratePerToken(cost[member], { per: 1_000_000n });
    if (rate !== null) for (const each of classes) rates.set(each, rate);
  }
  return { tier: null, above, rates };
}

/** There is one price for writes: that of Anthropic's five minutes, and of OpenAI's lifetimes. */
const classesByMember: readonly (readonly [string, readonly PriceClass[]])[] = [
  ["input", ["uncached"]],
  ["output", ["output"]],
  ["reasoning", ["reasoning"]],
  ["cache_read", ["read"]],
  ["cache_write", ["written 5m", "written 30m", "written any"]],
];
