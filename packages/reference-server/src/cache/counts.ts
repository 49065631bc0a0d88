import type { Write } from "./boundaries.ts";
import type { CacheFacts } from "./facts.ts";
import type { PromptPlace } from "./prompt.ts";

/** The tokens that a request wrote to the cache: in all, and by the names of lifetimes. */
export interface WrittenTokens {
  readonly all: number;
  readonly by: Readonly<Record<string, number>>;
}

type Limits = Pick<CacheFacts, "minimumTokens" | "stepTokens">;

/** Whether a prefix has enough tokens to be cached, and to be reported at all. */
export const isLongEnough = (place: PromptPlace | undefined, { minimumTokens, stepTokens }: Limits): boolean =>
  (place?.tokens ?? 0) >= Math.max(minimumTokens, stepTokens);

/** Cached tokens, as the front reports them. */
export const inSteps = (tokens: number, { stepTokens }: Limits): number => tokens - (tokens % stepTokens);

/** What the entries of a prompt add to what was read: each from the one before it, by its own lifetime. */
export function writtenTokens(
  places: readonly PromptPlace[],
  writes: readonly Write[],
  { read, readTokens }: { readonly read: number; readonly readTokens: number },
): WrittenTokens {
  const by: Record<string, number> = {};
  let done = readTokens;
  for (const { at, lifetime } of writes) {
    const tokens = at > read ? (places[at]?.tokens ?? 0) : done;
    by[lifetime] = (by[lifetime] ?? 0) + tokens - done;
    done = tokens;
  }
  return { all: Object.values(by).reduce((sum, tokens) => sum + tokens, 0), by };
}
