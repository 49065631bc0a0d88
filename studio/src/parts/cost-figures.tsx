import type { z } from "zod";
import type { cacheDocument } from "../../../src/apps/documents/caching.ts";
import type { billDocument } from "../../../src/apps/documents/stores.ts";
import type { MissesDocument } from "../../../src/apps/studio/misses-document.ts";
import { counted, grouped, money } from "../format.ts";

type Bill = z.infer<typeof billDocument>;
type Caches = z.infer<typeof cacheDocument>;
type BillRow = Bill["rows"][number];

type FiguresProps = {
  readonly bill: Bill;
  readonly days: Bill | null;
  readonly caches: Caches | null;
  readonly misses: MissesDocument | null;
};

/** The sums, and the days as bars. */
export function Figures({ bill: { total }, days, caches, misses }: FiguresProps) {
  const { tokens, requests, untold, notPriced } = total;
  const unpriced = notPriced.reduce((sum, each) => sum + each.tokens, 0);
  return (
    <div class="costs-figures">
      <dl class="figure">
        <dt>Spent</dt>
        <dd>{total.money.total === null ? "not priced" : money(total.money.total, true)}</dd>
        <dd>{counted(requests, "request")}</dd>
      </dl>
      <dl class="figure">
        <dt>{caches?.prices == null ? "Paid again" : "Cost of misses"}</dt>
        <dd class={caches !== null && caches.tokens.lost > 0 ? "warn" : ""}>
          {caches === null
            ? ""
            : caches.money === null && (caches.prices === null || caches.tokens.lost > 0)
              ? counted(caches.tokens.lost, "token")
              : money(caches.money ?? "0", true)}
        </dd>
        <dd>{caches === null ? "" : missWords(caches, total.money.total)}</dd>
      </dl>
      <dl class="figure">
        <dt>Read from cache</dt>
        <dd>
          {caches === null ? "" : caches.hitRate === null ? "not told" : `${(caches.hitRate * 100).toFixed(1)} %`}
        </dd>
        <dd>{caches === null ? "" : `of ${counted(caches.tokens.input, "input token")}`}</dd>
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
      {days === null ? <div /> : <Days days={days} misses={misses} />}
    </div>
  );
}

/** `34 % of all, 360 misses` */
function missWords({ misses, money: cost }: Caches, total: string | null): string {
  const missed = misses.reduce((sum, { requests }) => sum + requests, 0);
  const words = counted(missed, "miss").replace("misss", "misses");
  if (cost === null || total === null || Number(total) === 0) return words;
  return `${Math.round((Number(cost) / Number(total)) * 100)} % of all, ${words}`;
}

const barHeight = 62;

/** Days as bars: money, or tokens where nothing is priced; what misses cost is the upper part. */
function Days({ days: { rows }, misses }: { readonly days: Bill; readonly misses: MissesDocument | null }) {
  const shown = [...rows].sort((left, right) => (left.name < right.name ? -1 : 1)).slice(-8);
  const isMoney = shown.some(({ money: { total } }) => total !== null);
  const amountOf = ({ money: { total }, tokens }: BillRow): number =>
    isMoney ? Number(total ?? 0) : tokens.uncached + tokens.read + tokens.written + tokens.output;
  const most = Math.max(...shown.map(amountOf), 1e-9);
  const heightOf = (amount: number): number => Math.round((amount / most) * barHeight);
  const missedOn = (name: string): number => {
    const day = misses?.days.find((each) => each.day === name);
    return day === undefined ? 0 : isMoney ? Number(day.money ?? 0) : day.lost;
  };
  if (shown.length === 0) return <div />;
  return (
    <div
      class="days"
      role="img"
      aria-label={`By day: ${shown.map((row) => `${row.name} ${isMoney ? money(row.money.total) : counted(amountOf(row), "token")}, misses ${isMoney ? money(String(missedOn(row.name))) : counted(missedOn(row.name), "token")}`).join(", ")}`}
    >
      {shown.map((row) => (
        <div key={row.name} class="day">
          {isMoney ? amountOf(row).toFixed(2) : shortCount(amountOf(row))}
          <i class="missed" style={{ height: `${heightOf(missedOn(row.name))}px` }} />
          <i style={{ height: `${Math.max(1, heightOf(amountOf(row)) - heightOf(missedOn(row.name)))}px` }} />
          {row.name.slice(5)}
        </div>
      ))}
      <span class="days-legend">
        <span>
          <i class="missed" /> misses
        </span>
        <span>
          <i /> the rest
        </span>
        <span>{isMoney ? "dollars a day" : "tokens a day"}</span>
      </span>
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
    ...(total.untold.misses > 0
      ? [
          `${counted(total.untold.misses, "request")} of an older turnlog: turnlog projections rebuild cache looks at what they missed.`,
        ]
      : []),
    ...(damaged > 0 ? [`${counted(damaged, "conversation")} damaged: their sums may lack some.`] : []),
    ...(skipped > 0 ? [`${counted(skipped, "conversation")} with skipped events.`] : []),
    ...(erased !== null && erased > 0
      ? [`${counted(erased, "conversation")} erased: what they cost is not known.`]
      : []),
  ];
  if (notes.length === 0) return null;
  return (
    <div class="notes">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </div>
  );
}
