import { useSignal } from "@preact/signals";
import { describeCacheCause } from "../../../src/analysis/descriptions/describe-cache.ts";
import { describeRequestReason } from "../../../src/analysis/descriptions/describe-reason.ts";
import { endpointLabel } from "../../../src/analysis/descriptions/labels.ts";
import type { WhyPage } from "../../../src/apps/studio/why-page.ts";
import { bytes, counted, dateAndTime, grouped } from "../format.ts";
import { useLoaded } from "../source.ts";
import type { TabProps } from "./actor-name.tsx";
import { Failure, Skeleton } from "./failure.tsx";

/** How many contexts are on a page. */
const size = 40;

/** Why the request was sent as it was, and read from the prompt cache what it read: `turnlog why`. */
export function WhyTab({
  conversation,
  revision,
  version,
  onSelect,
}: TabProps & { readonly onSelect: (revision: number, how?: "push" | "replace") => void }) {
  const from = useSignal(0);
  const { data, error, isSlow, retry } = useLoaded<WhyPage>(
    `/api/c/${conversation}/why/${revision}?from=${from.value}&n=${size}`,
    version,
  );
  if (error !== null) return <Failure error={error} what="The request cannot be explained" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} /> : null;
  return (
    <div>
      <dl class="event-facts">
        {factsOf(data).map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd key={`${name} value`}>{value}</dd>
          </>
        ))}
      </dl>
      {data.all.candidates === 0 ? null : (
        <table class="rows-table">
          <caption class="sr">Contexts that servers were known to hold, the newest first</caption>
          <thead>
            <tr>
              <th class="w-kind">Context</th>
              <th class="num w-block">At</th>
              <th class="num w-block">Blocks</th>
              <th>Verdict</th>
              <th class="mid-only">Differs at</th>
            </tr>
          </thead>
          <tbody>
            {data.candidates.map(({ responseId, inferenceId, revision: at, length, verdict, divergence }) => (
              <tr key={inferenceId}>
                <td class="mono cut">{responseId}</td>
                <td class="num">
                  <button type="button" class="code" onClick={() => onSelect(at, "push")}>
                    r{grouped(at)}
                  </button>
                </td>
                <td class="num">{grouped(length)}</td>
                <td class={verdict === "taken" ? "strong" : "text-2"}>{verdict}</td>
                <td class="mid-only">{divergence === null ? "" : differenceWords(divergence)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data.all.candidates <= size ? null : (
        <div class="stack-pager body-head">
          <button type="button" class="button" disabled={from.value === 0} onClick={() => (from.value -= size)}>
            Newer contexts
          </button>
          {grouped(from.value + 1)} to {grouped(from.value + data.candidates.length)} of {grouped(data.all.candidates)}
          <button
            type="button"
            class="button"
            disabled={from.value + size >= data.all.candidates}
            onClick={() => (from.value += size)}
          >
            Older contexts
          </button>
        </div>
      )}
    </div>
  );
}

type Fact = readonly [name: string, value: string];

function factsOf(why: WhyPage): readonly Fact[] {
  const { decision, mode, modeChosen, scope, model, route, failedBefore, brokenBy, before, cache } = why;
  const reason = decision.reason === null ? "" : `: ${describeRequestReason(decision.reason)}`;
  const full = why.fullBytes === null ? "" : ` of ${bytes(why.fullBytes)} in full`;
  return [
    ["Request", `r${grouped(why.revision)}, attempt ${grouped(why.attempt + 1)}, ${dateAndTime(why.at)}`],
    ["Decision", `${decision.strategy}${reason}`],
    [
      "Sent",
      `${counted(why.blocks - decision.sendFrom, "block")} of ${grouped(why.blocks)}, ${bytes(why.bytes)}${full}`,
    ],
    ["Mode", `${mode}${modeChosen === null ? "" : `, chosen by the engine: ${modeChosen}`}`],
    [
      "Asked",
      `${endpointLabel(scope)}${model === null ? "" : `, model ${model}`}${route === null ? "" : `, route ${route}`}`,
    ],
    ...failedBefore.map((failed): Fact => ["Failed before", endpointLabel(failed)]),
    ...(brokenBy === null ? [] : [["Chain broken by", `${differenceWords(brokenBy)}, ${brokenBy.block}`] as const]),
    ...(before === null
      ? []
      : [
          [
            "Against",
            `r${grouped(before.revision)}: settings ${before.changedSettings.join(", ") || "unchanged"}`,
          ] as const,
        ]),
    ["Prompt cache", cacheFact(cache)],
    ...(cache.unit === null
      ? []
      : [["Not shared from", `${cache.unit.path}${cache.unit.name === null ? "" : ` (${cache.unit.name})`}`] as const]),
    ...(cache.against === null
      ? []
      : [["Shares most with", `the request at r${grouped(cache.against.revision)}`] as const]),
  ];
}

function cacheFact({ cause, author, lost, expected }: WhyPage["cache"]): string {
  const by =
    author === null ? "" : `, by ${author.kind === "layer" ? `${author.name}@${author.version}` : author.kind}`;
  const again = lost === null || lost.tokens === 0 ? "" : `, ${counted(lost.tokens, "token")} paid again`;
  const had = expected === null ? "" : ` of ${grouped(expected.tokens)} that it had`;
  return `${describeCacheCause(cause)}${by}${again}${again === "" ? "" : had}`;
}

type Difference = NonNullable<WhyPage["candidates"][number]["divergence"]>;

function differenceWords({ index, change, actor }: Difference): string {
  const who =
    actor === null ? "" : actor.kind === "middleware" ? ` by ${actor.name}@${actor.version}` : ` by ${actor.kind}`;
  return `block ${grouped(index)}, ${change}${who}`;
}
