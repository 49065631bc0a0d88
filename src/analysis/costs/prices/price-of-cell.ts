import type { Picodollars } from "../../../base/dollars.ts";
import type { BillCell } from "../rows/bill-cells.ts";
import { inputSizes } from "../rows/input-sizes.ts";
import type { PriceClass, PriceEntry, PriceSheet } from "./price-entry.ts";
import type { PriceFile } from "./price-file.ts";

/** Tokens without a price, and why: the file lacks the model, has it several times, or has no price for the class. */
export type Unpriced = {
  readonly class: PriceClass;
  readonly tokens: number;
  readonly why: "no-prices" | "no-entry" | "ambiguous" | "no-price";
};

/** What the price file says of the tokens of some requests. */
export type CellPrice = {
  readonly amount: Picodollars;
  /** Whether anything in it has a price. */
  readonly isPriced: boolean;
  readonly unpriced: readonly Unpriced[];
  readonly entry: PriceEntry | null;
};

/** The price of the tokens of a cell; with no file, nothing has one. */
export function priceOfCell(cell: BillCell, prices: PriceFile | null): CellPrice {
  const found = prices === null ? ("no-prices" as const) : (prices.entryFor(cell) ?? ("no-entry" as const));
  if (typeof found === "string") {
    const unpriced = tokensOf(cell, { hasReasoning: false }).map((each) => ({ ...each, why: found }));
    return { amount: 0n, isPriced: false, unpriced, entry: null };
  }
  const rates = ratesFor(found, cell);
  let amount = 0n;
  const unpriced: Unpriced[] = [];
  const all = tokensOf(cell, { hasReasoning: rates?.has("reasoning") === true });
  for (const { class: each, tokens } of all) {
    const rate = rates?.get(each);
    if (rate === undefined) unpriced.push({ class: each, tokens, why: "no-price" });
    else amount += rate * BigInt(tokens);
  }
  return { amount, isPriced: unpriced.length < all.length, unpriced, entry: found };
}

/** Every token once: reasoning is a part of the output unless it has a price of its own. */
function tokensOf(
  { uncached, read, written, output, reasoning }: BillCell,
  { hasReasoning }: { readonly hasReasoning: boolean },
): readonly Omit<Unpriced, "why">[] {
  const all: readonly Omit<Unpriced, "why">[] = [
    { class: "uncached", tokens: uncached },
    { class: "read", tokens: read },
    ...Object.entries(written).map(([lifetime, tokens]) => ({ class: `written ${lifetime}` as const, tokens })),
    { class: "output", tokens: hasReasoning ? output - reasoning : output },
    ...(hasReasoning ? [{ class: "reasoning" as const, tokens: reasoning }] : []),
  ];
  return all.filter(({ tokens }) => tokens > 0);
}

/** The sheet with the highest limit that all requests of the cell exceed; null if that cannot be told, or the tier has no prices. */
function ratesFor({ sheets }: PriceEntry, { tier, size }: BillCell): PriceSheet["rates"] | null {
  const ofTier = sheets.filter((sheet) => sheet.tier === tierNamed(tier));
  const limits = ofTier.map(({ above }) => above);
  if (!limits.every((limit) => limit === 0 || isTold(limit, size))) return null;
  const least = Math.max(...limits.filter((limit) => limit <= (size ?? 0)));
  return ofTier.find(({ above }) => above === least)?.rates ?? null;
}

/** Whether the requests of a size are all above a limit, or all not above it. */
function isTold(limit: number, size: number | null): boolean {
  if (size === null) return false;
  const next = inputSizes.find((each) => each > size) ?? Number.POSITIVE_INFINITY;
  return limit <= size || limit >= next;
}

/** The tier as price files name it. */
function tierNamed(tier: string | null): string | null {
  const name = (tier ?? "").toLowerCase().replace(/^on_demand_?/, "");
  return standard.has(name) ? null : name;
}

const standard: ReadonlySet<string> = new Set(["", "standard", "default", "auto"]);
