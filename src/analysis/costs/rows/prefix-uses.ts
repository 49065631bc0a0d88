/**
 * When requests used one settings prefix (the model, the tools and the instructions, as a server reads them before the messages), without a
 * gap longer than `gapMs`. Times are in milliseconds; the revisions are those of the first and the last of these requests.
 */
type Use = readonly [from: number, readableFrom: number, fromRevision: number, to: number, toRevision: number];

/** By the key of the prefix; the one that was used last is the last. */
export type PrefixUses = Readonly<Record<string, readonly Use[]>>;

/** A request that used a prefix. */
export type PrefixUse = {
  readonly at: number;
  /** When its answer began. */
  readonly readableFrom: number;
  readonly revision: number;
};

/** No vendor keeps an entry for less: within a use, the entry is there. */
const gapMs = 5 * 60_000;

/** Rows are small: they keep the newest uses of the prefixes that were used last. */
const [maxUses, maxPrefixes] = [8, 4];

/** The uses with one more, which is not before the others. */
export function withUse(uses: PrefixUses, key: string, { at, readableFrom, revision }: PrefixUse): PrefixUses {
  const { [key]: known = [], ...others } = uses;
  const last = known.at(-1);
  const own: readonly Use[] =
    last !== undefined && at - last[3] <= gapMs
      ? [...known.slice(0, -1), [last[0], last[1], last[2], Math.max(at, last[3]), revision]]
      : [...known, [at, readableFrom, revision, at, revision]];
  return { ...Object.fromEntries(Object.entries(others).slice(1 - maxPrefixes)), [key]: own.slice(-maxUses) };
}

/** The last use of a prefix before a time, and who used it: in the middle of several uses, when the last of them was at the earliest. */
type LastUse<Of> = PrefixUse & { readonly of: Of };

type Spanned<Of> = { readonly of: Of; readonly use: Use };

/** Joins the uses that rows have of the same prefixes, for questions about the last one before a time. */
export function joinUses<Of>(
  rows: Iterable<{ readonly of: Of; readonly uses: PrefixUses | undefined }>,
): (key: string, before: number) => LastUse<Of> | null {
  const byKey = new Map<string, Spanned<Of>[]>();
  for (const { of, uses = {} } of rows)
    for (const [key, own] of Object.entries(uses)) {
      const known = byKey.get(key) ?? [];
      byKey.set(key, known);
      for (const use of own) known.push({ of, use });
    }
  const sorted = new Map([...byKey].map(([key, all]) => [key, latestUntil(all)]));
  return (key, before) => {
    const all = sorted.get(key) ?? [];
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[middle]?.from ?? 0) < before) low = middle + 1;
      else high = middle;
    }
    const found = all[low - 1]?.latest;
    if (found === undefined) return null;
    const { of, use } = found;
    const [from, readableFrom, fromRevision, to, toRevision] = use;
    if (to < before) return { of, at: to, readableFrom, revision: toRevision };
    return { of, at: Math.max(from, before - gapMs), readableFrom, revision: fromRevision };
  };
}

/** By when they began, each with the one that lasted longest of those so far. */
function latestUntil<Of>(
  all: readonly Spanned<Of>[],
): readonly { readonly from: number; readonly latest: Spanned<Of> | undefined }[] {
  let latest = all[0];
  return all
    .toSorted(({ use: [one] }, { use: [other] }) => one - other)
    .map((each, place) => {
      if (place === 0 || latest === undefined || each.use[3] > latest.use[3]) latest = each;
      return { from: each.use[0], latest };
    });
}
