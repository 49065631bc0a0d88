import type { CachedRequest, CacheTokens } from "./cache-verdict.ts";

/** The reported totals of earlier requests, by the digest of their whole prompts. */
export type KnownTotals = ReadonlyMap<string, number>;

/**
 * The tokens up to and including a unit. Exact where an earlier request ended, or this one does; between two such places the difference
 * is distributed by bytes. Null if the answers report no totals.
 */
export function tokensAt(
  place: number,
  {
    request,
    prefixes,
    totals,
  }: { readonly request: CachedRequest; readonly prefixes: readonly string[]; readonly totals: KnownTotals },
): CacheTokens | null {
  if (place < 0) return { tokens: 0, isAbout: false };
  const last = prefixes.length - 1;
  const known = (at: number): number | undefined =>
    (at === last ? request.counts?.input : undefined) ?? totals.get(prefixes[at] ?? "");
  const exact = known(place);
  if (exact !== undefined) return { tokens: exact, isAbout: false };
  const after = prefixes.findIndex((_, at) => at > place && known(at) !== undefined);
  if (after < 0) return null;
  const before = prefixes.slice(0, place).findLastIndex((_, at) => known(at) !== undefined);
  const [from, to] = [before < 0 ? 0 : (known(before) ?? 0), known(after) ?? 0];
  const [here, whole] = [bytesIn(request, before + 1, place), bytesIn(request, before + 1, after)];
  return { tokens: whole === 0 ? from : Math.round(from + ((to - from) * here) / whole), isAbout: here > 0 };
}

const bytesIn = ({ units }: CachedRequest, from: number, to: number): number =>
  units.slice(from, to + 1).reduce((sum, { bytes }) => sum + bytes, 0);
