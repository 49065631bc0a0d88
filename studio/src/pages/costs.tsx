import { useSignal } from "@preact/signals";
import type { z } from "zod";
import type { billDocument } from "../../../src/documents/stores.ts";
import type { StoreDocument } from "../../../src/studio/page-documents.ts";
import { counted, grouped, money } from "../format.ts";
import { useCommands } from "../keys.ts";
import { changes } from "../live.ts";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { Shell } from "../parts/shell.tsx";
import { conversationPath, follow, route, setQuery } from "../route.ts";
import { useLoaded } from "../source.ts";

type Bill = z.infer<typeof billDocument>;
type BillRow = Bill["rows"][number];

const kinds = ["model", "conversation", "day", "provider", "run"] as const;
const mostRows = 60;

/** What conversations cost: the numbers of `turnlog bill`. */
export function Costs() {
  const { query } = route.value;
  const by = query.get("by") ?? "model";
  const since = query.get("since") ?? "";
  const wanted = (kind: string): string =>
    `/api/bill?by=${encodeURIComponent(kind)}${since === "" ? "" : `&since=${encodeURIComponent(since)}`}`;
  const store = useLoaded<StoreDocument>("/api/store");
  const { data, error, isSlow, isOld, retry } = useLoaded<Bill>(wanted(by), changes.value);
  const days = useLoaded<Bill>(wanted("day"), changes.value);
  const label = useSignal(by.startsWith("label:") ? by.slice(6) : "");
  useCommands([
    ...kinds.map((kind) => ({
      key: "",
      words: `Costs by ${kind}`,
      group: "Costs",
      run: () => setQuery({ by: kind === "model" ? null : kind }),
    })),
    {
      key: "y",
      words: "Copy as JSON",
      group: "Costs",
      run: () => void navigator.clipboard.writeText(JSON.stringify({ version: 1, data }, null, 2)),
    },
  ]);
  const command = `turnlog bill --by ${by}${since === "" ? "" : ` --since ${since}`}${store.data?.prices == null ? "" : ` --prices ${store.data.prices}`}`;
  return (
    <Shell
      title="Costs"
      foot={
        <>
          <span>
            the same numbers as <span class="mono">{command}</span>
          </span>
          <span class="right hint-more">
            <span>
              <kbd>y</kbd>copy as JSON
            </span>
          </span>
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <h1>Costs</h1>
          <span class="text-3">{since === "" ? "all time, UTC" : `since ${since}, UTC`}</span>
          <div class="right filters">
            <span class="text-3">by</span>
            {kinds.map((kind) => (
              <button
                key={kind}
                type="button"
                class={`ghost ${kind === "run" || kind === "provider" ? "optional" : ""}`}
                aria-pressed={by === kind}
                onClick={() => setQuery({ by: kind === "model" ? null : kind })}
              >
                {kind}
              </button>
            ))}
            <label class="ghost optional">
              label
              <input
                class="label-field mono"
                size={10}
                placeholder="name"
                aria-label="Name of a label"
                value={label.value}
                onInput={(event) => (label.value = event.currentTarget.value)}
                onChange={() => setQuery({ by: label.value === "" ? null : `label:${label.value}` })}
              />
            </label>
            <label class="ghost optional">
              since
              <input
                class="label-field mono"
                type="date"
                aria-label="Since"
                value={since}
                onChange={(event) => setQuery({ since: event.currentTarget.value })}
              />
            </label>
            <span class="code">
              {data?.prices == null
                ? ""
                : `${data.prices.file.split("/").at(-1) ?? ""} ${data.prices.sha256.slice(0, 4)}…${data.prices.sha256.slice(-2)}`}
            </span>
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a page that scrolls has to be reached by keyboard. */}
        <div class="list-scroll" tabIndex={0} role="region" aria-label="Costs" aria-busy={isOld}>
          {error !== null ? <Failure error={error} what="The bill cannot be made" retry={retry} /> : null}
          {data === null && error === null && isSlow ? <Skeleton rows={12} /> : null}
          {data === null ? null : (
            <>
              <Figures bill={data} days={days.data} />
              <Notes bill={data} hasPrices={store.data?.prices != null} />
              <Rows bill={data} by={data.by} />
            </>
          )}
        </div>
      </main>
    </Shell>
  );
}

function Figures({ bill: { total }, days }: { readonly bill: Bill; readonly days: Bill | null }) {
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

function Notes({
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

function Rows({ bill: { rows, rest, total }, by }: { readonly bill: Bill; readonly by: string }) {
  const hasMoney = total.money.total !== null;
  const weight = ({ money: { total: dollars }, tokens }: Omit<BillRow, "name">): number =>
    hasMoney ? Number(dollars ?? 0) : tokens.uncached + tokens.read + tokens.written + tokens.output;
  const sorted = [...rows].sort((left, right) =>
    by === "day" ? (left.name < right.name ? 1 : -1) : weight(right) - weight(left),
  );
  const whole = Math.max(weight(total), 1e-9);
  const most = Math.max(...sorted.map(weight), 1e-9);
  if (rows.length === 0 && rest.requests === 0)
    return (
      <div class="empty">
        <h2>No request was sent</h2>
        <p>What conversations cost appears here with their first request.</p>
      </div>
    );
  const hasRest = rest.requests > 0;
  return (
    <table class="table">
      <caption>
        Bill by {by}
        <span>{rows.length > mostRows ? `the ${mostRows} greatest of ${grouped(rows.length)}` : ""}</span>
      </caption>
      <thead>
        <tr>
          <th>{by.slice(0, 1).toUpperCase() + by.slice(1)}</th>
          <th class="num">Requests</th>
          <th class="num mid-only">Bytes sent</th>
          <th class="num mid-only">Uncached, tokens</th>
          <th class="num mid-only">Read</th>
          <th class="num mid-only">Written</th>
          <th class="num mid-only">Output</th>
          <th class="num">{hasMoney ? "Cost ↓" : "Tokens ↓"}</th>
          <th class="mid-only" aria-label="Share" />
          <th class="num">Of all</th>
        </tr>
      </thead>
      <tbody>
        {sorted.slice(0, mostRows).map((row) => (
          <CostRow
            key={row.name}
            name={row.name}
            by={by}
            cost={row}
            hasMoney={hasMoney}
            weight={weight(row)}
            share={weight(row) / whole}
            bar={weight(row) / most}
          />
        ))}
        {hasRest ? (
          <CostRow
            name={by === "run" ? "outside runs" : by.startsWith("label:") ? "without the label" : "unknown"}
            by=""
            cost={rest}
            hasMoney={hasMoney}
            weight={weight(rest)}
            share={weight(rest) / whole}
            bar={weight(rest) / most}
          />
        ) : null}
        <CostRow name="Total" by="" cost={total} hasMoney={hasMoney} weight={weight(total)} share={1} bar={0} isTotal />
      </tbody>
    </table>
  );
}

type CostRowProps = {
  readonly name: string;
  readonly by: string;
  readonly cost: Omit<BillRow, "name">;
  readonly hasMoney: boolean;
  readonly weight: number;
  readonly share: number;
  readonly bar: number;
  readonly isTotal?: boolean;
};

function CostRow({ name, by, cost, hasMoney, weight, share, bar, isTotal }: CostRowProps) {
  const {
    requests,
    bytes,
    tokens,
    money: { total },
  } = cost;
  const to = conversationPath(name);
  return (
    <tr class={isTotal === true ? "total" : ""}>
      <td class="cut">
        {by === "conversation" ? (
          <a href={to} onClick={(event) => follow(event, to)}>
            {name}
          </a>
        ) : (
          name
        )}
      </td>
      <CountCell of={requests} isAlways />
      <CountCell of={bytes} />
      <CountCell of={tokens.uncached} />
      <CountCell of={tokens.read} />
      <CountCell of={tokens.written} />
      <CountCell of={tokens.output} />
      <td class="num strong">
        {hasMoney ? (total === null ? "not priced" : money(total, isTotal === true)) : grouped(weight)}
      </td>
      <td class="mid-only">
        {isTotal === true ? null : <span class="share" style={{ width: `${Math.max(1, Math.round(bar * 140))}px` }} />}
      </td>
      <td class="num text-2">{(share * 100).toFixed(1)} %</td>
    </tr>
  );
}

const CountCell = ({ of, isAlways }: { readonly of: number; readonly isAlways?: boolean }) => (
  <td class={`num ${isAlways === true ? "" : "mid-only"} ${of === 0 ? "zero" : ""}`}>{grouped(of)}</td>
);
