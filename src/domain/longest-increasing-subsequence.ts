/** The most of the (distinct) values that stand in ascending order: what can stay where it is when the others move. */
export function longestIncreasingSubsequence(values: readonly number[]): readonly number[] {
  // The piles of patience sorting: the smallest value that ends an ascending row of each length, and who stands before it.
  const ends: Link[] = [];
  for (const value of values) {
    const length = countBelow(ends, value);
    ends[length] = { value, before: ends[length - 1] };
  }
  const subsequence: number[] = [];
  for (let link = ends.at(-1); link !== undefined; link = link.before) subsequence.push(link.value);
  return subsequence.reverse();
}

type Link = { readonly value: number; readonly before: Link | undefined };

function countBelow(ends: readonly Link[], value: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle]?.value ?? value) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
