import type { z } from "zod";
import type { billDocument } from "../../../src/documents/stores.ts";
import { counted, grouped, money } from "../format.ts";

type Bill = z.infer<typeof billDocument>;
type BillRow = Bill["rows"][number];

/** The sums, and the days as bars. */
export function Figures({ bill: { total }, days }: { readonly bill: Bill; readonly days: Bill | null }) {
  const { tokens, requests, untold, notPriced } = total;
  const input = tokens.uncached + tokens.read + tokens.written;
  const unpriced = notPriced.reduce((sum, each) => sum + each.tokens, 0);
  return (
    <div class="costs-figures">
      <dl class="figure">
        <dt>Spent</dt>
        <dd>{total.money.total === null ? "not priced" : money(total.money.total, true)}</dd>
        <dd>{counted(requests, "request")}</dd>
      </dl>
      <dl class="figure">
        <dt>Read from cache</dt>
        <dd>{input === 0 ? "0 %" : `${((tokens.read / input) * 100).toFixed(1)} %`}</dd>
        <dd>of {grouped(input)} input tokens</dd>
      </dl>
      <dl class="figure">
        <dt>Output</dt>
        <dd>{grouped(tokens.output)}</dd>
        <dd>tokens, {grouped(tokens.reasoning)} of them reasoning</dd>
      </dl>
      <dl class="figure">
        <dt>Not priced</dt>
        <dd>{grouped(unpriced)}</dd>
        <dd>tokens; {counted(untold.requests, "answer")} told no usage</dd>
      </dl>
      {days === null ? <div /> : <Days days={days} />}
    </div>
  );
}

const barHeight = 62;

/** Days as bars: money, or tokens where nothing is priced. */
function Days({ days: { rows } }: { readonly days: Bill }) {
  const shown = [...rows].sort((left, right) => (left.name < right.name ? -1 : 1)).slice(-8);
  const isMoney = shown.some(({ money: { total } }) => total !== null);
  const amountOf = ({ money: { total }, tokens }: BillRow): number =>
    isMoney ? Number(total ?? 0) : tokens.uncached + tokens.read + tokens.written + tokens.output;
  const most = Math.max(...shown.map(amountOf), 1e-9);
  return (
    <div
      class="days"
      role="img"
      aria-label={`By day: ${shown.map((row) => `${row.name} ${isMoney ? money(row.money.total) : counted(amountOf(row), "token")}`).join(", ")}`}
    >
      {shown.map((row) => (
        <div key={row.name} class="day">
          {isMoney ? amountOf(row).toFixed(2) : shortCount(amountOf(row))}
          <i style={{ height: `${Math.max(1, Math.round((amountOf(row) / most) * barHeight))}px` }} />
          {row.name.slice(5)}
        </div>
      ))}
      <span class="small text-3">{isMoney ? "dollars a day" : "tokens a day"}</span>
    </div>
  );
}

const shortCount = (count: number): string =>
  count < 1_000
    ? String(count)
    : count < 1_000_000
      ? `${(count / 1_000).toFixed(1)} k`
      : `${(count / 1_000_000).toFixed(1)} M`;

/** What the sums lack. */
export function Notes({
  bill: { total, damaged, skipped, erased },
  hasPrices,
}: {
  readonly bill: Bill;
  readonly hasPrices: boolean;
}) {
  const notes = [
    ...(!hasPrices && total.money.told === null && total.requests > 0
      ? ["Start with --prices FILE to see money: LiteLLM’s price file, or models.dev’s."]
      : []),
    ...(total.untold.contradictory > 0
      ? [`${counted(total.untold.contradictory, "answer")} not counted: the usage contradicts itself.`]
      : []),
    ...(total.untold.cache > 0
      ? [`${counted(total.untold.cache, "token")} of servers that do not tell their cache count as uncached.`]
      : []),
    ...(damaged > 0 ? [`${counted(damaged, "conversation")} damaged: their sums may lack some.`] : []),
    ...(skipped > 0 ? [`${counted(skipped, "conversation")} with skipped events.`] : []),
    ...(erased !== null && erased > 0
      ? [`${counted(erased, "conversation")} erased: what they cost is not known.`]
      : []),
  ];
  if (notes.length === 0) return null;
  return (
    <div class="banner">
      <span />
      <div>
        {notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
      </div>
    </div>
  );
}
