import { useSignal } from "@preact/signals";
import type { StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import type { ReportDocument } from "../../../src/apps/studio/what-if-documents.ts";
import { counted, grouped } from "../format.ts";
import { useCommands } from "../keys.ts";
import { AuthorName } from "../parts/author-name.tsx";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { CheckIcon, WarnIcon } from "../parts/icons.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Shell } from "../parts/shell.tsx";
import { conversationPath, follow, go, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";

const pageSize = 20;

type Regressed = ReportDocument["conversations"][number];
type Difference = Regressed["differences"][number];

/** What `turnlog regress --report` found: each changed request opens in two columns. */
export function ReportPage() {
  const from = useSignal(0);
  const store = useLoaded<StoreDocument>("/api/store");
  const { data, error, isSlow, retry } = useLoaded<ReportDocument>(`/api/report?from=${from.value}&n=${pageSize}`);
  const chosen = useSignal(0);
  const rows = (data?.conversations ?? []).flatMap((each) =>
    each.differences.map((difference) => ({ conversation: each.conversation, difference })),
  );
  const canOpen = store.data?.whatIf != null;
  const open = (place: number): void => {
    const row = rows[place];
    if (row !== undefined)
      go(linkOf(row.conversation, row.difference, { canOpen, without: data?.summary.without ?? null }));
  };
  const step = (by: number): void => {
    chosen.value = Math.max(0, Math.min(rows.length - 1, chosen.value + by));
  };
  useCommands([
    { key: "j  ArrowDown", words: "Next changed request", group: "Report", run: () => step(1) },
    { key: "k  ArrowUp", words: "Previous changed request", group: "Report", run: () => step(-1) },
    { key: "Enter", words: "Open the request in two columns", group: "Report", run: () => open(chosen.value) },
  ]);
  let place = -1;
  return (
    <Shell
      title="Report"
      foot={
        <>
          <span class="cut">
            {canOpen || store.data === null ? (
              "written by turnlog regress --report"
            ) : (
              <>
                to open requests in two columns, start with <span class="mono">--with FILE</span>
              </>
            )}
          </span>
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
          <h1>Report</h1>
          <span class="code cut">{data?.file ?? ""}</span>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a page that scrolls has to be reached by keyboard. */}
        <div class="list-scroll" tabIndex={0} role="region" aria-label="Report">
          {error === null ? null : <Failure error={error} what="There is no report" retry={retry} />}
          {data === null && error === null && isSlow ? <Skeleton rows={8} /> : null}
          {data === null ? null : (
            <>
              <Summary summary={data.summary} />
              {data.conversations.map((each) => (
                <table class="table" key={each.conversation}>
                  <caption>
                    <a
                      href={hrefOf(conversationPath(each.conversation))}
                      onClick={(event) => follow(event, conversationPath(each.conversation))}
                    >
                      {each.conversation}
                    </a>
                    <span>
                      {each.message ??
                        `${grouped(each.changed)} of ${counted(each.requests, "request")} change${each.differences.length < each.changed ? `, the first ${each.differences.length} are listed` : ""}`}
                    </span>
                  </caption>
                  <thead>
                    <tr>
                      <th>Request</th>
                      <th>Culprit</th>
                      <th class="num mid-only">Bytes before</th>
                      <th class="num mid-only">Bytes now</th>
                      <th class="mid-only">Before</th>
                      <th class="mid-only">Now</th>
                      <th>Effect</th>
                    </tr>
                  </thead>
                  <tbody>
                    {each.differences.map((difference) => {
                      place += 1;
                      const own = place;
                      return (
                        <Row
                          key={`${difference.runId} ${difference.frame} ${difference.attempt}`}
                          conversation={each.conversation}
                          difference={difference}
                          link={{ canOpen, without: data.summary.without }}
                          isChosen={own === chosen.value}
                        />
                      );
                    })}
                  </tbody>
                </table>
              ))}
              {data.total <= pageSize ? null : (
                <p class="pages small text-3">
                  <button
                    type="button"
                    class="ghost"
                    disabled={from.value === 0}
                    onClick={() => (from.value -= pageSize)}
                  >
                    Earlier
                  </button>
                  {grouped(from.value + 1)} to {grouped(Math.min(data.total, from.value + pageSize))} of{" "}
                  {grouped(data.total)}
                  <button
                    type="button"
                    class="ghost"
                    disabled={from.value + pageSize >= data.total}
                    onClick={() => (from.value += pageSize)}
                  >
                    Later
                  </button>
                </p>
              )}
            </>
          )}
        </div>
      </main>
    </Shell>
  );
}

function Summary({ summary }: Pick<ReportDocument, "summary">) {
  const { differing, conversations, changed, requests, chains, caches, isComplete } = summary;
  const stacks = [summary.stack, summary.with, summary.without === null ? null : `without ${summary.without}`];
  const isSame = differing === 0;
  return (
    <section class={`banner ${isSame ? "" : "warn"}`} aria-label="Verdict" role="status">
      {isSame ? <CheckIcon /> : <WarnIcon class="warn" />}
      <div>
        <h2>
          {isSame
            ? `Nothing changes in ${counted(conversations, "conversation")}`
            : `${grouped(changed)} of ${counted(requests, "request")} change in ${grouped(differing)} of ${counted(conversations, "conversation")}`}
        </h2>
        <p>
          {counted(chains, "chain")} and {counted(caches, "prompt cache")} break.{" "}
          {stacks.filter((each) => each !== null).join(", ")}
          {isComplete ? "" : ". It was interrupted: the rest is not known"}
        </p>
      </div>
    </section>
  );
}

type Link = { readonly canOpen: boolean; readonly without: string | null };

function linkOf(conversation: string, { revision }: Difference, { canOpen, without }: Link): string {
  if (!canOpen) return conversationPath(conversation, revision);
  const layer = without === null ? "" : `without=${encodeURIComponent(without)}&`;
  return `/c/${encodeURIComponent(conversation)}/what-if?${layer}${revision === null ? "" : `r=${revision}`}`;
}

function Row({
  conversation,
  difference,
  link,
  isChosen,
}: {
  readonly conversation: string;
  readonly difference: Difference;
  readonly link: Link;
  readonly isChosen: boolean;
}) {
  const { revision, before, now, culprit } = difference;
  const to = linkOf(conversation, difference, link);
  return (
    <tr data-selected={isChosen}>
      <td>
        <a href={hrefOf(to)} onClick={(event) => follow(event, to)}>
          {revision === null ? "new" : `r${grouped(revision)}`}
        </a>
      </td>
      <td class="cut">
        {culprit.kind === "layer" ? (
          <AuthorName author={`${culprit.name}@${culprit.version ?? ""}`} />
        ) : (
          `${culprit.kind}:${culprit.name}`
        )}
      </td>
      <td class="num mid-only">{before === null ? "" : grouped(before.bytes)}</td>
      <td class="num mid-only">{now === null ? "" : grouped(now.bytes)}</td>
      <td class="mid-only">{before?.strategy ?? "not sent"}</td>
      <td class="mid-only">{now?.strategy ?? "not sent"}</td>
      <td class={difference.effect.breaksChain || difference.effect.breaksCache ? "warn" : "text-2"}>
        {effectWords(difference)}
      </td>
    </tr>
  );
}

function effectWords({ effect: { breaksChain, breaksCache, lostReasoning }, readsSame }: Difference): string {
  const found = [
    ...(breaksChain ? ["breaks the chain"] : []),
    ...(breaksCache ? ["breaks the cache"] : []),
    ...(lostReasoning > 0 ? [`${counted(lostReasoning, "reasoning block")} less`] : []),
  ];
  return found.length > 0 ? found.join(", ") : readsSame ? "reads the same" : "reads differently";
}
