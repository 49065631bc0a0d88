/** How many cases a law that is tried on drawn ones gets, and which: `.ci/run` plays all suites that draw with other seeds. */

/** `npm run test:long`: the runs that take hours. */
export const isLong = process.env["TURNLOG_LONG"] === "1";

/** Cases are drawn from this seed on. A failing one says its seed; `TURNLOG_SEED=<seed> TURNLOG_CASES=1` plays it alone. */
export const firstSeed = Number(process.env["TURNLOG_SEED"] ?? 1);

/** How many cases: of `npm test`, and of the long form. */
export const cases = (short: number, long: number): number =>
  Number(process.env["TURNLOG_CASES"] ?? (isLong ? long : short));

/** The seeds of so many cases. */
export const seeds = (short: number, long: number): readonly number[] =>
  Array.from({ length: cases(short, long) }, (_, n) => firstSeed + n);

/**
 * Whether it can be asked how much of each thing occurred: of the cases that `npm test` always draws, and of the long form's
 * many. A few cases of another seed may lack any one thing, and prove no less about those that they have.
 */
export const isTelling = isLong || (firstSeed === 1 && process.env["TURNLOG_CASES"] === undefined);
