import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type {
  FindDocument,
  OverviewDocument,
  StackDocument,
  VerifiedDocument,
} from "../../../src/studio/page-documents.ts";
import { age, counted, grouped } from "../format.ts";
import { useCommands } from "../keys.ts";
import { noteLayers } from "../layers.ts";
import { heads } from "../live.ts";
import { Banner } from "../parts/banner.tsx";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { CheckIcon, LeftIcon, RightIcon, WarnIcon } from "../parts/icons.tsx";
import { Log } from "../parts/log.tsx";
import { jumpTo, Shell } from "../parts/shell.tsx";
import { Stack } from "../parts/stack.tsx";
import { Strip } from "../parts/strip.tsx";
import { BlameTab, BodyTab, DiffTab, EventTab, TimeTab } from "../parts/tabs-content.tsx";
import { conversationPath, go, route, setQuery } from "../route.ts";
import { load, useLoaded } from "../source.ts";

const views = ["stack", "diff", "body", "blame", "time", "event"] as const;
type View = (typeof views)[number];
const viewNames: Readonly<Record<View, string>> = {
  stack: "Stack",
  diff: "Diff",
  body: "Body",
  blame: "Blame",
  time: "Time",
  event: "Event",
};

/** One conversation at one revision: what was true there, what was sent, and who made it so. */
export function Workspace({ id }: { readonly id: string }) {
  const live = heads.value.get(id) ?? -1;
  const { data: overview, error, isSlow, retry } = useLoaded<OverviewDocument>(`/api/c/${id}`, live);
  const title = overview?.title ?? id;
  if (overview !== null && overview.conversation === id) {
    noteLayers(overview.layers);
    return <Shown overview={overview} />;
  }
  return (
    <Shell title={title} foot={null}>
      <main class="workspace">
        <div class="head">
          <h1>{id}</h1>
        </div>
        <div>
          {error !== null ? (
            <Failure error={error} what="The conversation cannot be opened" retry={retry} />
          ) : isSlow ? (
            <Skeleton rows={12} />
          ) : null}
        </div>
      </main>
    </Shell>
  );
}

const numberIn = (text: string | null): number | null =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;

function Shown({ overview }: { readonly overview: OverviewDocument }) {
  const { conversation: id, events, requests, groups, damage } = overview;
  const { query } = route.value;
  const last = events - 1;
  const asked = numberIn(query.get("r"));
  const isFollowing = asked === null;
  const revision = Math.min(asked ?? last, last);
  const view = views.find((each) => each === query.get("view")) ?? "stack";
  const from = numberIn(query.get("from")) ?? 0;
  const filter = query.get("f") ?? "";
  const base = numberIn(query.get("base"));
  const opened = useSignal<readonly number[]>([]);
  const toggled = useSignal<ReadonlySet<number>>(new Set());
  const isLogOpen = useSignal(false);
  const mark = useSignal<number | null>(null);
  const seen = useRef(events);
  if (isFollowing) seen.current = events;
  const current = indexOfStep(requests, revision);
  const stackPath = `/api/c/${id}/stack/${revision}?n=60&from=${from}${opened.value.length === 0 ? "" : `&open=${opened.value.join(",")}`}`;
  const stack = useLoaded<StackDocument>(stackPath, events);

  const select = (next: number, how: "push" | "replace" = "replace"): void => {
    const bounded = Math.max(0, Math.min(last, next));
    opened.value = [];
    setQuery({ r: bounded, from: null, h: null }, how);
  };
  const show = (next: View): void => setQuery({ view: next === "stack" ? null : next, from: null });
  const followHead = (): void => {
    seen.current = events;
    setQuery({ r: null, from: null, h: null }, "push");
  };
  const find = async (what: FindDocument["what"], direction: 1 | -1): Promise<void> => {
    const found = await load<FindDocument>(`/api/c/${id}/find/${revision}?what=${what}&direction=${direction}`);
    if (found.revision !== null) select(found.revision, "push");
  };
  const openLog = (): void => {
    isLogOpen.value = true;
    document.querySelector<HTMLElement>(".log-scroll")?.focus();
  };
  jumpTo.value = (next) => select(next, "push");
  useEffect(
    () => () => {
      jumpTo.value = null;
    },
    [],
  );

  const steps = "Step";
  const jumps = "Jump";
  useCommands([
    { key: "j  ArrowDown", words: "Next event", group: steps, run: () => select(revision + 1) },
    { key: "k  ArrowUp", words: "Previous event", group: steps, run: () => select(revision - 1) },
    { key: "J  Shift ArrowDown", words: "Ten events on", group: steps, run: () => select(revision + 10) },
    { key: "K  Shift ArrowUp", words: "Ten events back", group: steps, run: () => select(revision - 10) },
    { key: "]", words: "Next answer", group: jumps, run: () => void find("answer", 1) },
    { key: "[", words: "Previous answer", group: jumps, run: () => void find("answer", -1) },
    { key: "e", words: "Next edit of a layer", group: jumps, run: () => void find("edit", 1) },
    { key: "E", words: "Previous edit of a layer", group: jumps, run: () => void find("edit", -1) },
    { key: "b", words: "Next broken chain", group: jumps, run: () => void find("break", 1) },
    { key: "B", words: "Previous broken chain", group: jumps, run: () => void find("break", -1) },
    { key: "t", words: "Next message", group: jumps, run: () => void find("turn", 1) },
    { key: "T", words: "Previous message", group: jumps, run: () => void find("turn", -1) },
    { key: "g", words: "First event", group: jumps, run: () => select(0, "push") },
    { key: "G", words: "Follow the newest event", group: jumps, run: followHead },
    { key: ":", words: "Go to a revision", group: jumps, run: () => focusOn("revision") },
    ...views.map((each, index) => ({
      key: String(index + 1),
      words: `Show ${viewNames[each].toLowerCase()}`,
      group: "View",
      run: () => show(each),
    })),
    {
      key: "/",
      words: "Filter events",
      group: "View",
      run: () => {
        isLogOpen.value = true;
        focusOn("log-filter");
      },
    },
    {
      key: "l",
      words: "Open or close the log (narrow windows)",
      group: "View",
      run: () => (isLogOpen.value = !isLogOpen.value),
    },
    {
      key: "v",
      words: "Fold or open all messages of the log",
      group: "View",
      run: () =>
        (toggled.value =
          toggled.value.size > 0
            ? new Set()
            : new Set(
                groups.filter((group) => !(group.from <= revision && revision <= group.to)).map((group) => group.from),
              )),
    },
    { key: "m", words: "Mark as base", group: "Compare", run: () => (mark.value = revision) },
    {
      key: "d",
      words: "What changed since the base",
      group: "Compare",
      run: () => setQuery({ view: "diff", base: mark.value ?? Math.max(0, revision - 1) }),
    },
    { key: "c", words: "Copy a link to this revision", group: "Copy", run: () => void copyLink(id, revision) },
    { key: "y", words: "Copy the event as JSON", group: "Copy", run: () => void copyEvent(id, revision) },
    {
      key: "Escape",
      words: "Close, or clear the filter",
      group: "View",
      run: () => {
        isLogOpen.value = false;
        if (filter !== "") setQuery({ f: null }, "replace");
      },
    },
  ]);

  const row = stack.data;
  return (
    <Shell
      title={overview.title ?? id}
      foot={
        <>
          <span>{counted(events, "event")}</span>
          <span>{counted(overview.runs, "run")}</span>
          <span>simulated: no provider is called</span>
          <span class="right hint-more">
            <span>
              <kbd>j</kbd>
              <kbd>k</kbd>step
            </span>
            <span>
              <kbd>b</kbd>next break
            </span>
            <span>
              <kbd>e</kbd>next edit
            </span>
            <span>
              <kbd>1</kbd>–<kbd>6</kbd> view
            </span>
          </span>
        </>
      }
    >
      <main class="workspace">
        <div>
          <Head
            overview={overview}
            revision={revision}
            isFollowing={isFollowing}
            onSelect={select}
            onFollow={followHead}
            onLog={openLog}
          />
          <LinkCheck id={id} revision={revision} />
          {damage === null ? null : (
            <section class="banner bad" aria-label="Damage">
              <WarnIcon class="bad" />
              <div>
                <h2>Event r{grouped(damage.revision)} cannot be read</h2>
                <p>
                  {damage.message}. Everything before r{grouped(damage.revision)} is sound; what events changed from
                  there on is unknown. turnlog verify {id} says more.
                </p>
              </div>
              <div class="actions">
                <button
                  type="button"
                  class="button"
                  onClick={() => {
                    select(damage.revision, "push");
                    show("event");
                  }}
                >
                  Show what is stored
                </button>
              </div>
            </section>
          )}
          <Strip
            overview={overview}
            current={current}
            onSelect={(index) => select(requests[index]?.revision ?? revision)}
          />
        </div>
        <div class="panes">
          <Log
            overview={overview}
            revision={revision}
            filter={filter}
            isOpen={isLogOpen.value}
            news={isFollowing ? 0 : Math.max(0, events - seen.current)}
            toggled={toggled}
            onSelect={(next) => {
              select(next);
              isLogOpen.value = false;
            }}
            onFilter={(text) => setQuery({ f: text }, "replace")}
            onFollow={followHead}
            onToggle={(group) => {
              const next = new Set(toggled.value);
              if (!next.delete(group)) next.add(group);
              toggled.value = next;
            }}
          />
          <section class="pane" aria-label="At this revision">
            <div class="tabs">
              <div role="tablist" aria-label="Views">
                {views.map((each) => (
                  <button
                    key={each}
                    type="button"
                    role="tab"
                    id={`tab-${each}`}
                    aria-selected={each === view}
                    aria-controls="panel"
                    tabIndex={each === view ? 0 : -1}
                    onClick={() => show(each)}
                    onKeyDown={(event) => {
                      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
                      const next = views[views.indexOf(each) + step];
                      if (step === 0 || next === undefined) return;
                      event.preventDefault();
                      show(next);
                      document.getElementById(`tab-${next}`)?.focus();
                    }}
                  >
                    {viewNames[each]}
                  </button>
                ))}
              </div>
              <span class="aside cut">{row === null ? "" : passedOn(row)}</span>
            </div>
            <div
              class="tab-panel"
              role="tabpanel"
              id="panel"
              aria-labelledby={`tab-${view}`}
              // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel that scrolls has to be reached by keyboard.
              tabIndex={0}
              aria-busy={stack.isOld}
            >
              {view === "stack" || view === "body" ? (
                stack.error !== null ? (
                  <Failure error={stack.error} what="The stack cannot be made" retry={stack.retry} />
                ) : row === null ? (
                  stack.isSlow ? (
                    <Skeleton rows={10} />
                  ) : null
                ) : (
                  <Banner banner={row.banner} conversation={id} onEdit={(edit) => select(edit, "push")} />
                )
              ) : null}
              {view === "stack" && row !== null && stack.error === null ? (
                <Stack
                  stack={row}
                  revision={revision}
                  onOpen={(fold) => (opened.value = [...opened.value, fold])}
                  onPage={(next) => setQuery({ from: next === 0 ? null : next })}
                />
              ) : null}
              {view === "body" ? (
                <BodyTab
                  conversation={id}
                  revision={revision}
                  version={events}
                  stack={row}
                  from={from}
                  onPage={(next) => setQuery({ from: next === 0 ? null : next })}
                />
              ) : null}
              {view === "diff" ? <DiffTab conversation={id} revision={revision} version={events} base={base} /> : null}
              {view === "blame" ? (
                <BlameTab
                  conversation={id}
                  revision={revision}
                  version={events}
                  from={from}
                  onPage={(next) => setQuery({ from: next === 0 ? null : next })}
                />
              ) : null}
              {view === "time" ? (
                <TimeTab conversation={id} revision={revision} version={events} onSelect={select} />
              ) : null}
              {view === "event" ? <EventTab conversation={id} revision={revision} version={0} /> : null}
            </div>
          </section>
        </div>
        <nav class="bottom-bar" aria-label="Step">
          <button
            type="button"
            aria-label="Earlier event"
            disabled={revision === 0}
            onClick={() => select(revision - 1)}
          >
            <LeftIcon />
          </button>
          <button type="button" onClick={openLog}>
            <span>
              <span class="strong">r{grouped(revision)}</span> of {grouped(last)} · open the log
            </span>
          </button>
          <button
            type="button"
            aria-label="Later event"
            disabled={revision === last}
            onClick={() => select(revision + 1)}
          >
            <RightIcon />
          </button>
        </nav>
      </main>
      <Announcement revision={revision} stack={row} />
    </Shell>
  );
}

/** What changes while one steps, for readers of screens: once it rests. */
function Announcement({ revision, stack }: { readonly revision: number; readonly stack: StackDocument | null }) {
  const words = useSignal("");
  const title = stack?.banner.title.map((part) => (typeof part === "string" ? part : part.layer)).join("") ?? "";
  useEffect(() => {
    const timer = setTimeout(() => (words.value = `r${revision}, ${title}`), 400);
    return () => clearTimeout(timer);
  }, [revision, title]);
  return (
    <p class="sr" aria-live="polite">
      {words.value}
    </p>
  );
}

type HeadProps = {
  readonly overview: OverviewDocument;
  readonly revision: number;
  readonly isFollowing: boolean;
  readonly onSelect: (revision: number, how?: "push" | "replace") => void;
  readonly onFollow: () => void;
  readonly onLog: () => void;
};

function Head({ overview, revision, isFollowing, onSelect, onFollow, onLog }: HeadProps) {
  const { conversation: id, events, parent } = overview;
  const copied = useSignal(false);
  return (
    <div class="head">
      <h1 class="cut">{overview.title ?? overview.groups[0]?.words ?? id}</h1>
      <span class="id code cut">{id}</span>
      {parent === null ? null : (
        <a
          class="small"
          href={conversationPath(parent.conversation, parent.revision)}
          onClick={(event) => {
            event.preventDefault();
            go(conversationPath(parent.conversation, parent.revision));
          }}
        >
          fork of {parent.conversation.slice(0, 12)}…
          {parent.revision === null ? "" : ` at r${grouped(parent.revision)}`}
        </a>
      )}
      <Verified id={id} events={events} />
      <div class="right">
        <button type="button" class="ghost open-log" onClick={onLog}>
          Log
        </button>
        <button
          type="button"
          class="ghost"
          aria-label="Previous event"
          disabled={revision === 0}
          onClick={() => onSelect(revision - 1)}
        >
          <LeftIcon />
        </button>
        <label class="field revision-field">
          r
          <input
            id="revision"
            aria-label="Revision"
            inputMode="numeric"
            value={String(revision)}
            size={6}
            onKeyDown={(event) => {
              if (event.key !== "Enter" && event.key !== "Escape") return;
              const next = numberIn(event.currentTarget.value.trim().replace(/^r/, ""));
              if (event.key === "Enter" && next !== null) onSelect(next, "push");
              event.currentTarget.blur();
            }}
            onFocus={(event) => event.currentTarget.select()}
          />
          <span class="text-3">of {grouped(events - 1)}</span>
        </label>
        <button
          type="button"
          class="ghost"
          aria-label="Next event"
          disabled={revision >= events - 1}
          onClick={() => onSelect(revision + 1)}
        >
          <RightIcon />
        </button>
        <button
          type="button"
          class="ghost"
          aria-pressed={isFollowing}
          onClick={() => (isFollowing ? onSelect(revision) : onFollow())}
        >
          Follow
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            void copyLink(id, revision);
            copied.value = true;
            setTimeout(() => (copied.value = false), 1_500);
          }}
        >
          {copied.value ? "Copied" : "Copy link"}
        </button>
      </div>
    </div>
  );
}

/** The last verification, and its age: never a guess. */
function Verified({ id, events }: { readonly id: string; readonly events: number }) {
  const asked = useSignal(0);
  const { data, isOld } = useLoaded<VerifiedDocument>(
    `/api/c/${id}/verified${asked.value > 0 ? "?now=1" : ""}`,
    asked.value,
  );
  const check = (words: string) => (
    <button type="button" class="ghost small" onClick={() => (asked.value += 1)}>
      {words}
    </button>
  );
  if (asked.value > 0 && isOld) return <span class="verified small">checking…</span>;
  const last = data?.last ?? null;
  if (last === null) return check("not checked · check");
  if (!last.isSound)
    return (
      <span class="verified small bad" title={last.problem ?? ""}>
        <WarnIcon class="bad" /> fails at r{grouped(last.revision)}
      </span>
    );
  const news = events - 1 - last.revision;
  return (
    <span class="verified small">
      <CheckIcon class={news === 0 ? "good" : ""} />
      {news === 0
        ? `verified, ${counted(events, "event")} ${age(last.at)} ago`
        : `verified to r${grouped(last.revision)} + ${grouped(news)} new`}
      {news === 0 ? null : check("check")}
    </span>
  );
}

/** A link says the digest of its event: it may have been made for another log. */
function LinkCheck({ id, revision }: { readonly id: string; readonly revision: number }) {
  const wanted = route.value.query.get("h");
  const { data } = useLoaded<{ readonly digest: string; readonly revision: number }>(
    wanted === null ? null : `/api/c/${id}/cat/${revision}`,
  );
  if (wanted === null || data === null || data.revision !== revision || data.digest.startsWith(wanted)) return null;
  return (
    <section class="banner warn" aria-label="Link">
      <WarnIcon class="warn" />
      <div>
        <h2>This link was made for a different log</h2>
        <p>Its event r{grouped(revision)} had another digest: the store may have been replaced, or set back.</p>
      </div>
      <div class="actions" />
    </section>
  );
}

/** The request that a revision belongs to: its own, or the one before. */
function indexOfStep(requests: OverviewDocument["requests"], revision: number): number {
  const next = requests.findIndex((request) => request.revision >= revision);
  if (next < 0) return Math.max(0, requests.length - 1);
  return requests[next]?.revision === revision ? next : next;
}

function passedOn({ layers }: StackDocument): string {
  const idle = layers.filter(({ changed }) => changed === 0).map(({ name }) => name);
  return idle.length === 0 ? "" : `${idle.join(", ")} passed all on`;
}

function focusOn(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

async function copyLink(id: string, revision: number): Promise<void> {
  const { digest } = await load<{ readonly digest: string }>(`/api/c/${id}/cat/${revision}`);
  const query = new URLSearchParams(location.search);
  query.set("r", String(revision));
  query.set("h", digest.slice(0, 8));
  await navigator.clipboard.writeText(`${location.origin}/c/${id}?${query.toString()}`);
}

async function copyEvent(id: string, revision: number): Promise<void> {
  const event = await load<unknown>(`/api/c/${id}/cat/${revision}`);
  await navigator.clipboard.writeText(JSON.stringify(event, null, 2));
}
