import { dollarText, type Picodollars, parseDollars } from "../../../base/dollars.ts";
import type { BillCell } from "../rows/bill-cells.ts";
import type { CellPrice, Unpriced } from "./price-of-cell.ts";

/** What one row, or several together, cost. */
export type BillCost = {
  /** Requests that were sent, including rejected ones, and their UTF-8 bytes. */
  readonly requests: number;
  readonly bytes: number;
  /** Tokens by price class: `uncached`, `read` and `written` are all input, and `reasoning` is a part of `output`. */
  readonly tokens: {
    readonly uncached: number;
    readonly read: number;
    readonly written: number;
    readonly output: number;
    readonly reasoning: number;
  };
  /** What is not known of these requests. */
  readonly untold: {
    /** Requests whose tokens the provider did not, or not all, report: they broke off, or are without an answer so far. */
    readonly requests: number;
    /** Answers whose usage contradicts itself. None of their tokens are counted. */
    readonly contradictory: number;
    /** Uncached tokens of servers that do not say what they read from a cache. */
    readonly cache: number;
    /** Requests of an older turnlog, of which nothing has looked at what they missed: a bill by layer has all of their tokens in the rest. */
    readonly misses: number;
  };
  /** In dollars, as decimal text. */
  readonly money: {
    /** What the provider told, and the price of the other requests; null if neither is known. */
    readonly total: string | null;
    /** What providers told; null if none did. */
    readonly told: string | null;
    /** What the price file says, also of requests whose money the provider told; null without prices. */
    readonly priced: string | null;
  };
  /** Tokens that `money.total` does not include. */
  readonly notPriced: readonly NotPriced[];
};

/** Tokens of one model and class without a price. */
export type NotPriced = {
  readonly model: string | null;
  readonly tier: string | null;
  /** `uncached`, `read`, `written 5m` and so on, `output`, `reasoning`. */
  readonly class: string;
  readonly tokens: number;
  /** There is no price file, it lacks the model, has it several times with different prices, or has no price for the class and tier. */
  readonly why: "no-prices" | "no-entry" | "ambiguous" | "no-price";
};

/** A cost that grows. Money is exact, so the order of additions does not matter. */
export type Sum = {
  requests: number;
  bytes: number;
  /** All of them, to compare sums. */
  tokens: number;
  uncached: number;
  read: number;
  written: number;
  output: number;
  reasoning: number;
  untold: number;
  contradictory: number;
  unknownCache: number;
  notLookedAt: number;
  removed: number;
  total: Picodollars;
  told: Picodollars;
  priced: Picodollars;
  hasTold: boolean;
  hasPriced: boolean;
  readonly notPriced: Map<string, NotPriced>;
};

export const emptySum = (): Sum => ({
  ...{ requests: 0, bytes: 0, tokens: 0, uncached: 0, read: 0, written: 0, output: 0, reasoning: 0 },
  ...{ untold: 0, contradictory: 0, unknownCache: 0, notLookedAt: 0, removed: 0 },
  ...{ total: 0n, told: 0n, priced: 0n, hasTold: false, hasPriced: false, notPriced: new Map() },
});

export function addCell(sum: Sum, cell: BillCell, price: CellPrice): void {
  const written = Object.values(cell.written).reduce((all, tokens) => all + tokens, 0);
  sum.requests += cell.requests;
  sum.bytes += cell.bytes;
  sum.tokens += cell.uncached + cell.read + written + cell.output;
  sum.uncached += cell.uncached;
  sum.read += cell.read;
  sum.written += written;
  sum.output += cell.output;
  sum.reasoning += cell.reasoning;
  sum.untold += cell.untold;
  sum.contradictory += cell.contradictory;
  sum.unknownCache += cell.unknownCache;
  if (cell.cause === "not-looked-at") sum.notLookedAt += cell.requests;
  sum.removed += cell.removed ?? 0;
  sum.priced += price.amount;
  sum.hasPriced ||= price.isPriced;
  if (cell.isPaid) {
    const told = parseDollars(cell.usd) ?? 0n;
    sum.told += told;
    sum.total += told;
    sum.hasTold = true;
    return;
  }
  sum.total += price.amount;
  for (const unpriced of price.unpriced) addUnpriced(sum, cell, unpriced);
}

function addUnpriced({ notPriced }: Sum, { served, declared, tier }: BillCell, unpriced: Unpriced): void {
  const { tokens, ...what } = unpriced;
  const known = { model: served ?? declared, tier, ...what };
  const key = JSON.stringify(known);
  notPriced.set(key, { ...known, tokens: tokens + (notPriced.get(key)?.tokens ?? 0) });
}

/** The sum in the form of a bill. */
export function costOf(sum: Sum, hasPrices: boolean): BillCost {
  const {
    requests,
    bytes,
    uncached,
    read,
    written,
    output,
    reasoning,
    untold,
    contradictory,
    unknownCache,
    notLookedAt,
  } = sum;
  const notPriced = [...sum.notPriced].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, each]) => each);
  const isKnown = sum.hasTold || sum.hasPriced || (hasPrices && notPriced.length === 0);
  return {
    ...{ requests, bytes, tokens: { uncached, read, written, output, reasoning } },
    untold: { requests: untold, contradictory, cache: unknownCache, misses: notLookedAt },
    money: {
      total: isKnown ? dollarText(sum.total) : null,
      told: sum.hasTold ? dollarText(sum.told) : null,
      priced: hasPrices ? dollarText(sum.priced) : null,
    },
    notPriced,
  };
}
