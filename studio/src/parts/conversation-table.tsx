import { useEffect, useRef, useState } from "preact/hooks";
import { dayGroup } from "../format.ts";
import { route, setQuery } from "../route.ts";
import { useExtras } from "./conversation-extras.ts";
import type { Listed, ListState } from "./conversation-list.ts";
import { Row } from "./conversation-row.tsx";
import { Skeleton } from "./failure.tsx";
import { Empty, ListFailure } from "./list-states.tsx";

const rowHeight = 36;

type Entry =
  | { readonly kind: "day"; readonly words: string }
  | { readonly kind: "row"; readonly row: Listed; readonly index: number };

/** The rows that are seen, under the days that they belong to. */
export function List({ list, selected }: { readonly list: ListState; readonly selected: number }) {
  const { conversations, error, isThere, retry, next, more } = list;
  const scroll = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const entries = entriesOf(conversations);
  const top = Math.max(0, view.top - 32);
  const [from, to] = [Math.max(0, Math.floor(top / rowHeight) - 8), Math.ceil((top + view.height) / rowHeight) + 8];
  const shown = entries.slice(from, to);
  const ids = shown.flatMap((entry) => (entry.kind === "row" ? [entry.row.id] : []));
  const extras = useExtras(ids);
  useEffect(() => {
    const { current } = scroll;
    if (current === null) return undefined;
    const measure = (): void => setView({ top: current.scrollTop, height: current.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, []);
  useEffect(() => {
    if (to >= entries.length && next !== null) more();
  }, [to, entries.length, next]);
  const at = entries.findIndex((entry) => entry.kind === "row" && entry.index === selected);
  useEffect(() => {
    const { current } = scroll;
    if (current === null || at < 0) return;
    const place = at * rowHeight + 32;
    if (place < current.scrollTop + 32) current.scrollTop = Math.max(0, place - 64);
    else if (place + rowHeight > current.scrollTop + current.clientHeight)
      current.scrollTop = place + rowHeight - current.clientHeight;
  }, [at]);
  if (error !== null && conversations.length === 0) return <ListFailure error={error} retry={retry} />;
  if (isThere && conversations.length === 0) return <Empty />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard.
    <div class="list-scroll" ref={scroll} tabIndex={0} role="region" aria-label="Conversations">
      <Heads />
      {conversations.length === 0 ? <Skeleton rows={14} height={rowHeight} /> : null}
      <div style={{ height: `${from * rowHeight}px` }} />
      <div role="list">
        {shown.map((entry) =>
          entry.kind === "day" ? (
            <div key={entry.words} class="day-row" role="presentation" style={{ height: `${rowHeight}px` }}>
              {entry.words}
            </div>
          ) : (
            <div key={entry.row.id} role="listitem">
              <Row
                row={entry.row}
                isSelected={entry.index === selected}
                chain={extras.chains[entry.row.id] ?? null}
                cost={extras.costs.get(entry.row.id) ?? null}
              />
            </div>
          ),
        )}
      </div>
      <div style={{ height: `${Math.max(0, entries.length - to) * rowHeight}px` }} />
    </div>
  );
}

function entriesOf(conversations: readonly Listed[]): readonly Entry[] {
  const sort = route.value.query.get("sort");
  let day = "";
  return conversations.flatMap((row, index): readonly Entry[] => {
    const words = dayGroup(sort === "startedAt" ? row.startedAt : row.lastAt);
    const isNew = words !== day;
    day = words;
    return [...(isNew ? [{ kind: "day" as const, words }] : []), { kind: "row", row, index }];
  });
}

function Heads() {
  const { query } = route.value;
  const isStarted = query.get("sort") === "startedAt";
  const isUp = query.get("order") === "ascending";
  return (
    <div class="conversation-head">
      <span>Conversation</span>
      <span class="num mid-only">Events</span>
      <span class="num mid-only">Requests</span>
      <span>Chain</span>
      <span class="num mid-only">Sent</span>
      <span class="mid-only">of everything</span>
      <span class="num wide-only mid-only">From cache</span>
      <span class="num wide-only mid-only">Cost</span>
      <span class="num">
        <button
          type="button"
          title="Sorted by the time of the newest event, or of the first"
          onClick={() =>
            setQuery(isUp ? { order: null, sort: isStarted ? null : "startedAt" } : { order: "ascending" })
          }
        >
          {isStarted ? "Begun" : "Last"} {isUp ? "↑" : "↓"}
        </button>
      </span>
    </div>
  );
}
