import { dollarText, parseDollars } from "../../../base/dollars.ts";

/** What requests have in common whose tokens have the same prices, and are listed together. */
export type BillKey = {
  /** UTC. */
  readonly day: string;
  /** The provider and its address: the beginning of the scope. */
  readonly endpoint: string | null;
  /** The model of the settings, and the one that answered. */
  readonly declared: string | null;
  readonly served: string | null;
  readonly tier: string | null;
  /** The greatest of `inputSizes` that the input exceeds; null if its size is not known. */
  readonly size: number | null;
  /** Whether the provider told the money. */
  readonly isPaid: boolean;
  /** The run, if a bill by runs asks for it. */
  readonly run: string | null;
  /** In rows about the cache: why the requests read from it what they read, and who caused that; absent in those of bills. */
  readonly cause?: string;
  readonly author?: string;
  /** Of the first request of an endpoint, by itself: a `FirstRequest` as JSON. */
  readonly first?: string;
};

/** What these requests amount to. */
export type BillSums = {
  readonly requests: number;
  readonly bytes: number;
  readonly uncached: number;
  readonly read: number;
  /** By lifetime. */
  readonly written: Readonly<Record<string, number>>;
  readonly output: number;
  /** Part of the output. */
  readonly reasoning: number;
  /** The money that the provider told, in dollars, as decimal text. */
  readonly usd: string;
  /** Requests whose tokens were not, or not all, reported. */
  readonly untold: number;
  /** Answers whose usage contradicts itself: none of their tokens are counted. */
  readonly contradictory: number;
  /** The uncached input of servers that do not say what they read from a cache. */
  readonly unknownCache: number;
  /** About how many tokens the author of a change removed from prompts: part of no sum. */
  readonly removed?: number;
  /** Answers in which the provider says what of the prompt changed, and how many of these turnlog agrees or disagrees with. */
  readonly said?: number;
  readonly agreed?: number;
  readonly disagreed?: number;
};

export type BillCell = BillKey & BillSums;

/** Nothing asked, and nothing told. */
export const nothingBilled: BillSums = {
  ...{ requests: 0, bytes: 0, uncached: 0, read: 0, written: {}, output: 0, reasoning: 0 },
  ...{ usd: "0", untold: 0, contradictory: 0, unknownCache: 0 },
};

/** The cells with these sums added to the one with this key. */
export function addToCells(cells: readonly BillCell[], key: BillKey, sums: BillSums): readonly BillCell[] {
  const at = cells.findIndex((cell) => keyNames.every((name) => cell[name] === key[name]));
  const cell = { ...key, ...addSums(cells[at] ?? nothingBilled, sums) };
  return at < 0 ? cells.concat(cell) : cells.with(at, cell);
}

const keyNames = [
  "day",
  "endpoint",
  "declared",
  "served",
  "tier",
  "size",
  "isPaid",
  "run",
  "cause",
  "author",
  "first",
] as const;

/** The sums of a cell without its key; nothing was removed by an author who is not known. */
export const sumsOf = (cell: BillCell): BillSums => {
  const { requests, bytes, uncached, read, written, output, reasoning, usd, untold, contradictory, unknownCache } =
    cell;
  return { requests, bytes, uncached, read, written, output, reasoning, usd, untold, contradictory, unknownCache };
};

function addSums(left: BillSums, right: BillSums): BillSums {
  const written: Record<string, number> = { ...left.written };
  for (const [lifetime, tokens] of Object.entries(right.written)) written[lifetime] = (written[lifetime] ?? 0) + tokens;
  return {
    requests: left.requests + right.requests,
    bytes: left.bytes + right.bytes,
    uncached: left.uncached + right.uncached,
    read: left.read + right.read,
    written,
    output: left.output + right.output,
    reasoning: left.reasoning + right.reasoning,
    usd: addDollars(left.usd, right.usd),
    untold: left.untold + right.untold,
    contradictory: left.contradictory + right.contradictory,
    unknownCache: left.unknownCache + right.unknownCache,
    ...optionalSums(left, right),
  };
}

/** Most answers tell no money. */
const addDollars = (left: string, right: string): string =>
  right === "0" ? left : dollarText((parseDollars(left) ?? 0n) + (parseDollars(right) ?? 0n));

/** Absent where they would be 0, so that rows stay small. */
const optionalNames = ["removed", "said", "agreed", "disagreed"] as const;

function optionalSums(left: BillSums, right: BillSums): Pick<BillSums, (typeof optionalNames)[number]> {
  const sums: { -readonly [Name in (typeof optionalNames)[number]]?: number } = {};
  for (const name of optionalNames)
    if (left[name] !== undefined || right[name] !== undefined) sums[name] = (left[name] ?? 0) + (right[name] ?? 0);
  return sums;
}
