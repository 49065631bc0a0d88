import type { InferenceFailedData, ResponseReceivedData } from "../../../domain/events/inference-events.ts";
import type { ReportedUsage } from "../../../domain/events/shared.ts";
import type { SpanAttributes } from "./span.ts";
import type { SpanOptions } from "./span-options.ts";

/** The tokens of an answer, or of several; what no provider reported is absent. */
export type SpanTokens = Readonly<
  Record<"input" | "output" | "cacheRead" | "cacheWritten" | "reasoning", number | undefined>
>;

export const noTokens: SpanTokens = {
  ...{ input: undefined, output: undefined, cacheRead: undefined, cacheWritten: undefined, reasoning: undefined },
};

export function tokensOf(usage: ReportedUsage | undefined): SpanTokens {
  if (usage === undefined) return noTokens;
  const { counts, ...plain } = usage;
  // Answers of older versions have 0 for what was not reported, too.
  if (counts === undefined) {
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = plain;
    const read = { cacheRead: cachedInputTokens || undefined, reasoning: reasoningTokens || undefined };
    return { input: inputTokens, output: outputTokens, cacheWritten: undefined, ...read };
  }
  const { input, output, cacheRead, cacheWritten, reasoning } = counts;
  const written = cacheWritten === undefined ? undefined : Object.values(cacheWritten).reduce((sum, n) => sum + n, 0);
  return { input, output, cacheRead, cacheWritten: written, reasoning };
}

export const addTokens = (left: SpanTokens, right: SpanTokens): SpanTokens => ({
  input: plus(left.input, right.input),
  output: plus(left.output, right.output),
  cacheRead: plus(left.cacheRead, right.cacheRead),
  cacheWritten: plus(left.cacheWritten, right.cacheWritten),
  reasoning: plus(left.reasoning, right.reasoning),
});

const plus = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? (left ?? right) : left + right;

/** Input includes what was read from a cache or written to it, and output includes reasoning, as the conventions count them. */
export const tokenAttributes = (
  { input, output, cacheRead, cacheWritten, reasoning }: SpanTokens,
  { cacheWriteName }: Pick<SpanOptions, "cacheWriteName">,
): SpanAttributes =>
  present({
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cacheRead,
    [`gen_ai.usage.${cacheWriteName}.input_tokens`]: cacheWritten,
    "gen_ai.usage.reasoning.output_tokens": reasoning,
  });

/** What an answer says of itself. */
export function responseAttributes(data: ResponseReceivedData, options: SpanOptions): SpanAttributes {
  const { responseId, status, usage, firstMs } = data;
  return {
    ...present({
      "gen_ai.response.id": responseId ?? undefined,
      "gen_ai.response.model": usage?.counts?.served,
      "gen_ai.response.finish_reasons": status === null ? undefined : [status],
      "gen_ai.response.time_to_first_chunk": firstMs === undefined ? undefined : firstMs / 1000,
    }),
    ...usageAttributes(usage, options),
  };
}

/** What a failure says of itself, without its text. */
export const failureAttributes = (
  { outcome, status, usage }: InferenceFailedData,
  options: SpanOptions,
): SpanAttributes => ({
  ...present({ "http.response.status_code": status ?? undefined, "turnlog.outcome": outcome }),
  ...usageAttributes(usage, options),
});

function usageAttributes(usage: ReportedUsage | undefined, options: SpanOptions): SpanAttributes {
  const tokens = tokensOf(usage);
  const usd = usage?.counts?.usd;
  return {
    ...tokenAttributes(tokens, options),
    ...(usd === undefined ? {} : { "gen_ai.usage.cost": Number(usd) }),
    ...(options.service === "langfuse" && usage !== undefined
      ? { "langfuse.observation.usage_details": JSON.stringify(exclusiveTokens(tokens)) }
      : {}),
  };
}

/** Counts of which none includes another: Langfuse adds them up. */
function exclusiveTokens({
  input = 0,
  output = 0,
  cacheRead = 0,
  cacheWritten = 0,
  reasoning = 0,
}: SpanTokens): object {
  const counts = {
    input: Math.max(0, input - cacheRead - cacheWritten),
    input_cached_tokens: cacheRead,
    cache_creation_input_tokens: cacheWritten,
    output: Math.max(0, output - reasoning),
    output_reasoning_tokens: reasoning,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function present(attributes: Readonly<Record<string, SpanAttributes[string] | undefined>>): SpanAttributes {
  const known = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(known);
}
