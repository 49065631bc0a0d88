import { useSignal } from "@preact/signals";
import type { InboxItem, InboxKind } from "../../../src/apps/studio/inbox-documents.ts";
import type { StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import { grouped } from "../format.ts";
import { inbox, inboxError, keyOf, refreshInbox } from "../inbox.ts";
import { useCommands } from "../keys.ts";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { LeftIcon } from "../parts/icons.tsx";
import { InboxDecision } from "../parts/inbox-decision.tsx";
import { InboxList } from "../parts/inbox-list.tsx";
import { inboxKinds } from "../parts/inbox-words.ts";
import { KeyHints } from "../parts/key-hints.tsx";
import { Shell } from "../parts/shell.tsx";
import { conversationPath, go, route, setQuery } from "../route.ts";
import { useLoaded } from "../source.ts";

/** What waits for a person, and how it is answered. */
export function InboxPage() {
  const { query } = route.value;
  const store = useLoaded<StoreDocument>("/api/store");
  const document = inbox.value;
  const wanted = inboxKinds.find(({ kind }) => kind === query.get("kind"))?.kind ?? null;
  const items = (document?.items ?? []).filter(({ kind }) => wanted === null || kind === wanted);
  const named = namedItem(query, document?.items ?? []);
  // What was answered stays in view until the reader moves on, so that a key pressed twice answers nothing else.
  const kept = useSignal<InboxItem | null>(null);
  const isKept = kept.value !== null && query.get("c") === kept.value.conversation && isBlock(query, kept.value);
  const current = named ?? (isKept ? kept.value : query.has("c") ? null : (items[0] ?? null));
  if (named !== null && kept.peek() !== named) kept.value = named;
  const select = (item: InboxItem | undefined, how: "push" | "replace" = "replace"): void => {
    if (item !== undefined) setQuery({ c: item.conversation, b: item.blockId }, how);
  };
  const place = current === null ? -1 : items.findIndex((item) => keyOf(item) === keyOf(current));
  const step = (by: number): void => select(items[Math.max(0, Math.min(items.length - 1, place + by))]);
  useCommands([
    { key: "j  ArrowDown", words: "Next item", group: "Inbox", run: () => step(1) },
    { key: "k  ArrowUp", words: "Previous item", group: "Inbox", run: () => step(-1) },
    {
      key: "o",
      words: "Open the conversation",
      group: "Inbox",
      run: () => {
        if (current !== null) go(conversationPath(current.conversation));
      },
    },
  ]);
  const writing = store.data?.writing ?? null;
  return (
    <Shell
      title="Inbox"
      foot={
        <>
          <span class="cut">
            {store.data === null ? null : writing === null ? (
              <>
                to answer here, start <span class="mono">turnlog studio --write --stack FILE --as NAME</span>
              </>
            ) : (
              <>
                started with <span class="mono">{`--write --stack ${writing.stack} --as ${writing.as}`}</span>
              </>
            )}
          </span>
          <KeyHints
            hints={[
              [["j", "k"], "move"],
              [["o"], "open"],
            ]}
          />
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <h1>Inbox</h1>
          <span class="text-3">{document === null ? "" : waitingWords(document.items)}</span>
          <div class="right filters" role="group" aria-label="Kinds">
            <Filter kind={null} words="All" items={document?.items ?? []} wanted={wanted} />
            {inboxKinds.map(({ kind, words }) => (
              <Filter key={kind} kind={kind} words={words} items={document?.items ?? []} wanted={wanted} />
            ))}
          </div>
        </div>
        {inboxError.value !== null && document === null ? (
          <Failure
            error={inboxError.value}
            what={inboxError.value.code === "access-denied" ? "The list may not be read" : "The inbox cannot be read"}
            retry={() => void refreshInbox()}
          />
        ) : document === null ? (
          <Skeleton rows={6} height={60} />
        ) : (
          <div class="inbox" data-open={query.has("c")}>
            <InboxList document={document} items={items} current={current} select={(item) => select(item, "push")} />
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls has to be reached by keyboard. */}
            <section class="decision" tabIndex={0} aria-label="Decision">
              <button type="button" class="ghost narrow-only" onClick={() => setQuery({ c: null, b: null })}>
                <LeftIcon /> All that waits
              </button>
              {current === null ? (
                <Nothing isGone={query.has("c")} isFiltered={wanted !== null} />
              ) : (
                <InboxDecision
                  key={keyOf(current)}
                  item={current}
                  writing={writing}
                  isThere={named !== null || place >= 0}
                  keep={select}
                />
              )}
            </section>
          </div>
        )}
      </main>
    </Shell>
  );
}

const isBlock = (query: URLSearchParams, { blockId }: InboxItem): boolean => query.get("b") === blockId;

const namedItem = (query: URLSearchParams, items: readonly InboxItem[]): InboxItem | null =>
  items.find((item) => item.conversation === query.get("c") && isBlock(query, item)) ?? null;

function waitingWords(items: readonly InboxItem[]): string {
  const count = items.filter(({ kind }) => kind !== "expiring").length;
  return count === 0 ? "nothing waits" : `${grouped(count)} ${count === 1 ? "waits" : "wait"} for you`;
}

function Filter({
  kind,
  words,
  items,
  wanted,
}: {
  readonly kind: InboxKind | null;
  readonly words: string;
  readonly items: readonly InboxItem[];
  readonly wanted: InboxKind | null;
}) {
  const count = kind === null ? items.length : items.filter((item) => item.kind === kind).length;
  return (
    <button
      type="button"
      class={`ghost ${kind !== null && count === 0 ? "optional" : ""}`}
      aria-pressed={kind === wanted}
      onClick={() => setQuery({ kind, c: null, b: null })}
    >
      {words} <span class={count === 0 ? "zero" : ""}>{grouped(count)}</span>
    </button>
  );
}

function Nothing({ isGone, isFiltered }: { readonly isGone: boolean; readonly isFiltered: boolean }) {
  if (isGone)
    return (
      <div class="empty">
        <h2>This does not wait any more</h2>
        <p>Somebody has answered it, or its run has ended.</p>
        <button type="button" class="button" onClick={() => setQuery({ c: null, b: null })}>
          Show what waits
        </button>
      </div>
    );
  return (
    <div class="empty">
      <h2>{isFiltered ? "Nothing of this kind waits" : "Nothing waits for you"}</h2>
      <p>
        A call of a tool with needsApproval comes here before it begins, and a run that was cut off when its process
        ends.
      </p>
    </div>
  );
}
