import { billRows } from "../../analysis/costs/prices/bill.ts";
import { cacheSum } from "../../analysis/costs/prices/cache-sum.ts";
import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import { answerCounts } from "../../analysis/costs/rows/answer-counts.ts";
import { answerMisses } from "../../analysis/costs/rows/answer-misses.ts";
import { type BillView, billOf } from "../../analysis/costs/rows/bill.ts";
import { addToCells, type BillCell } from "../../analysis/costs/rows/bill-cells.ts";
import type { Miss } from "../../analysis/costs/rows/misses.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { TokensOfRequest } from "./page-documents.ts";

/** What one answer adds to `turnlog bill` and `turnlog cache`, and why its request read from the cache what it read. */
export type AnswerCost = { readonly cells: readonly BillCell[]; readonly miss: Miss | null };

/** Follows one conversation with the fold of the bill, so that sums over its requests are the bill's, to the digit. */
export class CostReader {
  #miss: Miss | null = null;
  readonly #projection = billOf(answerCounts, {
    misses: {
      ...answerMisses,
      missOf: (request) => {
        this.#miss = answerMisses.missOf(request);
        return this.#miss;
      },
    },
  });
  #view: BillView;
  #all: readonly BillCell[] = [];

  constructor(stream: string) {
    this.#view = this.#projection.initial(stream);
  }

  /** Those of all answers so far. */
  get all(): readonly BillCell[] {
    return this.#all;
  }

  take(recorded: RecordedEvent): AnswerCost {
    this.#miss = null;
    this.#view.cells = [];
    this.#view = this.#projection.apply(this.#view, recorded);
    const { cells } = this.#view;
    for (const cell of cells) this.#all = addToCells(this.#all, cell, cell);
    return { cells, miss: this.#miss };
  }
}

/** The tokens of an answer; null if the provider reported none, or they contradict each other. */
export function tokensOf({ cells, miss }: AnswerCost): TokensOfRequest | null {
  const { input, read, written, output } = inputOf(cells);
  if (miss === null || input + output === 0) return null;
  return { input, output, written, read: miss.cause === "untold" ? null : read, again: miss.lost };
}

function inputOf(cells: readonly BillCell[]): Record<"input" | "read" | "written" | "output", number> {
  const sum = { input: 0, read: 0, written: 0, output: 0 };
  for (const { uncached, read, written: byLifetime, output } of cells) {
    const written = Object.values(byLifetime).reduce((all, tokens) => all + tokens, 0);
    sum.input += uncached + read + written;
    sum.read += read;
    sum.written += written;
    sum.output += output;
  }
  return sum;
}

/** What cells cost, and what their misses cost more than reading would have; in dollars, null without prices. */
export const moneyOf = (
  cells: readonly BillCell[],
  prices: PriceFile | null,
): { readonly total: string | null; readonly misses: string | null } => ({
  total: billRows(
    cells.map((cell) => ({ name: null, cell })),
    { by: "model", prices },
  ).total.money.total,
  misses: cacheSum(cells, prices).money,
});
