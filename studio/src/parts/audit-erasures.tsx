import type { AuditDocument } from "../../../src/apps/studio/audit-documents.ts";
import { dateAndTime } from "../format.ts";

/** What was erased, when, by whom and why. */
export function Erasures({ orders }: Pick<AuditDocument, "orders">) {
  if (orders.length === 0) return <p class="costs-none">Nothing was erased from this store.</p>;
  return (
    <table class="table">
      <caption>
        Erasures <span>who ordered them, and why: codes, which stay in the log</span>
      </caption>
      <thead>
        <tr>
          <th>When</th>
          <th>By</th>
          <th>Ground</th>
          <th class="mid-only">Ticket</th>
          <th>State</th>
          <th class="mid-only">Order</th>
          <th class="mid-only">Conversations</th>
        </tr>
      </thead>
      <tbody>
        {orders.map(({ orderId, at, by, ground, ticket, conversations, state }) => (
          <tr key={orderId}>
            <td>{dateAndTime(at)}</td>
            <td>{by}</td>
            <td>{ground}</td>
            <td class="mid-only">{ticket ?? ""}</td>
            <td class={state === "finished" || state === "refused" ? "text-2" : "warn"}>{words[state]}</td>
            <td class="code mid-only cut">{orderId}</td>
            <td class="mono mid-only cut" title={conversations.join(", ")}>
              {conversations.join(", ")}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const words = {
  finished: "finished",
  "left-over": "something is left over",
  unfinished: "unfinished: continue it with turnlog erase --resume",
  refused: "refused: nothing was erased",
} as const;
