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

/** Tokens as the provider counted them; 0 for counts that it did not report. */
export const usageSchema = z.strictObject({
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
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
