/** How much of a line is shown, and how much of it before the first difference. */
const [maxWidth, before] = [240, 80];

/**
 * Two texts whose long lines are cut to what is around their first difference, so that a change in the middle of a long line is seen. Lines are
 * compared by their places.
 */
export function aroundChange(then: string, now: string): readonly [then: string, now: string] {
  const [old, newer] = [then.split("\n"), now.split("\n")];
  const starts = old.map((line, place) => startOf(line, newer[place] ?? ""));
  const shown = (lines: readonly string[]): string => lines.map((line, n) => cut(line, starts[n] ?? 0)).join("\n");
  return [shown(old), shown(newer)];
}

/** Where a line begins to be shown: equal lines at their beginning. */
function startOf(line: string, other: string): number {
  let same = 0;
  while (same < line.length && line[same] === other[same]) same += 1;
  return line === other ? 0 : Math.max(0, same - before);
}

function cut(line: string, start: number): string {
  if (line.length <= maxWidth) return line;
  const end = start + maxWidth;
  return `${start > 0 ? "…" : ""}${line.slice(start, end)}${end < line.length ? "…" : ""}`;
}
