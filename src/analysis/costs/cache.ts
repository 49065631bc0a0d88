import { anything, kindOf, optionsOf } from "../../base/options.ts";
import { checkedConversationId } from "../../domain/ids.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { timeOf } from "../lists/since.ts";
import { countReads, inDetail, readBilled } from "./billed-rows.ts";
import { type CacheSum, cacheSum } from "./prices/cache-sum.ts";
import { type PriceOptions, priceOptions, pricesOf } from "./prices.ts";
import { answerMisses } from "./rows/answer-misses.ts";
import { cellsOf } from "./rows/bill.ts";
import { type BillCell, sumsOf } from "./rows/bill-cells.ts";
import { firstMiss } from "./rows/first-misses.ts";
import { type FirstRequest, missed } from "./rows/misses.ts";
import { joinUses, type PrefixUse } from "./rows/prefix-uses.ts";
import { caching } from "./rows/rows.ts";

/** Whose prompt caches to look at. */
export type CacheOptions = PriceOptions & {
  /** The conversations, with those of their subagents; by default all of the store. */
  readonly conversations?: readonly string[];
  /** Only requests from this time on: a `Date`, or ISO text. */
  readonly since?: Date | string;
  /** Called with the number of events read so far, while rows read events that they have not seen. */
  readonly onProgress?: (events: number) => void;
};

const cacheOptions = optionsOf<CacheOptions>({
  conversations(what, given) {
    if (Array.isArray(given)) return given.map(checkedConversationId);
    throw new TypeError(`${what} is ${kindOf(given)}: give a list of ids`);
  },
  ...{ since: anything, onProgress: anything, ...priceOptions },
});

/** What prompt caches saved, what their misses cost, and who caused them. */
export type CacheReport = CacheSum & {
  /** From when on requests count, as ISO text; null for all of them. */
  readonly since: string | null;
  readonly prices: { readonly file: string; readonly sha256: string; readonly format: "litellm" | "models.dev" } | null;
  /** How many conversations have events that an operator skipped, were erased, or have events that cannot be read. */
  readonly skipped: number;
  readonly erased: number | null;
  readonly damaged: number;
};

/** Adds up hits and misses of prompt caches. */
export async function reportCaches(events: EventStore, options: CacheOptions): Promise<CacheReport> {
  cacheOptions.check("cache", options);
  const { conversations, since: from } = options;
  const since = from === undefined ? null : timeOf("cache", from);
  const prices = await pricesOf("cache", options);
  const wanted = conversations === undefined ? null : [...new Set(conversations.map(checkedConversationId))];
  const reads = countReads(options.onProgress);
  const { billed, erased } = await readBilled(events, wanted, { projection: caching, onProgress: reads.onProgress });
  // Of named conversations, the others are not asked for.
  const lastUse = joinUses(wanted === null ? billed.map(({ id, view }) => ({ of: id, uses: view.uses })) : []);
  const cells: BillCell[] = [];
  for (const each of billed) {
    const { view } = await inDetail(events, each, { runs: false, since, misses: answerMisses, onEvent: reads.onEvent });
    for (const cell of cellsOf(view))
      if (cell.day >= (since?.slice(0, 10) ?? "")) cells.push(...withOthers(cell, lastUse));
  }
  return {
    since,
    prices: prices && { file: prices.file, sha256: prices.sha256, format: prices.format },
    ...cacheSum(cells, prices),
    skipped: billed.filter(({ view }) => view.skipped > 0).length,
    erased,
    damaged: billed.filter(({ isDamaged }) => isDamaged).length,
  };
}

/** The cells of a cell: that of the first request of an endpoint is judged again by what other conversations used before. */
function withOthers(cell: BillCell, lastUse: (key: string, before: number) => PrefixUse | null): readonly BillCell[] {
  if (cell.first === undefined) return [cell];
  // A row writes it from a value of this type.
  const first = JSON.parse(cell.first) as FirstRequest;
  const use = lastUse(first.key, Date.parse(first.at));
  const miss = use === null ? null : firstMiss(cell, first, use);
  if (miss === null) return [cell];
  const { day, endpoint, declared, served, tier, size, isPaid, run } = cell;
  const key = { day, endpoint, declared, served, tier, size, isPaid, run };
  return missed(key, sumsOf(cell), miss).map((each) => ({ ...each.key, ...each.sums }));
}
