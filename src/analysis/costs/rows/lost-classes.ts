import type { BillCell } from "./bill-cells.ts";

/** The tokens of a request's input that were not read from a cache. */
export type PaidInput = Pick<BillCell, "uncached" | "written">;

/**
 * How the lost tokens of a miss were paid. They follow what was read, so they are among what was written to the cache, the longest
 * lifetime first, and the rest of them among what was not cached.
 */
export function lostClasses(lost: number, { uncached, written }: PaidInput): PaidInput {
  let left = lost;
  const take = (tokens: number): number => {
    const taken = Math.min(left, tokens);
    left -= taken;
    return taken;
  };
  const byLifetime = Object.entries(written).toSorted(([one], [other]) => minutesOf(other) - minutesOf(one));
  const taken = byLifetime.map(([lifetime, tokens]) => [lifetime, take(tokens)] as const);
  return { written: Object.fromEntries(taken.filter(([, tokens]) => tokens > 0)), uncached: take(uncached) };
}

/** `1h` has 60, `5m` has 5; a lifetime without a number has 0. */
function minutesOf(lifetime: string): number {
  const [, number = "0", unit = "m"] = /^(\d+)([mh])$/.exec(lifetime) ?? [];
  return Number(number) * (unit === "h" ? 60 : 1);
}
