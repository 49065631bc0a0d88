import { sha256OfPair } from "../../base/sha256.ts";
import { type KnownEntry, type KnownPrompt, verdictOn } from "./cache-cause.ts";
import type { CacheUnit } from "./cache-prompt.ts";
import type { CachedRequest, CacheVerdict } from "./cache-verdict.ts";
import { tokensIn } from "./estimated-tokens.ts";

/**
 * The verdict on each of these requests, oldest first: a fold over all requests of one endpoint scope. It looks nothing up, so the same
 * requests always get the same verdicts.
 */
export function walkCache(requests: readonly CachedRequest[]): readonly CacheVerdict[] {
  const walk = new CacheWalk();
  return requests.map((request) => walk.next(request));
}

/** What earlier requests left in the cache, as far as the rules say. */
class CacheWalk {
  /** By partition and by the digest of a prefix. */
  readonly #entries = new Map<string, KnownEntry>();
  readonly #prompts: KnownPrompt[] = [];
  readonly #totals = new Map<string, number>();

  next(request: CachedRequest): CacheVerdict {
    const prefixes = prefixesOf(request.units);
    const tokens = tokensIn({ request, prefixes, totals: this.#totals });
    const entryAt = (place: number): KnownEntry | undefined => this.#entries.get(keyOf(request, prefixes[place]));
    const { verdict, read } = verdictOn({ request, prefixes, prompts: this.#prompts, entryAt, tokens });
    // Whether an entry was refreshed is not known of a request that another machine may have answered.
    const isSure = verdict.cause !== "unexplained" && verdict.cause !== "maybe-expired";
    const refreshed = isSure ? entryAt(read) : undefined;
    if (refreshed !== undefined) this.#entries.set(keyOf(request, prefixes[read]), used(refreshed, request.at));
    const { rules, boundaries, units, counts } = request;
    const least = Math.max(rules.minimumTokens ?? 0, rules.stepTokens ?? 1, 1);
    const writes = boundaries.writes.filter(({ place }) => (tokens(place)?.tokens ?? least) >= least);
    for (const { place, lifetime } of writes) this.#write(request, prefixes[place], { lifetime, isSure });
    this.#prompts.push({ request, prefixes, lastWrite: writes.at(-1)?.place ?? -1 });
    if (counts?.input !== undefined) this.#totals.set(prefixes[units.length - 1] ?? "", counts.input);
    return verdict;
  }

  #write(
    request: CachedRequest,
    prefix: string | undefined,
    { lifetime, isSure }: { readonly lifetime: string; readonly isSure: boolean },
  ): void {
    const { at, answerAt, rules, id } = request;
    const { leastMs, mostMs } = rules.lifetimes[lifetime] ?? rules.lifetimes["default"] ?? unbounded;
    const known = this.#entries.get(keyOf(request, prefix));
    const isKept = known !== undefined && known.mostUntil >= at;
    const entry = isKept
      ? known
      : { by: id, readableFrom: answerAt, usedAt: at, leastMs: 0, mostMs: 0, leastUntil: at, mostUntil: at };
    const longer = {
      ...entry,
      leastMs: Math.max(entry.leastMs, leastMs ?? 0),
      mostMs: Math.max(entry.mostMs, mostMs ?? Number.POSITIVE_INFINITY),
    };
    const until = { leastUntil: at + (leastMs ?? 0), mostUntil: at + (mostMs ?? Number.POSITIVE_INFINITY) };
    this.#entries.set(keyOf(request, prefix), {
      ...longer,
      usedAt: at,
      leastUntil: isSure || !isKept ? Math.max(entry.leastUntil, until.leastUntil) : entry.leastUntil,
      mostUntil: Math.max(entry.mostUntil, until.mostUntil),
    });
  }
}

/** An entry that was read: its own lifetime begins again. */
const used = (entry: KnownEntry, at: number): KnownEntry => ({
  ...entry,
  usedAt: at,
  leastUntil: Math.max(entry.leastUntil, at + entry.leastMs),
  mostUntil: Math.max(entry.mostUntil, at + entry.mostMs),
});

const unbounded = { leastMs: null, mostMs: null };

const keyOf = ({ partition }: CachedRequest, prefix: string | undefined): string => `${partition} ${prefix ?? ""}`;

/** A digest of everything up to each unit. */
function prefixesOf(units: readonly CacheUnit[]): readonly string[] {
  let prefix: string | undefined;
  return units.map(({ digest }) => {
    prefix = prefix === undefined ? digest : sha256OfPair(prefix, digest);
    return prefix;
  });
}
