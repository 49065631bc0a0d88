import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { counted, grouped } from "../format.ts";
import { noteLayers } from "../layers.ts";
import { heads } from "../live.ts";
import { type Overview, useOverview } from "../overview.ts";
import { Announcement, LinkCheck } from "../parts/announcement.tsx";
import { Banner } from "../parts/banner.tsx";
import { BlameTab } from "../parts/blame-tab.tsx";
import { BodyTab } from "../parts/body-tab.tsx";
import { BottomBar } from "../parts/bottom-bar.tsx";
import { DiffTab } from "../parts/diff-tab.tsx";
import { EventTab } from "../parts/event-tab.tsx";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { WarnIcon } from "../parts/icons.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Log } from "../parts/log.tsx";
import { jumpTo } from "../parts/palette.tsx";
import { numberIn, passedOn, placeOfRequest } from "../parts/revision.ts";
import { Shell } from "../parts/shell.tsx";
import { Stack } from "../parts/stack.tsx";
import { Strip } from "../parts/strip.tsx";
import { TimeTab } from "../parts/time-tab.tsx";
import { type View, viewNames, views } from "../parts/views.ts";
import { WhyTab } from "../parts/why-tab.tsx";
import { useWorkspaceCommands } from "../parts/workspace-commands.ts";
import { Head } from "../parts/workspace-head.tsx";
import { route, setQuery } from "../route.ts";
import { useLoaded } from "../source.ts";

/** One conversation at one revision: what was true there, what was sent, and who made it so. */
export function Workspace({ id }: { readonly id: string }) {
  const live = heads.value.get(id) ?? -1;
  const { overview, error, retry } = useOverview(id, live);
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
          ) : (
            <Skeleton rows={12} />
          )}
        </div>
      </main>
    </Shell>
  );
}

function Shown({ overview }: { readonly overview: Overview }) {
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
  const stackPath = `/api/c/${id}/stack/${revision}?n=60&from=${from}${opened.value.length === 0 ? "" : `&open=${opened.value.join(",")}`}`;
  const stack = useLoaded<StackDocument>(stackPath, events);

  const current = stack.data?.request?.place ?? placeOfRequest(requests, revision);
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
  const openLog = (): void => {
    isLogOpen.value = true;
    document.querySelector<HTMLElement>(".log-scroll")?.focus();
  };
  jumpTo.value = (next) => select(next, "push");
  const forget = (): void => {
    jumpTo.value = null;
  };
  useEffect(() => forget, []);

  useWorkspaceCommands({
    ...{ id, last, groups, revision, mark, toggled, isLogOpen, filter, select, show, followHead },
  });

  const row = stack.data;
  return (
    <Shell
      title={overview.title ?? id}
      foot={
        <>
          <span>{counted(events, "event")}</span>
          <span>{counted(overview.runs, "run")}</span>
          <span>simulated: no provider is called</span>
          <KeyHints
            hints={[
              [["j", "k"], "step"],
              [["b"], "next break"],
              [["e"], "next edit"],
              [["1–7"], "view"],
            ]}
          />
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
                <h2>{damage.title}</h2>
                <p>
                  {damage.message}.{" "}
                  {damage.revision === 0 ? null : `Everything before r${grouped(damage.revision)} is sound. `}
                  What events changed from there on is unknown. <span class="mono">turnlog verify {id}</span> says more.
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
              {view === "why" ? (
                <WhyTab conversation={id} revision={revision} version={events} onSelect={select} />
              ) : null}
              {view === "event" ? <EventTab conversation={id} revision={revision} version={0} /> : null}
            </div>
          </section>
        </div>
        <BottomBar revision={revision} last={last} onSelect={select} onLog={openLog} />
      </main>
      <Announcement revision={revision} stack={row} />
    </Shell>
  );
}
