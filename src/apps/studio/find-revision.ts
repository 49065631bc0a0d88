import type { FindDocument } from "./page-documents.ts";
import type { Reel } from "./reel.ts";

export const findable = ["edit", "answer", "break", "turn", "miss"] as const satisfies readonly FindDocument["what"][];

/** The next event of a kind behind a revision, or the one before it; null if there is none. */
export function findRevision(
  { rows, groups, steps }: Reel,
  from: number,
  { what, direction }: { readonly what: FindDocument["what"]; readonly direction: 1 | -1 },
): number | null {
  if (what === "miss") {
    const misses = steps.filter(({ revision, outcome }) => (outcome?.tokens?.again ?? 0) > 0 && revision !== from);
    const found =
      direction === 1
        ? misses.find(({ revision }) => revision > from)
        : misses.findLast(({ revision }) => revision < from);
    return found?.revision ?? null;
  }
  const begins = new Set(what === "turn" ? groups.map((group) => group.from) : []);
  for (let revision = from + direction; revision >= 0 && revision < rows.length; revision += direction) {
    const mark = rows.mark(revision);
    if (mark === undefined) continue;
    if (what === "edit" && mark.editor !== null && mark.sign === "layer") return revision;
    if (what === "answer" && mark.type === "ResponseReceived") return revision;
    if (what === "break" && (mark.verdict === "rebased" || mark.verdict === "full")) return revision;
    if (begins.has(revision)) return revision;
  }
  return null;
}
