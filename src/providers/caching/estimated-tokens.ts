import type { CachedRequest, CacheTokens } from "./cache-verdict.ts";

/** The reported totals of earlier requests, by the digest of their whole prompts. */
type KnownTotals = ReadonlyMap<string, number>;

type Estimated = {
  readonly request: CachedRequest;
  /** A digest of everything up to each unit. */
  readonly prefixes: readonly string[];
  readonly totals: KnownTotals;
};

/**
 * The tokens up to and including a unit. Exact where an earlier request ended, or this one does; between two such places the difference
 * is distributed by bytes. Null if the answers report no totals. A prompt has thousands of units, and each may be asked for: what is known is
 * looked up once.
 */
export function tokensIn(estimated: Estimated): (place: number) => CacheTokens | null {
  let known: { readonly places: readonly KnownPlace[]; readonly bytes: readonly number[] } | undefined;
  return (place) => {
    known ??= { places: knownPlaces(estimated), bytes: bytesTo(estimated.request) };
    return tokensAt(place, known.places, known.bytes);
  };
}

/** The bytes before each unit, and those of all. */
function bytesTo({ units }: CachedRequest): readonly number[] {
  const sums = [0];
  for (const { bytes } of units) sums.push((sums.at(-1) ?? 0) + bytes);
  return sums;
}

/** A place whose tokens are known: before the first unit, these are 0. */
type KnownPlace = { readonly place: number; readonly tokens: number };

function knownPlaces({ request, prefixes, totals }: Estimated): readonly KnownPlace[] {
  const places: KnownPlace[] = [{ place: -1, tokens: 0 }];
  for (const [place, prefix] of prefixes.entries()) {
    const own = place === prefixes.length - 1 ? request.counts?.input : undefined;
    const tokens = own ?? totals.get(prefix);
    if (tokens !== undefined) places.push({ place, tokens });
  }
  return places;
}

function tokensAt(place: number, known: readonly KnownPlace[], bytes: readonly number[]): CacheTokens | null {
  const [before, after] = around(place, known);
  if (before === undefined || place <= before.place) return { tokens: before?.tokens ?? 0, isAbout: false };
  if (after === undefined) return null;
  const bytesSince = (last: number): number => (bytes[last + 1] ?? 0) - (bytes[before.place + 1] ?? 0);
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
