/** How many cases a law that is tried on drawn ones gets, and which: `.ci/run` plays all suites that draw with other seeds. */

/** `npm run test:long`: the runs that take hours. */
export const isLong = process.env["TURNLOG_LONG"] === "1";

/** Cases are drawn from this seed on. A failing one says its seed; `TURNLOG_SEED=<seed> TURNLOG_CASES=1` plays it alone. */
export const firstSeed = Number(process.env["TURNLOG_SEED"] ?? 1);

/** The rounds of `.ci/run`, which begin at seeds of their own: what `npm test` has no time for is drawn there. */
export const isRound = !isLong && process.env["TURNLOG_SEED"] !== undefined;

/**
 * Which of so many parts of a suite this run plays: `npm test` the first, the rounds of `.ci/run` one after the other, since their seeds are
 * ten thousand apart. The long form plays all parts, so ask `isLong` first.
 */
export const partOf = (parts: number): number => Math.floor(firstSeed / 10_000) % parts;

/** How many cases: of `npm test`, of the long form, and of a round of `.ci/run`. */
export const cases = (short: number, long: number, round = short): number =>
  Number(process.env["TURNLOG_CASES"] ?? (isLong ? long : isRound ? round : short));

/** The seeds of so many cases. */
export const seeds = (short: number, long: number, round = short): readonly number[] =>
  Array.from({ length: cases(short, long, round) }, (_, n) => firstSeed + n);

/**
 * Whether it can be asked how much of each thing occurred: of the cases that `npm test` always draws, and of the long form's
 * many. A few cases of another seed may lack any one thing, and prove no less about those that they have.
 */
export const isTelling = isLong || (firstSeed === 1 && process.env["TURNLOG_CASES"] === undefined);
