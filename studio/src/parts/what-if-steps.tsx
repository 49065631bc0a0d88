import { useEffect, useRef } from "preact/hooks";
import type { CounterfactualDocument, StepDocument } from "../../../src/apps/documents/running.ts";
import { bytes, counted, grouped } from "../format.ts";
import { ChainSign, CheckIcon, WarnIcon } from "./icons.tsx";

type Step = CounterfactualDocument["steps"][number];

/** The same bytes with the same meaning. */
export const isAsRecorded = ({ isSame, readsSame }: Step): boolean => isSame && readsSame;

/** What came out, in one sentence. */
export function Verdict({
  result,
  wanted,
}: {
  readonly result: CounterfactualDocument;
  readonly wanted: string | null;
}) {
  const { steps, recorded, otherwise, failures, unknown } = result;
  const differing = steps.filter((step) => !isAsRecorded(step)).length;
  const title =
    differing === 0
      ? `All ${counted(steps.length, "request")} would have been the same`
      : `${grouped(differing)} of ${counted(steps.length, "request")} would have been different`;
  const isSame = differing === 0 && failures.length === 0;
  return (
    <section class={`banner ${isSame ? "" : "warn"}`} aria-label="Verdict" role="status">
      {isSame ? <CheckIcon /> : <WarnIcon class="warn" />}
      <div>
        <h2>{title}</h2>
        <p>
          Broken chains: {grouped(recorded.broken)} before, {grouped(otherwise.broken)} then. Sent:{" "}
          {bytes(recorded.bytes)} before, {bytes(otherwise.bytes)} then.
          {unknown === null ? "" : ` Unknown from there on: ${unknown.what}, in ${unknown.runId}.`}
          {failureWords(failures)}
          {wanted === null ? "" : ` No request at r${grouped(Number(wanted))} was made again.`}
        </p>
      </div>
    </section>
  );
}

/** How many ways to fail are told. */
const mostFailures = 3;

/** Runs that fail in the same way are told at once, with the first of them. */
function failureWords(failures: CounterfactualDocument["failures"]): string {
  const wayOf = ({ layer, kind, message }: (typeof failures)[number]): string => JSON.stringify([layer, kind, message]);
  const ways = [...Map.groupBy(failures, wayOf).values()];
  const told = ways.slice(0, mostFailures).map(([first, ...more]) => {
    if (first === undefined) return "";
    const { runId, kind, message, layer } = first;
    const who = more.length === 0 ? runId : `${counted(more.length + 1, "run")}, ${runId} first,`;
    return ` ${who} would have failed${layer === null ? "" : ` by layer ${layer}`} (${kind}): ${message}.`;
  });
  const rest = ways.slice(mostFailures).flat().length;
  return `${told.join("")}${rest === 0 ? "" : ` ${counted(rest, "further run")} would have failed otherwise.`}`;
}

/** Every request of either stack, side by side. */
export function Steps({
  result,
  chosen,
  select,
}: {
  readonly result: CounterfactualDocument;
  readonly chosen: number;
  readonly select: (step: number) => void;
}) {
  const row = useRef<HTMLButtonElement>(null);
  useEffect(() => row.current?.scrollIntoView({ block: "nearest" }), [chosen]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard.
    <div class="what-if-steps" tabIndex={0} role="region" aria-label="Requests">
      <div class="step-row step-head small text-3" aria-hidden="true">
        <span>Request</span>
        <span>As it was</span>
        <span>As it would have been</span>
      </div>
      <ol>
        {result.steps.map((step, place) => (
          <li key={`${step.runId} ${place}`}>
            <button
              type="button"
              ref={place === chosen ? row : null}
              class="step-row"
              aria-current={place === chosen ? "true" : undefined}
              onClick={() => select(place)}
            >
              <span class="code">
                {step.recorded?.revision == null ? "new" : `r${grouped(step.recorded.revision)}`}
              </span>
              <Side facts={step.recorded} none="not sent" />
              {isAsRecorded(step) ? (
                <span class="text-3">the same</span>
              ) : (
                <Side
                  facts={step.otherwise}
                  none="not sent"
                  note={step.isSame ? "read differently" : step.readsSame ? "reads the same" : ""}
                />
              )}
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Side({
  facts,
  none,
  note = "",
}: {
  readonly facts: StepDocument | null;
  readonly none: string;
  readonly note?: string;
}) {
  if (facts === null) return <span class="text-3">{none}</span>;
  const { strategy, reason } = facts;
  const verdict = strategy === "full" && reason === "first-request" ? "first" : strategy;
  return (
    <span class="step-side">
      <ChainSign verdict={verdict} />
      <span>{verdict}</span>
      <span class="num">{bytes(facts.bytes)}</span>
      {note === "" ? null : <span class="text-3 small">{note}</span>}
    </span>
  );
}
