import type { CachedRequest, CacheTokens } from "./cache-verdict.ts";

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
export function tokensIn(estimated: Estimated): (place: number) => CacheTokens | null {
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
export type KnownPlace = { readonly place: number; readonly tokens: number };

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
