/** Milliseconds of each round, by the name of what was timed. */
export type Rounds<Name extends string> = Readonly<Record<Name, readonly number[]>>;

/** Times several works that take turns, so that what else the machine does meets them alike. The first rounds warm up. */
export async function takeTurns<Name extends string>(
  rounds: number,
  works: Readonly<Record<Name, () => unknown>>,
): Promise<Rounds<Name>> {
  const warmUp = 3;
  const names = Object.keys(works).filter((name): name is Name => name in works);
  const times = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const name of names) {
      const ms = await timeOf(works[name]);
      if (round >= 0) times.get(name)?.push(ms);
    }
  }
  // Every name was given a list above.
  return Object.fromEntries(times) as Record<Name, number[]>;
}

/** The least of the rounds: what the work takes when nothing else runs. */
export const fastest = (rounds: readonly number[]): number => Math.min(...rounds);

/**
 * How two works compare: the ratio of their fastest rounds, and how far apart the quarter points of the ratios of the
 * single rounds are.
 */
export function ratioOf(
  above: readonly number[],
  below: readonly number[],
): { readonly value: number; readonly noise: number } {
  const value = fastest(above) / fastest(below);
  const ratios = above.map((ms, round) => ms / (below[round] ?? Number.NaN)).toSorted((left, right) => left - right);
  const at = (part: number): number => ratios[Math.round((ratios.length - 1) * part)] ?? Number.NaN;
  return { value, noise: (at(0.75) - at(0.25)) / value };
}

/** Milliseconds that some work takes. */
export async function timeOf(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
