import type * as z from "zod";
import type { BillBy } from "../../../analysis/costs/prices/bill-by.ts";
import { notLookedAtWords } from "../../../analysis/descriptions/describe-cache.ts";
import { counted, grouped } from "../../../base/counted.ts";
import { excerpt } from "../../../base/printable.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { billDocument } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { findConversation } from "../find.ts";
import { checkedPrices, notPricedWords } from "../price-files.ts";
import { catchUpAfterMs } from "../progress.ts";
import type { Cell } from "../screen.ts";

type Options = {
  readonly by: BillBy;
  readonly since?: string;
  readonly prices?: string;
  readonly priceAs?: Readonly<Record<string, string>>;
};

type Document = z.infer<typeof billDocument>;
type Cost = Omit<Document["rows"][number], "name" | "removed">;

/** What conversations cost: requests, tokens by price class, and money. */
export const bill = commandCode({
  document: billDocument,

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const { by, since } = options;
    const { prices, priceAs } = checkedPrices(context.settings.prices(options));
    await using store = await context.openStore("read");
    const conversations = await namedIn(store, names);
    yield await context.progress(
      "events read",
      (onProgress) =>
        store.bill({
          ...{ by, onProgress },
          ...(conversations === null ? {} : { conversations }),
          ...(since === undefined ? {} : { since }),
          ...(prices === undefined ? {} : { prices }),
          ...(priceAs === undefined ? {} : { priceAs }),
        }),
      catchUpAfterMs,
    );
  },

  render(document, { style, table, note }) {
    const { rows, rest, total, prices, by, skipped, erased, damaged } = document;
    const hasMoney = total.money.total !== null;
    const listed = rows.map((row) => costCells(row.name, row, hasMoney));
    if (rest.requests > 0 || weightOf(rest) > 0) listed.push(costCells(restWords(by), rest, hasMoney));
    if (listed.length === 0) note("no request was sent");
    else
      table([
        headings(by, hasMoney).map((text) => ({ text, style: style.dim })),
        ...listed,
        costCells("total", total, hasMoney).map((cell) => ({ text: textOf(cell), style: style.bold })),
      ]);
    if (prices !== null) note(`prices: ${prices.file} (${prices.format}, sha256 ${prices.sha256.slice(0, 12)})`);
    for (const line of notes(document)) note(line);
    if (damaged > 0) note(`${counted(damaged, "conversation")} damaged: their sums may lack some; \`turnlog verify\``);
    if (skipped > 0) note(`${counted(skipped, "conversation")} with skipped events`);
    if (erased !== null && erased > 0) note(`${counted(erased, "conversation")} erased: what they cost is not known`);
  },
});

/** The ids of the named conversations; null for all. */
async function namedIn(store: TurnlogStore, names: readonly string[]): Promise<readonly string[] | null> {
  if (names.length === 0) return null;
  const ids: string[] = [];
  for (const name of names) ids.push((await findConversation(store, name)).id);
  return ids;
}

const headings = (by: string, hasMoney: boolean): readonly string[] => [
  ...[by, "requests", "uncached", "read", "written", "output"],
  ...(hasMoney ? ["money"] : []),
];

function costCells(name: string, { requests, tokens, money }: Cost, hasMoney: boolean): readonly Cell[] {
  const { uncached, read, written, output } = tokens;
  return [
    excerpt(name, 60),
    ...[requests, uncached, read, written, output].map(grouped),
    ...(hasMoney ? [moneyWords(money.total)] : []),
  ];
}

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);

const moneyWords = (amount: string | null): string => (amount === null ? "not priced" : `$${amount}`);

const weightOf = ({ tokens: { uncached, read, written, output } }: Cost): number => uncached + read + written + output;

function restWords(by: string): string {
  if (by === "run") return "(outside runs)";
  if (by === "layer") return "(not paid again)";
  return by.startsWith("label:") ? "(without the label)" : "(unknown)";
}

/** What is not known, and what has no price. */
function notes({ by, total, prices }: Document): readonly string[] {
  const { untold, notPriced, money } = total;
  const { requests, contradictory, cache, misses } = untold;
  const isAsked = prices !== null || money.told !== null;
  return [
    ...(requests > 0 ? [`${counted(requests, "request")} whose tokens the provider did not report`] : []),
    ...(contradictory > 0 ? [`${counted(contradictory, "answer")} not counted: the usage contradicts itself`] : []),
    ...(cache > 0 ? [`${counted(cache, "token")} of servers that do not report their cache count as uncached`] : []),
    ...(by === "layer" && misses > 0 ? [notLookedAtWords(misses)] : []),
    ...(isAsked ? notPriced.map(unpricedWords) : []),
    ...(money.told !== null && money.priced !== null
      ? [`the providers' own figures, $${money.told}, are used where they gave one`]
      : []),
  ];
}

function unpricedWords({ model, tier, class: each, tokens, why }: Cost["notPriced"][number]): string {
  const of = model === null ? "an unknown model" : excerpt(model, 60);
  const at = tier === null ? "" : ` at tier ${excerpt(tier, 40)}`;
  return `not priced: ${counted(tokens, "token")} ${each} of ${of}${at}: ${notPricedWords[why]}`;
}
