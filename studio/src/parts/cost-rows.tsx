import type { z } from "zod";
import type { billDocument } from "../../../src/apps/documents/stores.ts";
import { grouped, money } from "../format.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { AuthorName } from "./author-name.tsx";

type Bill = z.infer<typeof billDocument>;
type BillRow = Bill["rows"][number];

const mostRows = 60;

/** The bill, the greatest first. */
export function Rows({ bill: { rows, rest, total }, by }: { readonly bill: Bill; readonly by: string }) {
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
        <span>
          {by === "layer"
            ? "tokens that were paid again belong to who changed the prompt"
            : rows.length > mostRows
              ? `the ${mostRows} greatest of ${grouped(rows.length)}`
              : ""}
        </span>
      </caption>
      <thead>
        <tr>
          <th>{by.slice(0, 1).toUpperCase() + by.slice(1)}</th>
          <th class="num">Requests</th>
          <th class="num mid-only wide-only">Bytes sent</th>
          <th class="num mid-only">Uncached, tokens</th>
          <th class="num mid-only">Read</th>
          <th class="num mid-only">Written</th>
          <th class="num mid-only">Output</th>
          <th class="num">{hasMoney ? "Cost ↓" : "Tokens ↓"}</th>
          <th class="mid-only wide-only">
            <span class="sr">Share</span>
          </th>
          <th class="num mid-only">Of all</th>
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
            name={restNames[by] ?? (by.startsWith("label:") ? "without the label" : "unknown")}
            by=""
            cost={rest}
            hasMoney={hasMoney}
            weight={weight(rest)}
            share={weight(rest) / whole}
            bar={0}
          />
        ) : null}
        <CostRow name="Total" by="" cost={total} hasMoney={hasMoney} weight={weight(total)} share={1} bar={0} isTotal />
      </tbody>
    </table>
  );
}

const restNames: Readonly<Record<string, string>> = { run: "outside runs", layer: "not paid again" };

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
          <a href={hrefOf(to)} onClick={(event) => follow(event, to)}>
            {name}
          </a>
        ) : by === "layer" ? (
          <AuthorName author={name} />
        ) : (
          name
        )}
      </td>
      <CountCell of={requests} isAlways />
      <CountCell of={bytes} isWide />
      <CountCell of={tokens.uncached} />
      <CountCell of={tokens.read} />
      <CountCell of={tokens.written} />
      <CountCell of={tokens.output} />
      <td class="num strong">
        {hasMoney ? (total === null ? "not priced" : money(total, isTotal === true)) : grouped(weight)}
      </td>
      <td class="mid-only wide-only">
        {bar === 0 ? null : <span class="share" style={{ width: `${Math.max(1, Math.round(bar * 140))}px` }} />}
      </td>
      <td class="num text-2 mid-only">{(share * 100).toFixed(1)} %</td>
    </tr>
  );
}

type CountCellProps = { readonly of: number; readonly isAlways?: boolean; readonly isWide?: boolean };

const CountCell = ({ of, isAlways, isWide }: CountCellProps) => (
  <td
    class={`num ${isAlways === true ? "" : "mid-only"} ${isWide === true ? "wide-only" : ""} ${of === 0 ? "zero" : ""}`}
  >
    {grouped(of)}
  </td>
);
