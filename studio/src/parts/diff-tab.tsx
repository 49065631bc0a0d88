import type { DiffPage } from "../../../src/apps/studio/page-documents.ts";
import { counted, grouped } from "../format.ts";
import { blockPath, follow, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";
import { ActorName, type TabProps } from "./actor-name.tsx";
import { Difference } from "./difference.tsx";
import { Failure, Skeleton } from "./failure.tsx";

/** What an event changed, or what changed since another one. */
export function DiffTab({ conversation, revision, version, base }: TabProps & { readonly base: number | null }) {
  const from = base ?? Math.max(0, revision - 1);
  const { data, error, isSlow, retry } = useLoaded<DiffPage>(
    `/api/c/${conversation}/diff?base=${from}&to=${revision}&texts=1`,
    version,
  );
  if (error !== null) return <Failure error={error} what="The difference cannot be made" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={6} /> : null;
  const { texts, changes } = data;
  return (
    <div>
      <div class="body-head">
        From r{grouped(data.from.revision)} to r{grouped(data.to.revision)}
        {base === null ? ", what this event changed" : ", in sum"}
        <span class="right text-3 mid-only">
          <kbd>m</kbd> marks a base, <kbd>d</kbd> compares from it
        </span>
      </div>
      {texts.length === 0 ? <p class="empty text-3">The Turn is the same before and after.</p> : null}
      {texts.map(({ what, index, label, id, by, difference }) => {
        const story = blockPath(conversation, id);
        return (
          <section key={what + id} class="diff-block">
            <h2>
              <span class="code">{grouped(index)}</span>
              <a href={hrefOf(story)} onClick={(event) => follow(event, story)}>
                {label}
              </a>
              <span class="text-2">{what} by</span> <ActorName actor={by} />
            </h2>
            {difference === null ? null : <Difference difference={difference} />}
          </section>
        );
      })}
      {changes > texts.length ? (
        <p class="body-head">
          {counted(changes - texts.length, "more block")} changed: step through the log to see them.
        </p>
      ) : null}
    </div>
  );
}
