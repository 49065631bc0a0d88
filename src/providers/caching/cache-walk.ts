import { type KnownEntry, type KnownPrompt, verdictOn } from "./cache-cause.ts";
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
  /** By partition, and then by the digest of a prefix. A prompt has thousands of prefixes, so entries change in place. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #prompts: KnownPrompt[] = [];
  readonly #totals = new Map<string, number>();

  next(request: CachedRequest): CacheVerdict {
    const { prefixes, partition } = request;
    const tokens = tokensIn({ request, prefixes, totals: this.#totals });
    const entries = this.#entries.get(partition) ?? new Map<string, Entry>();
    this.#entries.set(partition, entries);
    const entryAt = (place: number): Entry | undefined => entries.get(prefixes[place] ?? "");
    const { verdict, read } = verdictOn({ request, prefixes, prompts: this.#prompts, entryAt, tokens });
    // Whether an entry was refreshed is not known of a request that another machine may have answered.
    const isSure = verdict.cause !== "unexplained" && verdict.cause !== "maybe-expired";
    const refreshed = isSure ? entryAt(read) : undefined;
    if (refreshed !== undefined) use(refreshed, request.at);
    const { rules, boundaries, units, counts } = request;
    const least = Math.max(rules.minimumTokens ?? 0, rules.stepTokens ?? 1, 1);
    const writes = boundaries.writes.filter(({ place }) => (tokens(place)?.tokens ?? least) >= least);
    for (const { place, lifetime } of writes)
      write(entries, request, { prefix: prefixes[place] ?? "", lifetime, isSure });
    this.#prompts.push({ request, prefixes, lastWrite: writes.at(-1)?.place ?? -1 });
    if (counts?.input !== undefined) this.#totals.set(prefixes[units.length - 1] ?? "", counts.input);
    return verdict;
  }
}

type Entry = { -readonly [Member in keyof KnownEntry]: KnownEntry[Member] };

function write(
  entries: Map<string, Entry>,
  { at, answerAt, rules, id }: CachedRequest,
  { prefix, lifetime, isSure }: { readonly prefix: string; readonly lifetime: string; readonly isSure: boolean },
): void {
  const lifetimes = rules.lifetimes[lifetime] ?? rules.lifetimes["default"] ?? unbounded;
  const [leastMs, mostMs] = [lifetimes.leastMs ?? 0, lifetimes.mostMs ?? Number.POSITIVE_INFINITY];
  const [leastUntil, mostUntil] = [at + leastMs, at + mostMs];
  const entry = entries.get(prefix);
  if (entry === undefined || entry.mostUntil < at) {
    entries.set(prefix, {
      ...{ by: id, readableFrom: answerAt, usedAt: at },
      ...{ leastMs: Math.max(0, leastMs), mostMs: Math.max(0, mostMs) },
      ...{ leastUntil: Math.max(at, leastUntil), mostUntil: Math.max(at, mostUntil) },
    });
    return;
  }
  entry.usedAt = at;
  entry.leastMs = Math.max(entry.leastMs, leastMs);
  entry.mostMs = Math.max(entry.mostMs, mostMs);
  if (isSure) entry.leastUntil = Math.max(entry.leastUntil, leastUntil);
  entry.mostUntil = Math.max(entry.mostUntil, mostUntil);
}

/** An entry that was read: its own lifetime begins again. */
function use(entry: Entry, at: number): void {
  entry.usedAt = at;
  entry.leastUntil = Math.max(entry.leastUntil, at + entry.leastMs);
  entry.mostUntil = Math.max(entry.mostUntil, at + entry.mostMs);
}

const unbounded = { leastMs: null, mostMs: null };
