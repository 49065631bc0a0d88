import { counted, grouped } from "../../../base/counted.ts";
import { printable } from "../../../base/printable.ts";
import { culpritName } from "../../../replay/regression/culprit.ts";
import type { RegressionDocument } from "../../documents/regression.ts";

/** What changes, in one sentence. */
export function summaryWords(document: Omit<RegressionDocument, "allowance">): string {
  const { changed, added, ends, requests, conversations, differing, chains, caches, reasoning, first } = document;
  const what =
    changed + added + ends === 0
      ? `${grouped(document.compared)} of ${counted(requests, "request")} compared, and none changes`
      : `${grouped(changed)} of ${counted(requests, "request")} in ${grouped(differing)} of ${counted(conversations, "conversation")} change`;
  const parts = [
    what,
    ...(added === 0 ? [] : [`${counted(added, "request")} more ${added === 1 ? "is" : "are"} made`]),
    ...(ends === 0 ? [] : [`${counted(ends, "run")} ${ends === 1 ? "ends" : "end"} otherwise`]),
    ...(chains + caches === 0 ? [] : [`${counted(chains, "chain")} and ${counted(caches, "cache")} break`]),
    ...(document.money === null || changed === 0 ? [] : [costWords(document)]),
    ...(reasoning === 0 ? [] : [`${counted(reasoning, "reasoning block")} ${reasoning === 1 ? "is" : "are"} lost`]),
    ...(first === null ? [] : [`first culprit: ${culpritWords(first)}`]),
  ];
  return parts.join("; ");
}

/** `4.10 dollars more (about)` */
export function costWords({ money, unpriced }: Pick<RegressionDocument, "money" | "unpriced">): string {
  const amount = Number(money ?? "0");
  const words = `${Math.abs(amount).toFixed(2)} dollars ${amount < 0 ? "less" : "more"} (about)`;
  return unpriced === 0
    ? words
    : `${words}, without ${counted(unpriced, "request")} that ${unpriced === 1 ? "has" : "have"} no price`;
}

function culpritWords(culprit: NonNullable<RegressionDocument["first"]>): string {
  const name = printable(culpritName(culprit));
  const place = culprit.block === null ? name : `${name}, block ${culprit.block}`;
  return culprit.isConfirmed === false ? `${place} (unconfirmed)` : place;
}
