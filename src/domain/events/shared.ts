import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/** JSON that is kept as it came. It was parsed from JSON text, so only its outermost shape needs a look. */
export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, "a JSON object");
export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, "a JSON value");

/**
 * How long a layer took for its own work in one direction of one frame, in milliseconds, and what no Turn shows of it: that
 * it answered without calling `next`, or that it let nobody see an error of what it had called.
 */
export const layerTimingSchema = z.strictObject({
  frame: z.string(),
  layer: z.string(),
  direction: z.enum(["request", "response"]),
  ms: z.number(),
  /** It answered by itself: nothing within it was asked. */
  withoutNext: z.exactOptional(z.literal(true)),
  /** Calls of `next` that threw, by the frames that they made, and what they threw. */
  swallowed: z.exactOptional(z.array(z.strictObject({ frame: z.string(), message: z.string() }))),
});
export type LayerTiming = z.infer<typeof layerTimingSchema>;

/** Tokens as the provider counted them; what it did not tell is 0. */
export const usageSchema = z.strictObject({
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
  /** The provider's own report. */
  reported: jsonValueSchema,
});
export type ReportedUsage = Readonly<z.infer<typeof usageSchema>>;

/** How a Turn was made shorter, and why. */
export const compactionSchema = z.strictObject({
  /** `truncate-results`, `drop-exchanges`, `summarise`, `server`. */
  how: z.string(),
  /** `before-request`, `after-run`, `too-long`, `asked`. */
  because: z.string(),
  /** What the endpoint had counted, and how many tokens the policy lets pass. */
  tokens: z.exactOptional(z.number()),
  limit: z.exactOptional(z.number()),
});
export type Compaction = Readonly<z.infer<typeof compactionSchema>>;
