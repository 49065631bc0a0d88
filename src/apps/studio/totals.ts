import { cacheSum } from "../../analysis/costs/prices/cache-sum.ts";
import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import type { Totals } from "./page-documents.ts";
import type { Reel } from "./reel.ts";
import { moneyOf } from "./request-costs.ts";
import { msOf } from "./step.ts";

/** What all requests come to: bytes as `turnlog ls` estimates them, tokens and money as `turnlog cache` and `turnlog bill` add them up. */
export function totalsOf({ steps, costs }: Reel, prices: PriceFile | null): Totals {
  const { requests, tokens, money: missMoney } = cacheSum(costs.all, prices);
  const sum = { chained: 0, bytes: 0, heldBytes: 0, ms: 0, mostBytes: 0, mostTokens: 0 };
  for (const step of steps) {
    sum.chained += step.verdict === "chained" ? 1 : 0;
    sum.bytes += step.data.requestBytes;
    sum.heldBytes += step.heldBytes;
    sum.ms += msOf(step) ?? 0;
    sum.mostBytes = Math.max(sum.mostBytes, step.data.requestBytes + step.heldBytes);
    sum.mostTokens = Math.max(sum.mostTokens, step.outcome?.tokens?.input ?? 0);
  }
  const written = costs.all.flatMap((cell) => Object.values(cell.written)).reduce((all, each) => all + each, 0);
  return {
    untold: costs.all.reduce((all, { untold }) => all + untold, 0),
    ...{ ...sum, written, missMoney, cache: { requests, ...tokens } },
    money: prices === null ? null : moneyOf(costs.all, prices).total,
  };
}
