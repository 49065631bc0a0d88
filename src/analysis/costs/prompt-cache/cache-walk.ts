import { type KnownEntry, type KnownPrompt, verdictOn } from "./cache-cause.ts";
import type { CachedRequest, CacheTokens, CacheVerdict } from "./cache-verdict.ts";

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

/** The reported totals of earlier requests, by the digest of their whole prompts, and the places where these end. */
type KnownTotals = ReadonlyMap<string, KnownPlace>;

type Estimated = {
  readonly request: CachedRequest;
  /** A digest of everything up to each unit. */
  readonly prefixes: readonly string[];
  readonly totals: KnownTotals;
};

/**
 * The tokens up to and including a unit. Exact where an earlier request ended, or this one does; between two such places the difference
 * is distributed by bytes. Null if the answers report no totals.
 */
function tokensIn(estimated: Estimated): (place: number) => CacheTokens | null {
  const places = knownPlaces(estimated);
  let bytes: readonly number[] | undefined;
  const bytesTo = (place: number): number => {
    bytes ??= bytesBefore(estimated.request);
    return bytes[place + 1] ?? 0;
  };
  return (place) => tokensAt(place, places, bytesTo);
}

/** The bytes before each unit, and those of all: summed up once, because each of thousands of units may be asked for. */
function bytesBefore({ units }: CachedRequest): readonly number[] {
  const sums = [0];
  for (const { bytes } of units) sums.push((sums.at(-1) ?? 0) + bytes);
  return sums;
}

/** A place whose tokens are known: before the first unit, these are 0. */
type KnownPlace = { readonly place: number; readonly tokens: number };

function knownPlaces({ request, prefixes, totals }: Estimated): readonly KnownPlace[] {
  const last = prefixes.length - 1;
  const own = last < 0 ? undefined : request.counts?.input;
  const earlier = [...totals]
    .filter(([prefix, { place }]) => prefixes[place] === prefix && !(place === last && own !== undefined))
    .map(([, known]) => known);
  const ends = own === undefined ? earlier : [...earlier, { place: last, tokens: own }];
  return [{ place: -1, tokens: 0 }, ...ends.toSorted((one, other) => one.place - other.place)];
}

function tokensAt(place: number, known: readonly KnownPlace[], bytesTo: (place: number) => number): CacheTokens | null {
  const [before, after] = around(place, known);
  if (before === undefined || place <= before.place) return { tokens: before?.tokens ?? 0, isAbout: false };
  if (after === undefined) return null;
  const bytesSince = (last: number): number => bytesTo(last) - bytesTo(before.place);
  const [here, whole] = [bytesSince(place), bytesSince(after.place)];
  const { tokens } = before;
  return {
    tokens: whole === 0 ? tokens : Math.round(tokens + ((after.tokens - tokens) * here) / whole),
    isAbout: here > 0,
  };
}

/** The last known place at or before a place, and the first one after it. */
function around(
  place: number,
  known: readonly KnownPlace[],
): readonly [KnownPlace | undefined, KnownPlace | undefined] {
  let [low, high] = [0, known.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((known[middle]?.place ?? 0) <= place) low = middle + 1;
    else high = middle;
  }
  return [known[low - 1], known[low]];
}
