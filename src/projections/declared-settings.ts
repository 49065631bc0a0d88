/** What a view keeps of declared settings, those that were used last at the end: views are saved, and stay small. */
export type DeclaredSettings<Value> = readonly { readonly digest: string; readonly value: Value }[];

/** Settings that differ with every request are forgotten after so many others. */
const maxSettings = 256;

/** The list with these settings as those that were used last. */
export function useSettings<Value>(
  known: DeclaredSettings<Value>,
  digest: string,
  value: Value,
): DeclaredSettings<Value> {
  if (known.at(-1)?.digest === digest) return known;
  return [...known.filter((each) => each.digest !== digest), { digest, value }].slice(-maxSettings);
}

/** What was kept of settings; undefined where they were never seen, or long ago. */
export const settingsValue = <Value>(known: DeclaredSettings<Value>, wanted: string): Value | undefined =>
  known.findLast(({ digest }) => digest === wanted)?.value;
