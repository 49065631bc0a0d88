/** Milliseconds of processor time of each round, by the name of the timed work. */
export type Rounds<Name extends string> = Readonly<Record<Name, readonly number[]>>;

/** Rounds that are played before the clock runs, for works shorter than seconds. */
export const warmUpRounds = 20;

/**
 * Times several works that take turns, after warm-up rounds. Measures processor time of all threads of the process, so that other
 * load on the machine counts little. Systems count it in ticks of up to 10 ms, so a round of a work takes several.
 */
export async function takeTurns<Name extends string>(
  rounds: number,
  works: Readonly<Record<Name, () => unknown>>,
  warmUp = warmUpRounds,
): Promise<Rounds<Name>> {
  const names = Object.keys(works).filter((name): name is Name => name in works);
  const times = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const name of names) {
      const before = process.cpuUsage();
      await works[name]();
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) times.get(name)?.push((user + system) / 1_000);
    }
  }
  // Every name got a list above.
  return Object.fromEntries(times) as Record<Name, number[]>;
}

export const mean = (rounds: readonly number[]): number =>
  rounds.reduce((sum, round) => sum + round, 0) / rounds.length;

/** The ratio of two works over all rounds, and the distance between the quartiles of the single rounds' ratios. */
export function ratioOf(
  above: readonly number[],
  below: readonly number[],
): { readonly value: number; readonly noise: number } {
  const value = mean(above) / mean(below);
  const ratios = above.map((ms, round) => ms / (below[round] ?? Number.NaN)).toSorted((left, right) => left - right);
  const at = (part: number): number => ratios[Math.round((ratios.length - 1) * part)] ?? Number.NaN;
  return { value, noise: (at(0.75) - at(0.25)) / value };
}
