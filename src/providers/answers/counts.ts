import { dollarText, parseDollars } from "../../base/dollars.ts";
import { isFilledText, isJsonObject, type JsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import type { Counts } from "../../domain/events/shared.ts";

/** Readers of usage reports that keep "not reported" apart from 0. They never throw, like those of `server-said.ts`. */

/** The members of a report that are known; undefined for the others. */
type Unsure<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** The counts of a report, without those that it lacks. */
export const counts = (members: Unsure<Counts>): Counts =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** A count of tokens; undefined if it was not reported, or is not a whole number. Some servers send numbers as texts. */
export function countTold(value: JsonValue | undefined): number | undefined {
  const count = isFilledText(value) ? Number(value) : value;
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** The sum of the counts that were reported; undefined if none was. */
export function sumTold(...told: readonly (number | undefined)[]): number | undefined {
  const known = told.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** A name, such as that of a model or a tier. */
export const nameTold = (value: JsonValue | undefined): string | undefined => (isFilledText(value) ? value : undefined);

/**
 * Tokens written to a cache, by lifetime. What the parts do not explain has the lifetime `any`; parts that exceed the total are not
 * believed.
 */
export function writtenTold(
  total: number | undefined,
  parts: Readonly<Record<string, JsonValue | undefined>> = {},
): Counts["cacheWritten"] {
  const known = Object.entries(parts).flatMap(([lifetime, value]): [string, number][] => {
    const count = countTold(value);
    return count === undefined ? [] : [[lifetime, count]];
  });
  const explained = known.reduce((sum, [, count]) => sum + count, 0);
  if (total === undefined) return known.length === 0 ? undefined : Object.fromEntries(known);
  if (known.length === 0 || explained > total) return { any: total };
  return { ...Object.fromEntries(known), ...(explained < total ? { any: total - explained } : {}) };
}

/** The tokens of Anthropic's `cache_creation`, by lifetime. */
export const writtenByAnthropic = ({
  cache_creation: creation,
  cache_creation_input_tokens: total,
}: JsonObject): Counts["cacheWritten"] => {
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = objectOf(creation);
  return writtenTold(countTold(total), { "5m": short, "1h": long });
};

export const sumWritten = (written: Counts["cacheWritten"]): number | undefined =>
  written === undefined ? undefined : Object.values(written).reduce((sum, count) => sum + count, 0);

/** The writes of several model calls together. */
export function addWritten(all: readonly Counts["cacheWritten"][]): Counts["cacheWritten"] {
  const known = all.filter((written) => written !== undefined);
  if (known.length === 0) return undefined;
  const sum: Record<string, number> = {};
  for (const written of known)
    for (const [lifetime, count] of Object.entries(written)) sum[lifetime] = (sum[lifetime] ?? 0) + count;
  return sum;
}

/** OpenAI's `cached_tokens`, `cache_write_tokens` and their lifetimes, in the details of either of its wires. */
export function cachedByOpenai(details: JsonObject): Pick<Unsure<Counts>, "cacheRead" | "cacheWritten"> {
  const { ttl_30m_tokens: short, ttl_12h_tokens: long } = objectOf(details["cache_write_tokens_details"]);
  return {
    cacheRead: countTold(details["cached_tokens"]),
    cacheWritten: writtenTold(countTold(details["cache_write_tokens"]), { "30m": short, "12h": long }),
  };
}

/**
 * What OpenRouter charges for a request, in dollars. With a key of the caller's own, `cost` is its fee, and the model's provider charges
 * the rest. Other servers have other currencies in members of this name, so both of OpenRouter's marks are looked for.
 */
export function usdOfRouter({ cost, cost_details: details, is_byok: isOwnKey }: JsonObject): string | undefined {
  if (!isJsonObject(details) && typeof isOwnKey !== "boolean") return undefined;
  const fee = dollars(cost);
  if (isOwnKey !== true) return fee;
  const upstream = dollars(objectOf(details)["upstream_inference_cost"]);
  const [own, others] = [fee, upstream].map((text) => (text === undefined ? null : parseDollars(text)));
  return own == null || others == null ? undefined : dollarText(own + others);
}

/** An amount as decimal text; undefined for a negative one, and for what is not a number. */
export function dollars(value: JsonValue | undefined): string | undefined {
  const text = value instanceof NumberLiteral || typeof value === "number" ? String(value) : "";
  return /^\d/.test(text) ? text : undefined;
}
