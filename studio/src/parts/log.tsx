import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LogGroup, LogPage, LogRow, OverviewDocument } from "../../../src/studio/page-documents.ts";
import { grouped } from "../format.ts";
import { hueOf } from "../layers.ts";
import { load, SourceError } from "../source.ts";
import { Failure, Skeleton } from "./failure.tsx";
import { ActorSign, ChainSign, DownIcon, RightIcon, SearchIcon } from "./icons.tsx";

type LogProps = {
  readonly overview: OverviewDocument;
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
const pageRows = 200;

type Item =
  | { readonly kind: "group"; readonly group: LogGroup; readonly isOpen: boolean }
  | { readonly kind: "row"; readonly revision: number };

/** The events, folded by messages; only the visible rows are in the page. */
export function Log(props: LogProps) {
  const { overview, revision, filter, isOpen, news, onFilter, onFollow } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const found = useFiltered(overview.conversation, filter, overview.events);
  const items =
    filter === "" ? itemsOf(props) : found.rows.map((row): Item => ({ kind: "row", revision: row.revision }));
  const rows = useRows(overview.conversation, overview.events);
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
  const isWide = overview.events > 9_999;
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
        <div class="log-space" style={{ height: `${items.length * rowHeight}px` }} role="presentation">
          {shown.map((item, index) => {
            const top = (first + index) * rowHeight;
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
                isWide={isWide}
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
  return overview.groups.flatMap((group): readonly Item[] => {
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

function GroupRow({
  item,
  top,
  place,
  count,
  onToggle,
}: {
  readonly item: Item & { readonly kind: "group" };
  readonly top: number;
  readonly place: number;
  readonly count: number;
  readonly onToggle: (group: number) => void;
}) {
  const { group, isOpen } = item;
  const isBroken = group.worst === "rebased" || group.worst === "full" || group.worst === "failed";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the list keeps the focus.
    <div
      class="log-row group"
      style={{ top: `${top}px` }}
      role="option"
      aria-selected="false"
      aria-posinset={place + 1}
      aria-setsize={count}
      aria-label={`${isOpen ? "open" : "folded"}: ${group.words === "" ? "events" : group.words}, events ${group.from} to ${group.to}`}
      onClick={() => onToggle(group.from)}
    >
      {isOpen ? <DownIcon /> : <RightIcon />}
      <span class="what">{group.words === "" ? "Events without a message" : group.words}</span>
      <span class="value">
        {group.state === "open" ? <span class="live">open</span> : null}
        {!isOpen && isBroken ? <ChainSign verdict={group.worst} label={group.worst} /> : null}
        {grouped(group.from)}–{grouped(group.to)}
      </span>
    </div>
  );
}

type EventRowProps = {
  readonly revision: number;
  readonly row: LogRow | null;
  readonly top: number;
  readonly isSelected: boolean;
  readonly isWide: boolean;
  readonly place: number;
  readonly count: number;
  readonly onSelect: (revision: number) => void;
};

function EventRow({ revision, row, top, isSelected, isWide, place, count, onSelect }: EventRowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the list keeps the focus.
    <div
      id={`row-${revision}`}
      class={`log-row ${row?.sign ?? ""} ${isWide ? "wide" : ""}`}
      style={{ top: `${top}px` }}
      role="option"
      aria-selected={isSelected}
      aria-posinset={place + 1}
      aria-setsize={count}
      title={row === null ? "" : `r${revision} ${row.sentence}${row.problem === null ? "" : `: ${row.problem}`}`}
      onClick={() => onSelect(revision)}
    >
      <span class="r">{grouped(revision)}</span>
      {row === null ? null : <RowWords row={row} />}
    </div>
  );
}

function RowWords({ row }: { readonly row: LogRow }) {
  const { sign, layer, layerNumber, words, detail, change, value, verdict, problem } = row;
  const tone = verdict === "rebased" ? "warn" : verdict === "full" ? "bad" : "";
  return (
    <>
      <ActorSign sign={sign} layer={layer} number={layerNumber} />
      <span class={`what ${problem === null ? "" : "bad"}`}>
        {layer === null ? (
          sign === "request" ? (
            <span class="strong">{words}</span>
          ) : (
            words
          )
        ) : (
          <span class={`hue ${hueOf(layer)}`}>{words}</span>
        )}
        {change === null ? "" : ` ${change}`}
        {detail === "" ? null : <span class={tone}> {detail}</span>}
        {problem === null ? null : <> {problem}</>}
      </span>
      <span class="value">{value}</span>
    </>
  );
}

/** The rows of a log by pages, loaded when they are seen. */
function useRows(conversation: string, events: number) {
  const pages = useRef(new Map<number, readonly LogRow[] | "loading">());
  const known = useRef(conversation);
  const version = useSignal(0);
  if (known.current !== conversation) {
    known.current = conversation;
    pages.current = new Map();
  }
  // The last page grows.
  const lastPage = Math.floor(Math.max(0, events - 1) / pageRows);
  const [, read] = [version.value, pages.current];
  return {
    get: (revision: number): LogRow | null => {
      const page = read.get(Math.floor(revision / pageRows));
      return page === undefined || page === "loading" ? null : (page[revision % pageRows] ?? null);
    },
    want(revisions: readonly number[]): void {
      for (const number of new Set(revisions.map((revision) => Math.floor(revision / pageRows)))) {
        const page = read.get(number);
        const isShort =
          page !== undefined && page !== "loading" && number === lastPage && page.length < events - number * pageRows;
        if (page !== undefined && !isShort) continue;
        if (page === undefined) read.set(number, "loading");
        load<LogPage>(`/api/c/${conversation}/log?from=${number * pageRows}&n=${pageRows}`).then(
          ({ rows }) => {
            read.set(number, rows);
            version.value += 1;
          },
          () => read.delete(number),
        );
      }
    },
  };
}

/** The rows that a filter finds. */
function useFiltered(conversation: string, filter: string, events: number) {
  const [state, setState] = useState<{
    readonly rows: readonly LogRow[];
    readonly total: number;
    readonly error: SourceError | null;
    readonly isThere: boolean;
  }>({ rows: [], total: 0, error: null, isThere: false });
  useEffect(() => {
    if (filter === "") {
      setState({ rows: [], total: 0, error: null, isThere: false });
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      load<LogPage>(`/api/c/${conversation}/log?n=500&f=${encodeURIComponent(filter)}`, controller.signal).then(
        ({ rows, total }) => setState({ rows, total, error: null, isThere: true }),
        (error: unknown) => {
          if (error instanceof SourceError) setState({ rows: [], total: 0, error, isThere: true });
        },
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [conversation, filter, events]);
  return state;
}
