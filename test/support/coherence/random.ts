/** Seeded random numbers: a failing run is repeated by its seed. */
export type Random = {
  /** In [0, 1). */
  readonly next: () => number;
  /** A whole number from 0 to below `bound`. */
  readonly below: (bound: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(values: readonly T[]) => T;
};

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (values) => {
      for (const value of values.slice(below(values.length))) return value;
      throw new Error("nothing to pick from");
    },
  };
}
