import type { BlamePage } from "../../../src/apps/studio/blame-page.ts";
import { counted, grouped } from "../format.ts";
import { blockPath, follow, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";
import { ActorName, At, type TabProps } from "./actor-name.tsx";
import { Failure, Skeleton } from "./failure.tsx";

/** Who made and last changed each block of the Turn. */
export function BlameTab({
  conversation,
  revision,
  version,
  from,
  onPage,
}: TabProps & { readonly from: number; readonly onPage: (from: number) => void }) {
  const size = 60;
  const { data, error, isSlow, retry } = useLoaded<BlamePage>(
    `/api/c/${conversation}/blame/${revision}?from=${from}&n=${size}`,
    version,
  );
  if (error !== null) return <Failure error={error} what="Blame cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} /> : null;
  return (
    <div>
      <table class="rows-table">
        <thead>
          <tr>
            <th class="num w-block">Block</th>
            <th class="w-kind">Kind</th>
            <th class="w-actor">Made by</th>
            <th class="w-actor">Last changed by</th>
            <th class="mid-only">Text</th>
          </tr>
        </thead>
        <tbody>
          {data.blocks.map(({ id, index, label, made, changed, erased, versions, text }) => {
            const story = blockPath(conversation, id);
            const isChanged =
              changed !== null &&
              made !== null &&
              (changed.revision !== made.revision || changed.stream !== made.stream);
            return (
              <tr key={id}>
                <td class="num code">{grouped(index)}</td>
                <td class="cut">
                  <a href={hrefOf(story)} onClick={(event) => follow(event, story)}>
                    {label}
                  </a>
                </td>
                <td class="cut">
                  <ActorName actor={made?.actor ?? null} />{" "}
                  {made === null ? null : <At conversation={conversation} revision={made.revision} />}
                </td>
                <td class="cut">
                  {erased !== null ? (
                    <>
                      erased by <ActorName actor={erased.actor} />{" "}
                      <At conversation={conversation} revision={erased.revision} />
                    </>
                  ) : isChanged ? (
                    <>
                      <ActorName actor={changed.actor} /> <At conversation={conversation} revision={changed.revision} />{" "}
                      <span class="text-3">{versions.length > 2 ? `${versions.length - 1} changes` : ""}</span>
                    </>
                  ) : (
                    ""
                  )}
                </td>
                <td class="cut text-2 mid-only">{text}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {data.blocks.length === 0 ? <p class="empty text-3">The Turn has no blocks here.</p> : null}
      {data.total > data.blocks.length ? (
        <div class="stack-pager body-head">
          <button type="button" class="button" disabled={from === 0} onClick={() => onPage(Math.max(0, from - size))}>
            Earlier blocks
          </button>
          blocks {grouped(from)} to {grouped(from + data.blocks.length - 1)} of {grouped(data.total)}
          <button
            type="button"
            class="button"
            disabled={from + data.blocks.length >= data.total}
            onClick={() => onPage(from + data.blocks.length)}
          >
            Later blocks
          </button>
        </div>
      ) : null}
      {data.removed.length === 0 ? null : (
        <p class="body-head">
          {counted(data.allRemoved, "block")} no longer in the Turn:{" "}
          {data.removed.map(({ id, label }) => {
            const story = blockPath(conversation, id);
            return (
              <a key={id} href={hrefOf(story)} onClick={(event) => follow(event, story)}>
                {label}
              </a>
            );
          })}
        </p>
      )}
    </div>
  );
}
