import { useEffect, useRef, useState } from "preact/hooks";
import { grouped } from "../format.ts";
import type { Overview } from "../overview.ts";
import { Failure, Skeleton } from "./failure.tsx";
import { SearchIcon } from "./icons.tsx";
import { EventRow, GapRow, GroupRow, type Item } from "./log-item.tsx";
import { useFiltered, useRows } from "./log-rows.ts";

type LogProps = {
  readonly overview: Overview;
  readonly revision: number;
  readonly filter: string;
  readonly isOpen: boolean;
  /** Events that came while the reader looks at an earlier one. */
  readonly news: number;
  readonly toggled: { readonly value: ReadonlySet<number> };
  readonly onSelect: (revision: number) => void;
  readonly onFilter: (text: string) => void;
  readonly onFollow: () => void;
  readonly onToggle: (group: number) => void;
};

const rowHeight = 28;
/** Rows beyond the visible ones, above and below. */
const spare = 8;

/** The events, folded by messages; only the visible rows are in the page. */
export function Log(props: LogProps) {
  const { overview, revision, filter, isOpen, news, onFilter, onFollow } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const found = useFiltered(overview.conversation, filter, overview.events);
  const items =
    filter === "" ? itemsOf(props) : found.rows.map((row): Item => ({ kind: "row", revision: row.revision }));
  const rows = useRows(overview);
  const selected = items.findIndex((item) => item.kind === "row" && item.revision === revision);
  const [first, last] = [
    Math.max(0, Math.floor(view.top / rowHeight) - spare),
    Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + spare),
  ];
  const shown = items.slice(first, last);
  rows.want(shown.flatMap((item) => (item.kind === "row" ? [item.revision] : [])));
  useEffect(() => {
    const { current } = scroll;
    if (current === null) return undefined;
    const measure = (): void => setView({ top: current.scrollTop, height: current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, []);
  useEffect(() => {
    const { current } = scroll;
    if (current === null || selected < 0) return;
    const top = selected * rowHeight;
    const isSeen = top >= current.scrollTop && top + rowHeight <= current.scrollTop + current.clientHeight;
    if (!isSeen) current.scrollTop = Math.max(0, top - current.clientHeight / 2);
  }, [selected, revision, isOpen]);
  return (
    <aside class={`log ${isOpen ? "is-open" : ""}`} aria-label="Log">
      <div class="log-filter">
        <SearchIcon />
        <input
          id="log-filter"
          type="search"
          placeholder="Filter events"
          aria-label="Filter events, for example: type:edit layer:redact-emails hotel"
          value={filter}
          onInput={(event) => onFilter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            onFilter("");
            event.currentTarget.blur();
          }}
        />
        {filter === "" ? <kbd>/</kbd> : <span class="small text-3">{grouped(found.total)}</span>}
      </div>
      <div
        class="log-scroll"
        ref={scroll}
        role="listbox"
        tabIndex={0}
        aria-label="Events"
        aria-activedescendant={selected < 0 ? undefined : `row-${revision}`}
      >
        {found.error === null ? null : <Failure error={found.error} what="The filter failed" />}
        {filter !== "" && found.rows.length === 0 && found.error === null && found.isThere ? (
          <p class="empty text-3">No event matches.</p>
        ) : null}
        <div
          class="log-space"
          style={{
            height: `${items.length * rowHeight}px`,
            "--digits": grouped(Math.max(0, overview.events - 1)).length,
          }}
          role="presentation"
        >
          {shown.map((item, index) => {
            const top = (first + index) * rowHeight;
            if (item.kind === "gap")
              return <GapRow key={`p${item.place}`} top={top} place={first + index} count={items.length} />;
            return item.kind === "group" ? (
              <GroupRow
                key={`g${item.group.from}`}
                item={item}
                top={top}
                place={first + index}
                count={items.length}
                onToggle={props.onToggle}
              />
            ) : (
              <EventRow
                key={item.revision}
                revision={item.revision}
                row={rows.get(item.revision) ?? found.rows.find((row) => row.revision === item.revision) ?? null}
                top={top}
                isSelected={item.revision === revision}
                place={first + index}
                count={items.length}
                onSelect={props.onSelect}
              />
            );
          })}
        </div>
        {overview.events === 0 ? <Skeleton rows={6} /> : null}
      </div>
      {news === 0 ? null : (
        <button type="button" class="log-pill" onClick={onFollow}>
          {grouped(news)} new {news === 1 ? "event" : "events"} <kbd>G</kbd>
        </button>
      )}
    </aside>
  );
}

/** The group with the selected event is open, and those that the reader opened; closing one that would be open is remembered the same way. */
function itemsOf({ overview, revision, toggled }: LogProps): readonly Item[] {
  return overview.groups.flatMap((group, place): readonly Item[] => {
    if (group === null) return [{ kind: "gap", place }];
    const isCurrent = group.from <= revision && revision <= group.to;
    const isOpen = isCurrent !== toggled.value.has(group.from);
    const rows = isOpen
      ? Array.from(
          { length: group.to - group.from + 1 },
          (_, place): Item => ({ kind: "row", revision: group.from + place }),
        )
      : [];
    return [{ kind: "group", group, isOpen }, ...rows];
  });
}
