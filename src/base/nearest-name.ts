/** The maximum distance in letters of a mistyped name from the intended one; at most a third of the letters, too. */
const maxDistance = 3;

/** The name that a mistyped one most likely means; null if none is near. Case, `_` and `-` do not count. */
export function nearestName(name: string, names: Iterable<string>): string | null {
  const typed = plain(name);
  let nearest: { readonly name: string; readonly distance: number } | null = null;
  for (const known of names) {
    const meant = plain(known);
    // A name whose length alone differs by more than that is not near, and may be very long.
    if (Math.abs(typed.length - meant.length) > maxDistance) continue;
    const distance = distanceBetween(typed, meant);
    if (distance > Math.min(maxDistance, Math.max(typed.length, meant.length) / 3)) continue;
    if (nearest === null || distance < nearest.distance) nearest = { name: known, distance };
  }
  return nearest?.name ?? null;
}

const plain = (name: string): string => name.toLowerCase().replace(/[_-]/g, "");

/** How many letters to add, remove, replace or swap with their neighbour (Damerau and Levenshtein). */
function distanceBetween(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
