import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ForkRow, ForksDocument } from "../../../src/apps/studio/fork-documents.ts";
import { age, counted, grouped } from "../format.ts";
import { useCommands } from "../keys.ts";
import { changes } from "../live.ts";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { LeftIcon } from "../parts/icons.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Shell } from "../parts/shell.tsx";
import { conversationPath, follow, go, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";

/** What was tried from where: conversations that began from one another, as an indented list. */
export function ForksPage({ id }: { readonly id: string }) {
  const { data, error, isSlow, retry } = useLoaded<ForksDocument>(`/api/c/${id}/forks`, changes.value);
  const chosen = useSignal<string>(id);
  const rows = data?.rows ?? [];
  const place = Math.max(
    0,
    rows.findIndex(({ conversation }) => conversation === chosen.value),
  );
  const select = (next: number): void => {
    chosen.value = rows[Math.max(0, Math.min(rows.length - 1, next))]?.conversation ?? id;
  };
  const parent = (): number => {
    const depth = rows[place]?.depth ?? 0;
    return depth === 0 ? place : rows.findLastIndex((row, index) => index < place && row.depth < depth);
  };
  const back = conversationPath(id);
  useCommands([
    { key: "j  ArrowDown", words: "Next conversation", group: "Forks", run: () => select(place + 1) },
    { key: "k  ArrowUp", words: "Previous conversation", group: "Forks", run: () => select(place - 1) },
    { key: "ArrowLeft", words: "The one that it began from", group: "Forks", run: () => select(parent()) },
    { key: "Enter", words: "Open the conversation", group: "Forks", run: () => go(conversationPath(chosen.value)) },
    { key: "Escape", words: "Back to the conversation", group: "Forks", run: () => go(back) },
  ]);
  return (
    <Shell
      title="Forks"
      foot={
        <>
          <span>{data === null ? "" : counted(rows.length, "conversation")}</span>
          <KeyHints
            hints={[
              [["j", "k"], "move"],
              [["Enter"], "open"],
            ]}
          />
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <a
            class="ghost"
            href={hrefOf(back)}
            aria-label="Back to the conversation"
            onClick={(event) => follow(event, back)}
          >
            <LeftIcon />
          </a>
          <h1>Forks</h1>
          <span class="text-3 cut">{rows[0]?.title ?? id}</span>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard. */}
        <div class="list-scroll" tabIndex={0} role="region" aria-label="Forks">
          {error === null ? null : <Failure error={error} what="The forks cannot be listed" retry={retry} />}
          {data === null && isSlow ? <Skeleton rows={6} /> : null}
          {data === null ? null : (
            <>
              <div class="fork-row fork-head small text-3" aria-hidden="true">
                <span>Conversation</span>
                <span class="num">Began at</span>
                <span class="num mid-only">Events</span>
                <span class="num mid-only">Chained</span>
                <span class="num mid-only">Rebased</span>
                <span class="num mid-only">Full</span>
                <span class="num">Last</span>
              </div>
              <div role="tree" aria-label="Conversations that began from one another">
                {rows.map((row) => (
                  <Row
                    key={row.conversation}
                    row={row}
                    isChosen={row.conversation === chosen.value}
                    isHere={row.conversation === id}
                  />
                ))}
              </div>
              {rows.length > 1 ? null : (
                <p class="costs-none">Nothing was forked from it. turnlog fork {id}@REVISION begins one.</p>
              )}
              {data.hasMore ? <p class="costs-none">More conversations may belong to it than are listed.</p> : null}
            </>
          )}
        </div>
      </main>
    </Shell>
  );
}

function Row({
  row,
  isChosen,
  isHere,
}: {
  readonly row: ForkRow;
  readonly isChosen: boolean;
  readonly isHere: boolean;
}) {
  const { conversation, title, depth, origin, from, events, chained, rebased, full, lastAt, state } = row;
  const own = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isChosen) own.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const to = conversationPath(conversation);
  return (
    <a
      ref={own}
      role="treeitem"
      class="fork-row"
      href={hrefOf(to)}
      aria-level={depth + 1}
      aria-selected={isChosen}
      aria-current={isHere ? "true" : undefined}
      onClick={(event) => follow(event, to)}
    >
      <span class="fork-title cut" style={{ paddingInlineStart: `${Math.min(depth, 12) * 20}px` }}>
        {depth === 0 ? null : <span class="branch" aria-hidden="true" />}
        <span class={`cut ${isHere ? "strong" : ""}`}>{title ?? conversation}</span>
        {title === null ? <span class="text-3"> not in this store</span> : null}
        {origin === "child" ? <span class="text-3"> child</span> : null}
        {isHere ? <span class="text-3"> this one</span> : null}
        {state === null ? null : <span class="warn"> {state === "parked" ? "waits" : state}</span>}
      </span>
      <span class="num code">{from === null ? "" : `r${grouped(from)}`}</span>
      <span class="num mid-only">{grouped(events)}</span>
      <Count of={chained} />
      <Count of={rebased} tone="warn" />
      <Count of={full} />
      <span class="num text-2">{lastAt === null ? "" : age(lastAt)}</span>
    </a>
  );
}

const Count = ({ of, tone = "" }: { readonly of: number; readonly tone?: string }) => (
  <span class={`num mid-only ${of === 0 ? "zero" : tone}`}>{grouped(of)}</span>
);
