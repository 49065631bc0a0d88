/** How long a vendor keeps a cache entry, in milliseconds; null where the vendor gives no such bound. */
export type CacheLifetime = {
  /** An entry is there at least this long after it was last written or read. */
  readonly leastMs: number | null;
  /** An entry is gone after this. */
  readonly mostMs: number | null;
};

/** The rules of a model's prompt cache; null for what its vendor does not say. */
export type CacheRules = {
  /** A prefix with fewer tokens is not cached. */
  readonly minimumTokens: number | null;
  /** Cached tokens are reported in multiples of this. */
  readonly stepTokens: number | null;
  /** By the names that requests use, and `default`. */
  readonly lifetimes: Readonly<Record<string, CacheLifetime>>;
  /** Where prompts are cached: at each unit, at the request's breakpoints, or after message ends (OpenAI from GPT-5.6 on). */
  readonly boundaries: "every-unit" | "breakpoints" | "message-ends";
  /** How many positions back from a breakpoint, or how many earlier message ends, a server looks for an entry. */
  readonly lookback: number;
  /** What the rules are taken from; null if nothing is known of the model. */
  readonly source: { readonly title: string; readonly readOn: string } | null;
};

/** Rules from one source for the models of a family. */
type Row = {
  readonly family: RegExp;
  readonly model: RegExp;
  /** For requests from that day on; absent: for all. */
  readonly from?: string;
  readonly rules: Partial<Omit<CacheRules, "source">>;
  readonly source: { readonly title: string; readonly readOn: string };
};

const minute = 60_000;
const hour = 60 * minute;

const openai = { title: "OpenAI's guide to prompt caching", readOn: "2026-09-20" };
const anthropic = { title: "Anthropic's skill on prompt caching", readOn: "2026-10-14" };
const mistral = { title: "a survey of the vendors' pages", readOn: "2026-10-01" };

const openrouter = { title: "OpenRouter's API reference", readOn: "2026-11-26" };

const byBreakpoint = {
  boundaries: "breakpoints",
  stepTokens: 1,
  lifetimes: {
    default: { leastMs: 5 * minute, mostMs: 5 * minute },
    "5m": { leastMs: 5 * minute, mostMs: 5 * minute },
    "1h": { leastMs: hour, mostMs: hour },
  },
} as const;

/** OpenAI's from GPT-5.6 on, which came on that day. */
const byMessageEnd: Row["rules"] = {
  ...{ boundaries: "message-ends", minimumTokens: 1_024, stepTokens: 1 },
  lifetimes: {
    default: { leastMs: 30 * minute, mostMs: null },
    "30m": { leastMs: 30 * minute, mostMs: null },
    "12h": { leastMs: 12 * hour, mostMs: null },
  },
};
const messageEndsFrom = "2026-07-09";

const openaiFamily = /^(openai-responses|chat-completions-openai|chat)/;

/** The first row that fits holds. */
const rows: readonly Row[] = [
  {
    ...{ family: openaiFamily, model: /^gpt-(5\.[6-9]|[6-9])/, from: messageEndsFrom, source: openai },
    rules: byMessageEnd,
  },
  {
    ...{ family: openaiFamily, model: /^(gpt|o\d|chatgpt)/, source: openai },
    rules: {
      ...{ minimumTokens: 1_024, stepTokens: 128 },
      lifetimes: {
        default: { leastMs: 5 * minute, mostMs: 24 * hour },
        in_memory: { leastMs: 5 * minute, mostMs: hour },
        "24h": { leastMs: 5 * minute, mostMs: 24 * hour },
      },
    },
  },
  // The vendor is part of the model's name there. Which of the vendor's hosts answers, and its minimum, is not known.
  {
    ...{
      family: /^chat-openrouter/,
      model: /^openai\/gpt-(5\.[6-9]|[6-9])/,
      from: messageEndsFrom,
      source: openrouter,
    },
    rules: byMessageEnd,
  },
  { family: /^chat-openrouter/, model: /^anthropic\//, rules: byBreakpoint, source: openrouter },
  { family: /^chat/, model: /^(mistral|ministral|magistral|codestral)/, rules: { stepTokens: 64 }, source: mistral },
  {
    ...{ family: /^anthropic/, model: /(opus-5|sonnet-5-5|haiku-5-5|fable|mythos-5)/, source: anthropic },
    rules: { ...byBreakpoint, minimumTokens: 512 },
  },
  {
    ...{ family: /^anthropic/, model: /(opus-4-7|mythos-preview|haiku-3-5|3-5-haiku)/, source: anthropic },
    rules: { ...byBreakpoint, minimumTokens: 2_048 },
  },
  {
    ...{ family: /^anthropic/, model: /(opus-4-[56]|haiku-4-5)/, source: anthropic },
    rules: { ...byBreakpoint, minimumTokens: 4_096 },
  },
  {
    ...{ family: /^anthropic/, model: /(opus-4|sonnet-5|sonnet-4)/, source: anthropic },
    rules: { ...byBreakpoint, minimumTokens: 1_024 },
  },
  { family: /^anthropic/, model: /./, rules: byBreakpoint, source: anthropic },
];

const unknown: CacheRules = {
  ...{ minimumTokens: null, stepTokens: null, boundaries: "every-unit", lookback: 20, source: null },
  lifetimes: { default: { leastMs: null, mostMs: null } },
};

/**
 * The rules of a model at the time of a request.
 *
 * @param family - The family of the codec.
 * @param options.at - When the request was made, as an ISO time.
 * @param options.own - The user's own rules, which take precedence.
 */
export function cacheRules(
  family: string,
  { model, at, own = {} }: { readonly model: string; readonly at: string; readonly own?: Partial<CacheRules> },
): CacheRules {
  const row = rowsFor(family, model).find(({ from }) => from === undefined || at >= from);
  return { ...unknown, ...row?.rules, source: row?.source ?? null, ...own };
}

/** How many models to remember the rows of: a log names a few, and asks for them at each request. */
const maxModels = 64;
const rowsByModel = new Map<string, readonly Row[]>();

function rowsFor(family: string, model: string): readonly Row[] {
  const name = JSON.stringify([family, model]);
  const known = rowsByModel.get(name);
  if (known !== undefined) return known;
  const found = rows.filter((each) => each.family.test(family) && each.model.test(model));
  if (rowsByModel.size === maxModels) rowsByModel.clear();
  rowsByModel.set(name, found);
  return found;
}
