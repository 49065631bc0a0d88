import { age, grouped, money, percent, roundBytes } from "../format.ts";
import { heads } from "../live.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import type { Cost } from "./conversation-extras.ts";
import type { Listed } from "./conversation-list.ts";
import { ClockIcon, WarnIcon } from "./icons.tsx";

/** A conversation of the list. */
export function Row({
  row,
  isSelected,
  chain,
  cost,
}: {
  readonly row: Listed;
  readonly isSelected: boolean;
  readonly chain: string | null;
  readonly cost: Cost | null;
}) {
  const { id, title, begins, events, requests, bytesSent, bytesSaved, lastAt, parent, origin } = row;
  const to = conversationPath(id);
  const read = cost === null ? null : cost.tokens.read;
  const input = cost === null ? 0 : cost.tokens.read + cost.tokens.uncached + cost.tokens.written;
  return (
    <a
      class="conversation-row"
      href={hrefOf(to)}
      aria-selected={undefined}
      data-selected={isSelected}
      aria-current={isSelected ? "true" : undefined}
      onClick={(event) => follow(event, to)}
    >
      <span class="conversation-title">
        <span class="title">{title ?? begins ?? id}</span>
        <Status row={row} />
        <span class="begins cut text-3">
          {[
            ...(parent === null ? [] : [`${origin === "fork" ? "Fork" : "Child"} of ${shortened(parent)}`]),
            ...(title === null || begins === null ? [] : [begins]),
          ].join(" · ")}
        </span>
      </span>
      <span class="num mid-only">{grouped(events)}</span>
      <span class={`num mid-only ${requests === 0 ? "zero" : ""}`}>{grouped(requests)}</span>
      <span class="chain-cells" role="img" aria-label={chainWords(row)}>
        {Array.from(chain ?? "").map((letter, index) => (
          <i key={index} class={letter} />
        ))}
      </span>
      <span class={`num mid-only ${bytesSent === 0 ? "zero" : ""}`}>{roundBytes(bytesSent)}</span>
      <span class="mid-only text-3">{bytesSent === 0 ? "" : `of ${roundBytes(bytesSent + bytesSaved)}`}</span>
      <span class="num wide-only mid-only">
        {read === null || input === 0 ? (
          <span class="zero">{cost === null ? "" : "not told"}</span>
        ) : (
          percent(read, input)
        )}
      </span>
      <span class="num wide-only mid-only">
        {cost === null ? (
          ""
        ) : cost.money.total === null ? (
          <span class="zero">not priced</span>
        ) : cost.untold.requests > 0 && cost.untold.requests === cost.requests ? (
          <span class="zero">not told</span>
        ) : (
          money(cost.money.total)
        )}
      </span>
      <span class="num text-2">{age(lastAt)}</span>
    </a>
  );
}

/** The beginning of an id, long enough to tell it from others. */
const shortened = (id: string): string => (id.length > 17 ? `${id.slice(0, 16)}…` : id);

const chainWords = ({ chained, rebased, full, requests }: Listed): string =>
  requests === 0 ? "no requests" : `${chained} chained, ${rebased} rebased, ${full} full`;

function Status({ row: { id, isDamaged, openRun } }: { readonly row: Listed }) {
  if (isDamaged)
    return (
      <span class="status bad">
        <WarnIcon class="bad" /> damaged
      </span>
    );
  if (openRun?.state === "parked")
    return (
      <span class="status warn">
        <ClockIcon class="warn" /> waits{openRun.waitingFor.length > 0 ? ` for ${openRun.waitingFor.length}` : ""}
      </span>
    );
  if (openRun?.state === "cut-off")
    return (
      <span class="status bad">
        <WarnIcon class="bad" /> cut off
      </span>
    );
  if (openRun?.state === "elsewhere") return <span class="status text-2">open elsewhere</span>;
  if (openRun?.state === "running" || heads.value.has(id))
    return (
      <span class="status live">
        <span class="live-dot" /> live
      </span>
    );
  return null;
}
