import type { Counts } from "../../../domain/events/shared.ts";
import { codecs } from "../../../providers/codecs.ts";
import type { CountedAnswer, CountsReader } from "./bill.ts";

/**
 * Reads the counts of every answer, whichever version of turnlog recorded it. It knows the released codecs only, so that rows are the same
 * in every process.
 */
export const answerCounts: CountsReader = { members: new Set(["model", "service_tier", "speed"]), countsOf };

/**
 * The counts that were recorded, else those in the provider's report. If no released codec reads it, they are the four counts of the
 * usage, where 0 may mean that nothing was reported.
 */
function countsOf({ usage, members, encoder }: CountedAnswer): Counts {
  const { counts, reported, inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usage;
  if (counts !== undefined) return counts;
  const codec = encoder === null ? undefined : codecs.get(encoder);
  if (codec?.countsIn !== undefined) return codec.countsIn(reported, members);
  const isReported = inputTokens > 0 || outputTokens > 0;
  return {
    ...(isReported ? { input: inputTokens, output: outputTokens } : {}),
    ...(cachedInputTokens > 0 ? { cacheRead: cachedInputTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoning: reasoningTokens } : {}),
  };
}
