import { anything, kindOf, meant, optionsOf } from "../../base/options.ts";
import { checkedConversationId } from "../../domain/ids.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { timeOf } from "../lists/since.ts";
import { type Billed, namedCells } from "./bill-names.ts";
import { countReads, inDetail, readBilled } from "./billed-rows.ts";
import { type Bill, billRows } from "./prices/bill.ts";
import { type BillBy, billKinds, isBillBy } from "./prices/bill-by.ts";
import { type PriceOptions, priceOptions, pricesOf } from "./prices.ts";
import { answerMisses } from "./rows/answer-misses.ts";
import { billing, caching } from "./rows/rows.ts";

/** Whose costs to add up, and how to list them. */
export type BillOptions = PriceOptions & {
  /** The conversations, with those of their subagents; by default all of the store. */
  readonly conversations?: readonly string[];
  /** By default `model`. */
  readonly by?: BillBy;
  /** Only requests from this time on: a `Date`, or ISO text. */
  readonly since?: Date | string;
  /** Called with the number of events read so far, while the bill reads events that it has not seen, or whose runs or times its rows do not tell apart. */
  readonly onProgress?: (events: number) => void;
};

const billOptions = optionsOf<BillOptions>({
  conversations(what, given) {
    if (Array.isArray(given)) return given.map(checkedConversationId);
    throw new TypeError(`${what} is ${kindOf(given)}: give a list of ids`);
  },
  by(what, given) {
    const text = typeof given === "string" ? given : "";
    if (isBillBy(text)) return text;
    const named = typeof given === "string" ? `'${given}'` : kindOf(given);
    throw new TypeError(`${what} is ${named}: ${meant(text, [...billKinds, "label:NAME"])}`);
  },
  ...{ since: anything, onProgress: anything, ...priceOptions },
});

/** Adds up what conversations cost. */
export async function billConversations(events: EventStore, options: BillOptions): Promise<Bill> {
  billOptions.check("bill", options);
  const { conversations, by = "model", since: from } = options;
  const since = from === undefined ? null : timeOf("bill", from);
  const prices = await pricesOf("bill", options);
  const wanted = conversations === undefined ? null : [...new Set(conversations.map(checkedConversationId))];
  const [projection, detail] = by === "layer" ? [caching, { misses: answerMisses }] : [billing, {}];
  const reads = countReads(options.onProgress);
  const { billed, erased } = await readBilled(events, wanted, { projection, onProgress: reads.onProgress });
  const detailed: Billed[] = [];
  // Most bills need only the rows, and a promise for each of thousands has its price.
  const areEnough = by !== "run" && since === null;
  for (const each of areEnough ? [] : billed)
    detailed.push(await inDetail(events, each, { ...detail, runs: by === "run", since, onEvent: reads.onEvent }));
  return {
    ...{ by, since },
    ...billRows(namedCells(areEnough ? billed : detailed, by, since), { by, prices }),
    skipped: billed.filter(({ view }) => view.skipped > 0).length,
    erased,
    damaged: billed.filter(({ isDamaged }) => isDamaged).length,
  };
}
