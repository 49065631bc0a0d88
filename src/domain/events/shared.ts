import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/** JSON kept as received. It was parsed from JSON text, so only its outermost shape is checked. */
export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, "a JSON object");
export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, "a JSON value");

/**
 * How long a layer's own work took in one direction of one frame, in milliseconds, and two things that no Turn shows: that
 * it answered without calling `next`, or that it caught an error of what it had called.
 */
export const layerTimingSchema = z.strictObject({
  frame: z.string(),
  layer: z.string(),
  direction: z.enum(["request", "response"]),
  ms: z.number(),
  /** It answered without calling what is inside it. */
  withoutNext: z.exactOptional(z.literal(true)),
  /** Calls of `next` that threw, by the frames that they created, with what they threw. */
  swallowed: z.exactOptional(z.array(z.strictObject({ frame: z.string(), message: z.string() }))),
});
export type LayerTiming = z.infer<typeof layerTimingSchema>;

/** A count of tokens. A count that the provider did not report is absent, never 0. */
const tokens = z.exactOptional(z.int().nonnegative());

const classCounts = {
  /** All input: also what was read from a cache or written to it, at every provider. */
  input: tokens,
  cacheRead: tokens,
  /** By lifetime: `5m`, `30m`, `1h`, `12h`, or `any` if the provider names none. */
  cacheWritten: z.exactOptional(z.record(z.string(), z.int().nonnegative())),
  /** All output, reasoning included. */
  output: tokens,
  reasoning: tokens,
};

/** Tokens by price class, as the provider reported them, and what else their price depends on. */
export const countsSchema = z.strictObject({
  ...classCounts,
  /** The model that answered, as the provider names it. */
  served: z.exactOptional(z.string()),
  /** The service tier, as the provider names it; also a speed or region with a price of its own. */
  tier: z.exactOptional(z.string()),
  /** The model calls within the answer, if the provider lists them. The counts above include all of them. */
  iterations: z.exactOptional(
    z.array(z.strictObject({ ...classCounts, type: z.string(), model: z.exactOptional(z.string()) })),
  ),
  /** What the provider itself says that the request cost, in dollars, as decimal text. */
  usd: z.exactOptional(z.string()),
});
export type Counts = Readonly<z.infer<typeof countsSchema>>;

/** Tokens as the provider counted them; 0 for counts that it did not report. */
export const usageSchema = z.strictObject({
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
  /** The same by price class, without the counts that were not reported; absent in answers of older versions. */
  counts: z.exactOptional(countsSchema),
  /** The provider's own report. */
  reported: jsonValueSchema,
});
export type ReportedUsage = Readonly<z.infer<typeof usageSchema>>;

/** How a Turn was shortened, and why. */
export const compactionSchema = z.strictObject({
  /** `truncate-results`, `drop-exchanges`, `summarise`, `server`. */
  how: z.string(),
  /** `before-request`, `after-run`, `too-long`, `asked`. */
  because: z.string(),
  /** The endpoint's token count, and the limit of the policy. */
  tokens: z.exactOptional(z.number()),
  limit: z.exactOptional(z.number()),
});
export type Compaction = Readonly<z.infer<typeof compactionSchema>>;
