import { useSignal } from "@preact/signals";
import type { VerifiedDocument } from "../../../src/apps/studio/page-documents.ts";
import { age, counted, grouped } from "../format.ts";
import type { Overview } from "../overview.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";
import { copyLink } from "./copy.ts";
import { CheckIcon, LeftIcon, RightIcon, WarnIcon } from "./icons.tsx";
import { numberIn } from "./revision.ts";

type HeadProps = {
  readonly overview: Overview;
  readonly revision: number;
  readonly isFollowing: boolean;
  readonly onSelect: (revision: number, how?: "push" | "replace") => void;
  readonly onFollow: () => void;
  readonly onLog: () => void;
};

/** The conversation, its verification, and the revision. */
export function Head({ overview, revision, isFollowing, onSelect, onFollow, onLog }: HeadProps) {
  const { conversation: id, events, parent } = overview;
  const copied = useSignal(false);
  return (
    <div class="head">
      <h1 class="cut">{overview.title ?? (overview.begins === "" ? id : overview.begins)}</h1>
      <span class="id code cut">{id}</span>
      {parent === null ? null : (
        <a
          class="small"
          href={hrefOf(conversationPath(parent.conversation, parent.revision))}
          onClick={(event) => follow(event, conversationPath(parent.conversation, parent.revision))}
        >
          fork of {parent.conversation.slice(0, 12)}…
          {parent.revision === null ? "" : ` at r${grouped(parent.revision)}`}
        </a>
      )}
      <span class="head-links small">
        <PageLink to={`/c/${encodeURIComponent(id)}/forks`} words="Forks" />
        <PageLink to={`/c/${encodeURIComponent(id)}/what-if?r=${revision}`} words="What if" />
      </span>
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
            style={{ width: `${String(events).length}ch` }}
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

const PageLink = ({ to, words }: { readonly to: string; readonly words: string }) => (
  <a class="ghost" href={hrefOf(to)} onClick={(event) => follow(event, to)}>
    {words}
  </a>
);

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
  if (data?.isPossible === false) return null;
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
