/** What a view keeps of declared settings, the most recently used last. It is limited, because views are saved. */
export type DeclaredSettings<Value> = readonly { readonly digest: string; readonly value: Value }[];

/** If settings differ with every request, the oldest are forgotten after this many others. */
const maxSettings = 256;

/** The list with these settings as the most recently used. */
export function useSettings<Value>(
  known: DeclaredSettings<Value>,
  digest: string,
  value: Value,
): DeclaredSettings<Value> {
  if (known.at(-1)?.digest === digest) return known;
  return [...known.filter((each) => each.digest !== digest), { digest, value }].slice(-maxSettings);
}

/** The value kept for settings; undefined if they were never declared, or were forgotten. */
export const settingsValue = <Value>(known: DeclaredSettings<Value>, wanted: string): Value | undefined =>
  known.findLast(({ digest }) => digest === wanted)?.value;
