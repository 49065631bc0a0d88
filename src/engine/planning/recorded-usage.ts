import type { JsonObject } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { countsSchema, type ReportedUsage } from "../../domain/events/shared.ts";
import { noUsage } from "../../projections/usage.ts";
import type { Answer, Codec } from "../ports/codec.ts";

/**
 * The usage of an answer as its event holds it. Of the four counts, those that the server did not report are 0; `counts` lacks them.
 *
 * @param answer - The answer, or the part of it that came: its price may depend on more than its usage.
 * @throws {TypeError} if the codec's `countsIn` returns something else than counts.
 */
export function recordedUsage(
  { reported, counts: own, ...told }: NonNullable<Answer["usage"]>,
  codec: Pick<Codec, "countsIn">,
  answer: JsonObject,
): ReportedUsage {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = noUsage;
  const counts = own ?? codec.countsIn?.(reported, answer);
  // The codec's author may have written it without types.
  if (counts !== undefined && !countsSchema.safeParse(counts).success)
    throw new TypeError(
      `countsIn gave ${kindOf(counts)}: give { input, cacheRead, cacheWritten, output, reasoning, … }, counts in whole numbers`,
    );
  return {
    inputTokens: told.inputTokens ?? inputTokens,
    cachedInputTokens: told.cachedInputTokens ?? cachedInputTokens,
    outputTokens: told.outputTokens ?? outputTokens,
    reasoningTokens: told.reasoningTokens ?? reasoningTokens,
    ...(counts === undefined ? {} : { counts }),
    reported,
  };
}
