import { describeCacheCause } from "../../../src/analysis/descriptions/describe-cache.ts";
import type { StripRequest } from "../../../src/apps/studio/page-documents.ts";
import { counted, grouped } from "../format.ts";

/** What a request read from the prompt cache, wrote to it and paid again, and who caused that. */
export function cacheWords({ tokens, cache, missMoney }: Pick<StripRequest, "tokens" | "cache" | "missMoney">): string {
  if (tokens === null) return "tokens not told";
  const { input, read, written, again } = tokens;
  const whole = `${counted(input, "token")} in`;
  if (read === null) return `${whole}, what was read from a cache is not told`;
  return [
    `${whole}: ${grouped(read)} read from the cache`,
    ...(written === 0 ? [] : [`${grouped(written)} written to it`]),
    ...(again === 0 ? [] : [`${grouped(again)} paid again${missMoney === null ? "" : ` ($${missMoney} more)`}`]),
    ...(cache === null || again === 0 ? [] : [whyWords(cache)]),
  ].join(", ");
}

/** `the prompt changed, by redact@1.2.0` */
const whyWords = ({ cause, author }: NonNullable<StripRequest["cache"]>): string =>
  `${describeCacheCause(cause)}${author === null ? "" : `, by ${author}`}`;
