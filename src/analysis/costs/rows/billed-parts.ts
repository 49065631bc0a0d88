import type { Counts } from "../../../domain/events/shared.ts";
import type { BillSums } from "./bill-cells.ts";
import { inputSizes } from "./input-sizes.ts";

/** The tokens of one model in an answer. */
export type CountedPart = {
  readonly served: string | null;
  readonly tier: string | null;
  readonly size: number | null;
  readonly tokens: Tokens;
};

type Tokens = Pick<BillSums, "uncached" | "read" | "written" | "output" | "reasoning" | "unknownCache">;

const noTokens: Tokens = { uncached: 0, read: 0, written: {}, output: 0, reasoning: 0, unknownCache: 0 };

/** Of a request of which no tokens are known. */
export const unansweredPart: CountedPart = { served: null, tier: null, size: null, tokens: noTokens };

/** Whether both input and output were reported. */
export const isFullyTold = ({ input, output }: Counts): boolean => input !== undefined && output !== undefined;

/**
 * The tokens of an answer, and apart from them those of calls within it to other models, which have other prices. Null if the usage
 * contradicts itself: more was read and written than there was input, or a part exceeds the whole.
 */
export function partsOf(counts: Counts): readonly [CountedPart, ...CountedPart[]] | null {
  const { served = null, tier = null, iterations = [] } = counts;
  let rest = tokensOf(counts);
  const others: CountedPart[] = [];
  for (const call of iterations) {
    if (call.model === undefined || call.model === served) continue;
    const tokens = tokensOf(call);
    rest = rest === null || tokens === null ? null : minus(rest, tokens);
    if (rest === null || tokens === null) return null;
    others.push({ served: call.model, tier, size: sizeOf(call.input), tokens });
  }
  return rest === null ? null : [{ served, tier, size: sizeOf(counts.input), tokens: rest }, ...others];
}

function tokensOf({
  input,
  cacheRead,
  cacheWritten: written = {},
  output = 0,
  reasoning = 0,
}: Omit<Counts, "iterations">): Tokens | null {
  const cached = (cacheRead ?? 0) + Object.values(written).reduce((sum, tokens) => sum + tokens, 0);
  // Without a total, what was read and written is all that is known of the input.
  const uncached = input === undefined ? 0 : input - cached;
  if (uncached < 0 || reasoning > output) return null;
  const read = cacheRead ?? 0;
  return { uncached, read, written, output, reasoning, unknownCache: cacheRead === undefined ? uncached : 0 };
}

function minus(whole: Tokens, part: Tokens): Tokens | null {
  const written = Object.fromEntries(
    Object.entries(whole.written).map(([lifetime, tokens]) => [lifetime, tokens - (part.written[lifetime] ?? 0)]),
  );
  const left: Tokens = {
    uncached: whole.uncached - part.uncached,
    read: whole.read - part.read,
    written,
    output: whole.output - part.output,
    reasoning: Math.max(0, whole.reasoning - part.reasoning),
    unknownCache: Math.max(0, whole.unknownCache - part.unknownCache),
  };
  const isWithin = Object.keys(part.written).every(
    (lifetime) => lifetime in whole.written || part.written[lifetime] === 0,
  );
  const all = [left.uncached, left.read, left.output, ...Object.values(written)];
  return isWithin && all.every((tokens) => tokens >= 0) && left.reasoning <= left.output ? left : null;
}

/** The greatest limit that the input exceeds; null if the input is not known. */
const sizeOf = (input: number | undefined): number | null =>
  input === undefined ? null : (inputSizes.findLast((size) => input > size) ?? 0);
