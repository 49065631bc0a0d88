import type { ConversationId } from "../../domain/ids.ts";
import type { NamedCell } from "./prices/bill.ts";
import type { BillBy } from "./prices/bill-by.ts";
import { type BillView, cellsOf } from "./rows/bill.ts";
import type { BillCell } from "./rows/bill-cells.ts";

/** A conversation on a bill. */
export type Billed = { readonly id: ConversationId; readonly view: BillView; readonly isDamaged: boolean };

/** What a cost belongs to: the conversation that caused it, and the run there that did; null outside runs. */
type Cause = { readonly conversation: Billed; readonly run: string | null };

type NameOf = (cell: BillCell, cause: Cause) => string | null;

/** How a row is called, by what is listed. A further kind needs its name in `billKinds`. */
const nameOfRow: Readonly<Record<Exclude<BillBy, `label:${string}`>, NameOf>> = {
  conversation: (_, { conversation }) => conversation.id,
  model: ({ served, declared }) => served ?? declared,
  provider: ({ endpoint }) => endpoint,
  day: ({ day }) => day,
  run: (_, { run }) => run,
  layer: ({ author }) => author ?? null,
};

/** The cells of conversations, each with the name of its row. Costs of a subagent's conversation belong to the one that opened it. */
export function* namedCells(billed: readonly Billed[], by: BillBy, since: string | null): Iterable<NamedCell> {
  const all = new Map(billed.map((each) => [each.id, each]));
  const nameOf = namingBy(by);
  const firstDay = since?.slice(0, 10) ?? "";
  for (const each of billed) {
    const { opener, run } = openerOf(each, all);
    for (const cell of cellsOf(each.view))
      if (cell.day >= firstDay)
        yield { name: nameOf(cell, { conversation: opener, run: opener === each ? cell.run : run }), cell };
  }
}

function namingBy(by: BillBy): NameOf {
  if (!isLabel(by)) return nameOfRow[by];
  const label = by.slice("label:".length);
  return (_, { conversation: { view } }) => (Object.hasOwn(view.labels, label) ? (view.labels[label] ?? null) : null);
}

const isLabel = (by: BillBy): by is `label:${string}` => by.startsWith("label:");

/** The first conversation on the bill from which a chain of subagents leads to this one, and the run there that opened the first. */
function openerOf(
  billed: Billed,
  all: ReadonlyMap<string, Billed>,
): { readonly opener: Billed; readonly run: string | null } {
  if (billed.view.cause === null) return { opener: billed, run: null };
  let opener = billed;
  let run: string | null = null;
  const passed = new Set<Billed>();
  for (;;) {
    const { cause } = opener.view;
    const next = cause === null ? undefined : all.get(cause.conversation);
    // Only a forged log has a circle of causes.
    if (cause === null || next === undefined || passed.has(next)) return { opener, run };
    passed.add(opener);
    [opener, run] = [next, cause.runId];
  }
}
