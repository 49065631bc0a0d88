import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { z } from "zod";
import type { searchDocument } from "../../../src/documents/conversations.ts";
import type { billDocument, lsDocument } from "../../../src/documents/stores.ts";
import type { ChainsDocument } from "../../../src/studio/page-documents.ts";
import { age, dayGroup, grouped, money, percent, roundBytes } from "../format.ts";
import { useCommands } from "../keys.ts";
import { changes, heads } from "../live.ts";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { ClockIcon, SearchIcon, WarnIcon } from "../parts/icons.tsx";
import { Shell } from "../parts/shell.tsx";
import { conversationPath, follow, go, route, setQuery } from "../route.ts";
import { load, SourceError, useLoaded } from "../source.ts";

type Page = z.infer<typeof lsDocument>;
type Listed = Page["conversations"][number];
type Bill = z.infer<typeof billDocument>;

const rowHeight = 36;
const pageSize = 100;

/** The conversations of the store: which one to open. */
export function Conversations() {
  const { query } = route.value;
  const text = query.get("q") ?? "";
  const list = useList();
  const selected = useSignal(0);
  const rows = list.conversations;
  const select = (next: number): void => {
    selected.value = Math.max(0, Math.min(rows.length - 1, next));
  };
  useCommands([
    { key: "j  ArrowDown", words: "Next conversation", group: "Conversations", run: () => select(selected.value + 1) },
    {
      key: "k  ArrowUp",
      words: "Previous conversation",
      group: "Conversations",
      run: () => select(selected.value - 1),
    },
    { key: "g", words: "First conversation", group: "Conversations", run: () => select(0) },
    { key: "G", words: "Last of those loaded", group: "Conversations", run: () => select(rows.length - 1) },
    {
      key: "Enter",
      words: "Open the conversation",
      group: "Conversations",
      run: () => {
        const row = rows[selected.value];
        if (row !== undefined) go(conversationPath(row.id));
      },
    },
    {
      key: "/",
      words: "Search titles and texts",
      group: "Conversations",
      run: () => document.getElementById("search")?.focus(),
    },
    { key: "Escape", words: "Clear the search", group: "Conversations", run: () => setQuery({ q: null }, "replace") },
  ]);
  return (
    <Shell
      title="Conversations"
      foot={
        <>
          <span>
            {grouped(rows.length)} of {grouped(list.total)} shown
          </span>
          <span class="legend">
            <i /> chained <i class="r" /> rebased <i class="x" /> full
          </span>
          <span class="right hint-more">
            <span>
              <kbd>j</kbd>
              <kbd>k</kbd>move
            </span>
            <span>
              <kbd>Enter</kbd>open
            </span>
          </span>
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <h1>Conversations</h1>
          <span class="text-3">{list.isThere ? grouped(list.total) : ""}</span>
          <label class="field search-field">
            <SearchIcon />
            <input
              id="search"
              type="search"
              placeholder="Search titles and texts"
              aria-label="Search titles and texts"
              value={text}
              onInput={(event) => setQuery({ q: event.currentTarget.value }, "replace")}
              onKeyDown={(event) => {
                if (event.key !== "Escape") return;
                setQuery({ q: null }, "replace");
                event.currentTarget.blur();
              }}
            />
            {text === "" ? <kbd>/</kbd> : null}
          </label>
          <div class="filters">
            <Filter name="state" value="open" words="Open" />
            <Filter name="state" value="parked" words="Waiting" />
            <Filter name="losses" value="1" words="With losses" isOptional />
            <label class="ghost optional">
              Label
              <input
                class="label-field mono"
                aria-label="Label, as name=value"
                placeholder="name=value"
                size={12}
                value={query.get("label") ?? ""}
                onChange={(event) => setQuery({ label: event.currentTarget.value })}
              />
            </label>
          </div>
        </div>
        {text.trim() === "" ? <List list={list} selected={selected.value} /> : <Hits text={text.trim()} />}
      </main>
    </Shell>
  );
}

function Filter({
  name,
  value,
  words,
  isOptional,
}: {
  readonly name: string;
  readonly value: string;
  readonly words: string;
  readonly isOptional?: boolean;
}) {
  const isOn = route.value.query.get(name) === value;
  return (
    <button
      type="button"
      class={`ghost ${isOptional === true ? "optional" : ""}`}
      aria-pressed={isOn}
      onClick={() => setQuery({ [name]: isOn ? null : value })}
    >
      {words}
    </button>
  );
}

type ListState = {
  readonly conversations: readonly Listed[];
  readonly total: number;
  readonly next: string | null;
  readonly error: SourceError | null;
  readonly isThere: boolean;
  readonly more: () => void;
  readonly retry: () => void;
};

/** Pages of the list, one after the other as they are needed; new events change the first. */
function useList(): ListState {
  const { query } = route.value;
  const wanted = ["state", "losses", "label", "sort", "order"].flatMap((name) => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  const path = `/api/conversations?n=${pageSize}${wanted.map((each) => `&${each}`).join("")}`;
  const [pages, setPages] = useState<{ readonly path: string; readonly list: readonly Page[] }>({ path, list: [] });
  const first = useLoaded<Page>(path, changes.value);
  const loading = useRef(false);
  const error = useSignal<SourceError | null>(null);
  const further = pages.path === path ? pages.list : [];
  const all = first.data === null ? [] : [first.data, ...further];
  const next = all.at(-1)?.next ?? null;
  const seen = new Set<string>();
  const conversations = all.flatMap((page) => page.conversations).filter(({ id }) => !seen.has(id) && seen.add(id));
  return {
    conversations,
    total: first.data?.total ?? 0,
    next,
    error: first.error ?? error.value,
    isThere: first.data !== null && !first.isOld,
    retry: first.retry,
    more() {
      if (loading.current || next === null) return;
      loading.current = true;
      load<Page>(`${path}&cursor=${encodeURIComponent(next)}`)
        .then((page) => setPages({ path, list: [...further, page] }))
        .catch((failed: unknown) => {
          if (failed instanceof SourceError) error.value = failed;
        })
        .finally(() => {
          loading.current = false;
        });
    },
  };
}

type Entry =
  | { readonly kind: "day"; readonly words: string }
  | { readonly kind: "row"; readonly row: Listed; readonly index: number };

function List({ list, selected }: { readonly list: ListState; readonly selected: number }) {
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

type Cost = Bill["rows"][number];

function Row({
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
  const { id, title, begins, events, requests, bytesSent, bytesSaved, lastAt, openRun, isDamaged, parent, origin } =
    row;
  const to = conversationPath(id);
  const read = cost === null ? null : cost.tokens.read;
  const input = cost === null ? 0 : cost.tokens.read + cost.tokens.uncached + cost.tokens.written;
  return (
    <a
      class="conversation-row"
      href={to}
      aria-selected={undefined}
      data-selected={isSelected}
      aria-current={isSelected ? "true" : undefined}
      onClick={(event) => follow(event, to)}
    >
      <span class="conversation-title">
        <span class="title">{title ?? begins ?? id}</span>
        <Status row={row} />
        <span class="begins cut text-3">
          {parent !== null ? `${origin === "fork" ? "Fork" : "Child"} of ${parent.slice(0, 16)}… ` : ""}
          {title === null ? "" : (begins ?? "")}
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
      <span class="mid-only text-3">of {roundBytes(bytesSent + bytesSaved)}</span>
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
        ) : (
          money(cost.money.total)
        )}
      </span>
      <span class="num text-2">{age(lastAt)}</span>
      {isDamaged || openRun !== null ? null : null}
    </a>
  );
}

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
        <ClockIcon class="warn" /> waits{openRun.inDoubt > 0 ? ` for ${openRun.inDoubt}` : ""}
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

/** Chains and costs of the rows that are seen. */
function useExtras(ids: readonly string[]): {
  readonly chains: Readonly<Record<string, string>>;
  readonly costs: ReadonlyMap<string, Cost>;
} {
  const [chains, setChains] = useState<Readonly<Record<string, string>>>({});
  const [costs, setCosts] = useState<ReadonlyMap<string, Cost>>(new Map());
  const wanted = ids.join(",");
  const version = changes.value;
  useEffect(() => {
    if (wanted === "") return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      void (async () => {
        const bill = await load<Bill>(`/api/bill?by=conversation&conversations=${wanted}`, controller.signal);
        setCosts((old) => new Map([...old, ...bill.rows.map((row) => [row.name, row] as const)]));
        const list = wanted.split(",");
        for (let from = 0; from < list.length; from += 10) {
          const part = await load<ChainsDocument>(
            `/api/chains?ids=${list.slice(from, from + 10).join(",")}`,
            controller.signal,
          );
          setChains((old) => ({ ...old, ...part.chains }));
        }
      })().catch(() => undefined);
    }, 60);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [wanted, version]);
  return { chains, costs };
}

function Empty() {
  const isFiltered = ["state", "losses", "label"].some((name) => route.value.query.has(name));
  if (isFiltered)
    return (
      <div class="empty">
        <h2>No conversation matches</h2>
        <button type="button" class="button" onClick={() => go("/")}>
          Show all
        </button>
      </div>
    );
  return (
    <div class="empty">
      <h2>No conversations yet</h2>
      <p>Record one with the demo; it needs no key and no network:</p>
      <pre>turnlog demo</pre>
      <p>or from a program:</p>
      <pre>
        {
          'const store = await openStore("sqlite:./turnlog.db");\nconst conversation = store.conversation();\nawait conversation.append("What is the weather in Paris?");'
        }
      </pre>
      <p>It appears here by itself.</p>
    </div>
  );
}

function ListFailure({ error, retry }: { readonly error: SourceError; readonly retry: () => void }) {
  const isDenied = error.code === "access-denied";
  const text = useSignal("");
  return (
    <div>
      <Failure
        error={error}
        what={isDenied ? "The list may not be read" : "The conversations cannot be listed"}
        retry={retry}
      />
      {isDenied ? (
        <form
          class="empty"
          onSubmit={(event) => {
            event.preventDefault();
            go(conversationPath(text.value.trim()));
          }}
        >
          <label>
            Open one by its id:{" "}
            <input class="field" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
          </label>
          <button type="submit" class="button">
            Open
          </button>
        </form>
      ) : null}
    </div>
  );
}

type Search = z.infer<typeof searchDocument>;

/** Where the words are: titles and texts of the whole store. */
function Hits({ text }: { readonly text: string }) {
  const [wanted, setWanted] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text), 150);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, error, isSlow, retry } = useLoaded<Search>(`/api/search?n=100&q=${encodeURIComponent(wanted)}`);
  if (error !== null) return <Failure error={error} what="The search failed" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} height={rowHeight} /> : <div />;
  if (data.hits.length === 0)
    return (
      <div class="empty">
        <h2>No text in the store matches “{data.text}”</h2>
        <p>Several words have to be in one text; a phrase goes between double quotes.</p>
      </div>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard.
    <div class="list-scroll" tabIndex={0} role="region" aria-label="Found">
      {data.hits.slice(0, 60).map((hit) => {
        const to = conversationPath(hit.conversation, hit.revision);
        return (
          <a
            key={`${hit.conversation}@${hit.revision}${hit.blockId ?? ""}`}
            class="conversation-row hit"
            href={to}
            onClick={(event) => follow(event, to)}
          >
            <span class="conversation-title">
              <span class="title">{hit.title ?? hit.conversation}</span>
              <span class="code">r{grouped(hit.revision)}</span>
              <span class="cut text-2">
                {hit.snippet.slice(0, hit.match.start)}
                <ins>{hit.snippet.slice(hit.match.start, hit.match.end)}</ins>
                {hit.snippet.slice(hit.match.end)}
              </span>
            </span>
          </a>
        );
      })}
      {data.hasMore || data.hits.length > 60 ? <p class="empty text-3">There are more: give another word.</p> : null}
    </div>
  );
}
