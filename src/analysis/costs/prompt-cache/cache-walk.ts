import { type KnownEntry, type KnownPrompt, verdictOn } from "./cache-cause.ts";
import type { CachedRequest, CacheTokens, CacheVerdict } from "./cache-verdict.ts";
import { type KnownPlace, tokensIn } from "./estimated-tokens.ts";

/**
 * The verdict on each of these requests, oldest first: a fold over all requests of one endpoint scope. It looks nothing up, so the same
 * requests always get the same verdicts.
 */
export function walkCache(requests: readonly CachedRequest[]): readonly CacheVerdict[] {
  const walk = new CacheWalk();
  return requests.map((request) => walk.next(request));
}

/**
 * What earlier requests left in the cache, as far as the rules say. A prompt has thousands of prefixes, each of which may be an entry, and a
 * verdict asks for a few of them: only these are made.
 */
class CacheWalk {
  readonly #walked: Walked[] = [];
  readonly #totals = new Map<string, KnownPlace>();

  next(request: CachedRequest): CacheVerdict {
    const { prefixes, units, counts, partition } = request;
    const tokens = tokensIn({ request, prefixes, totals: this.#totals });
    const sharing = this.#walked.filter((each) => each.request.partition === partition);
    const entryAt = (place: number): KnownEntry | undefined => entryOf(sharing, place, prefixes[place]);
    const { verdict, read } = verdictOn({ request, prefixes, prompts: this.#walked, entryAt, tokens });
    // Whether an entry was refreshed is not known of a request that another machine may have answered.
    const isSure = verdict.cause !== "unexplained" && verdict.cause !== "maybe-expired";
    const lastWrite = prefixes.findLastIndex((_, place) => lifetimeAt(place, request, tokens) !== undefined);
    this.#walked.push({ request, prefixes, lastWrite, tokens, isSure, read });
    const [end, input] = [units.length - 1, counts?.input];
    if (input !== undefined) this.#totals.set(prefixes[end] ?? "", { place: end, tokens: input });
    return verdict;
  }
}

/** A request that was walked over, and what it did to the cache. */
type Walked = KnownPrompt & {
  readonly tokens: (place: number) => CacheTokens | null;
  /** Whether it is known to have been answered by the machine with the entries. */
  readonly isSure: boolean;
  /** The last place of the entry that it read; -1 for none. */
  readonly read: number;
};

/** The lifetime that a request asks for at a place that it caches: shorter prefixes than the minimum are not cached. */
function lifetimeAt(
  place: number,
  { boundaries, rules }: CachedRequest,
  tokens: (place: number) => CacheTokens | null,
): string | undefined {
  const lifetime = boundaries.writes.get(place);
  if (lifetime === undefined) return undefined;
  const least = Math.max(rules.minimumTokens ?? 0, rules.stepTokens ?? 1, 1);
  return (tokens(place)?.tokens ?? least) >= least ? lifetime : undefined;
}

/** The entry of a prefix that ends at a place: what the requests that share it made of it, oldest first. */
function entryOf(walked: readonly Walked[], place: number, prefix: string | undefined): KnownEntry | undefined {
  let entry: KnownEntry | undefined;
  if (prefix === undefined) return entry;
  for (const { request, prefixes, tokens, isSure, read } of walked) {
    if (prefixes[place] !== prefix) continue;
    if (isSure && read === place && entry !== undefined) entry = used(entry, request.at);
    const lifetime = lifetimeAt(place, request, tokens);
    if (lifetime !== undefined) entry = written(entry, request, { lifetime, isSure });
  }
  return entry;
}

function written(
  entry: KnownEntry | undefined,
  { at, answerAt, rules, id }: CachedRequest,
  { lifetime, isSure }: { readonly lifetime: string; readonly isSure: boolean },
): KnownEntry {
  const lifetimes = rules.lifetimes[lifetime] ?? rules.lifetimes["default"] ?? unbounded;
  const [leastMs, mostMs] = [lifetimes.leastMs ?? 0, lifetimes.mostMs ?? Number.POSITIVE_INFINITY];
  const [leastUntil, mostUntil] = [at + leastMs, at + mostMs];
  if (entry === undefined || entry.mostUntil < at)
    return {
      ...{ by: id, readableFrom: answerAt, usedAt: at },
      ...{ leastMs: Math.max(0, leastMs), mostMs: Math.max(0, mostMs) },
      ...{ leastUntil: Math.max(at, leastUntil), mostUntil: Math.max(at, mostUntil) },
    };
  return {
    ...entry,
    usedAt: at,
    leastMs: Math.max(entry.leastMs, leastMs),
    mostMs: Math.max(entry.mostMs, mostMs),
    leastUntil: isSure ? Math.max(entry.leastUntil, leastUntil) : entry.leastUntil,
    mostUntil: Math.max(entry.mostUntil, mostUntil),
  };
}

/** An entry that was read: its own lifetime begins again. */
const used = (entry: KnownEntry, at: number): KnownEntry => ({
  ...entry,
  usedAt: at,
  leastUntil: Math.max(entry.leastUntil, at + entry.leastMs),
  mostUntil: Math.max(entry.mostUntil, at + entry.mostMs),
});

const unbounded = { leastMs: null, mostMs: null };
