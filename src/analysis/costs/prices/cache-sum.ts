import { dollarText, parseDollars } from "../../../base/dollars.ts";
import type { BillCell } from "../rows/bill-cells.ts";
import type { PriceFile } from "./price-file.ts";
import { priceOfMiss } from "./price-of-miss.ts";

/** The misses of one cause and author. */
export type MissRow = {
  /** `changed`, `tools-changed`, `setting-changed`, `expired` and so on. */
  readonly cause: string;
  /** Who changed the prompt: `redact@1.2.0` for a layer, else `caller`, `compaction`, `erasure`, `settings` or `engine`; null if the prompt was not changed. */
  readonly author: string | null;
  readonly requests: number;
  /** Tokens that were cached before, and were paid for again. */
  readonly lost: number;
  /** About how many tokens the author removed from prompts: part of no sum. */
  readonly removed: number;
  /** What the lost tokens cost more than reading them would have, in dollars; null if a part of them has no price. */
  readonly money: string | null;
  /** Lost tokens without a price. */
  readonly notPriced: number;
};

/** What prompt caches saved, and what their misses cost. */
export type CacheSum = {
  /** Answered requests whose providers report what they read. */
  readonly requests: number;
  /** Their input: all of it, what was read, and what was paid for again. */
  readonly tokens: { readonly input: number; readonly read: number; readonly lost: number };
  /** `read` of `input`; null if nothing was reported. */
  readonly hitRate: number | null;
  /** The worst first: the dearest, else the one with the most tokens. */
  readonly misses: readonly MissRow[];
  /** What all misses cost; null without prices, or if nothing has one. */
  readonly money: string | null;
  /** Answers in which the provider says what of the prompt changed, and with how many of these turnlog agrees or disagrees. */
  readonly serverSays: { readonly requests: number; readonly agreed: number; readonly disagreed: number };
  /** Requests about which nothing can be said, and why. */
  readonly unknown: { readonly untold: number; readonly notLookedAt: number; readonly unknown: number };
};

type Sum = {
  cause: string;
  author: string | null;
  requests: number;
  lost: number;
  removed: number;
  pico: bigint;
  notPriced: number;
};

const neither: ReadonlySet<string> = new Set(["read", "first", "below-minimum", "untold", "not-looked-at", "unknown"]);

/** Adds up cells of rows about the cache. */
export function cacheSum(cells: Iterable<BillCell>, prices: PriceFile | null): CacheSum {
  const sums = new Map<string, Sum>();
  const total = { requests: 0, input: 0, read: 0, lost: 0 };
  const unknown = { untold: 0, notLookedAt: 0, unknown: 0 };
  const serverSays = { requests: 0, agreed: 0, disagreed: 0 };
  for (const cell of cells) {
    const { cause = "untold", author = null, requests, uncached, written, read, unknownCache } = cell;
    const paid = uncached + Object.values(written).reduce((sum, tokens) => sum + tokens, 0);
    if (cause === "untold") unknown.untold += requests;
    else total.requests += requests;
    if (cause === "not-looked-at") unknown.notLookedAt += requests;
    if (cause === "unknown" && author === null) unknown.unknown += requests;
    total.input += paid + read - unknownCache;
    total.read += read;
    serverSays.requests += cell.said ?? 0;
    serverSays.agreed += cell.agreed ?? 0;
    serverSays.disagreed += cell.disagreed ?? 0;
    // A miss after settings were erased has an author, although it is not known what differed.
    if (neither.has(cause) && author === null) continue;
    const key = JSON.stringify([cause, author]);
    const sum = sums.get(key) ?? { cause, author, requests: 0, lost: 0, removed: 0, pico: 0n, notPriced: 0 };
    sums.set(key, sum);
    sum.requests += requests;
    sum.lost += paid;
    sum.removed += cell.removed ?? 0;
    total.lost += paid;
    const usd = prices === null ? null : priceOfMiss(cell, { uncached, written }, prices).usd;
    if (usd === null) sum.notPriced += paid;
    else sum.pico += parseDollars(usd) ?? 0n;
  }
  const misses = [...sums.values()].toSorted(byCost);
  const isPriced = prices !== null && misses.some(({ lost, notPriced }) => notPriced < lost);
  return {
    requests: total.requests,
    tokens: { input: total.input, read: total.read, lost: total.lost },
    hitRate: total.input === 0 ? null : total.read / total.input,
    misses: misses.map(({ pico, ...row }) => ({ ...row, money: row.notPriced === 0 ? dollarText(pico) : null })),
    money: isPriced ? dollarText(misses.reduce((sum, { pico }) => sum + pico, 0n)) : null,
    ...{ serverSays, unknown },
  };
}

function byCost(left: Sum, right: Sum): number {
  if (left.pico !== right.pico) return left.pico < right.pico ? 1 : -1;
  return right.lost - left.lost || (left.cause < right.cause ? -1 : 1);
}
