import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { OverviewDocument, StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import type { WhatIfChoices, WhatIfDocument } from "../../../src/apps/studio/what-if-documents.ts";
import { useCommands } from "../keys.ts";
import { heads } from "../live.ts";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { LeftIcon } from "../parts/icons.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Shell } from "../parts/shell.tsx";
import { Bodies } from "../parts/what-if-bodies.tsx";
import { isAsRecorded, Steps, Verdict } from "../parts/what-if-steps.tsx";
import { conversationPath, follow, go, hrefOf, route, setQuery } from "../route.ts";
import { useLoaded } from "../source.ts";

/** How often it is asked how far the runs are that are made again. */
const everyMs = 300;

/** What would have been without a layer, or with another stack, beside what was. */
export function WhatIfPage({ id }: { readonly id: string }) {
  const { query } = route.value;
  const store = useLoaded<StoreDocument>("/api/store");
  const overview = useLoaded<OverviewDocument>(`/api/c/${id}?groups=0&requests=0`);
  const choices = store.data?.whatIf ?? null;
  const asked = askedOf(query, choices);
  const turn = useSignal(0);
  const path = asked === null ? null : `/api/c/${id}/what-if?without=${encodeURIComponent(asked.without)}`;
  const { data, error, isOld, retry } = useLoaded<WhatIfDocument>(path, `${heads.value.get(id) ?? -1} ${turn.value}`);
  const running = data?.running ?? null;
  const isRunning = running !== null;
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setTimeout(() => (turn.value += 1), everyMs);
    return () => clearTimeout(timer);
  }, [data]);
  const result = isOld && !isRunning ? null : (data?.result ?? null);
  const steps = result?.steps ?? [];
  const differing = steps.flatMap((step, place) => (isAsRecorded(step) ? [] : [place]));
  const wanted = query.get("r");
  // A link from a report names the request by its revision.
  const linked = wanted === null ? -1 : steps.findIndex(({ recorded }) => recorded?.revision === Number(wanted));
  const chosen = query.has("step")
    ? Math.min(Math.max(0, steps.length - 1), Number(query.get("step")) - 1)
    : linked >= 0
      ? linked
      : (result?.firstDifference ?? 0);
  const select = (step: number): void => {
    if (step >= 0 && step < steps.length) setQuery({ step: step + 1, r: null }, "replace");
  };
  const jump = (direction: 1 | -1): void => {
    const next =
      direction === 1 ? differing.find((place) => place > chosen) : differing.findLast((place) => place < chosen);
    if (next !== undefined) select(next);
  };
  const back = conversationPath(id, steps[chosen]?.recorded?.revision);
  useCommands([
    { key: "j  ArrowDown", words: "Next request", group: "What if", run: () => select(chosen + 1) },
    { key: "k  ArrowUp", words: "Previous request", group: "What if", run: () => select(chosen - 1) },
    { key: "n", words: "Next request that differs", group: "What if", run: () => jump(1) },
    { key: "N", words: "Previous request that differs", group: "What if", run: () => jump(-1) },
    { key: "Escape", words: "Back to the conversation", group: "What if", run: () => go(back) },
  ]);
  const command =
    asked === null
      ? "turnlog replay --without LAYER --stack FILE"
      : asked.without === ""
        ? `turnlog replay ${id} --with ${choices?.other ?? "FILE"}`
        : `turnlog replay ${id} --without ${asked.without} --stack ${choices?.stack?.file ?? "FILE"}`;
  return (
    <Shell
      title="What if"
      foot={
        <>
          <span class="cut">
            simulated, no provider is called: <span class="mono">{command}</span>
          </span>
          <KeyHints
            hints={[
              [["j", "k"], "move"],
              [["n"], "next difference"],
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
          <h1>What if</h1>
          <span class="text-3 cut">{overview.data?.title ?? overview.data?.begins ?? id}</span>
          <Choices choices={choices} asked={asked} />
        </div>
        <div class="what-if">
          {store.data !== null && choices === null ? (
            <NoStack />
          ) : error !== null ? (
            <Failure error={error} what="The runs cannot be made again" retry={retry} />
          ) : result === null ? (
            running === null ? (
              <Skeleton rows={6} />
            ) : (
              <Progress {...running} />
            )
          ) : (
            <>
              <Verdict result={result} wanted={linked < 0 ? wanted : null} />
              <div class="what-if-panes">
                <Steps result={result} chosen={chosen} select={select} />
                {steps.length === 0 ? null : (
                  <Bodies id={id} without={asked?.without ?? ""} step={chosen} version={heads.value.get(id) ?? -1} />
                )}
              </div>
            </>
          )}
        </div>
      </main>
    </Shell>
  );
}

type Asked = { readonly without: string };

/** Of the address; without a choice there, the other stack, or else the first layer of the user's. */
function askedOf(query: URLSearchParams, choices: WhatIfChoices | null): Asked | null {
  if (choices === null) return null;
  const without = query.get("without");
  if (without !== null) return { without };
  if (choices.other !== null) return { without: "" };
  const first = choices.stack?.layers[0];
  return first === undefined ? null : { without: first };
}

function Choices({ choices, asked }: { readonly choices: WhatIfChoices | null; readonly asked: Asked | null }) {
  const choose = (without: string | null) => () => setQuery({ without, step: null, r: null });
  return (
    <div class="right filters" role="group" aria-label="Stacks">
      {choices?.other == null ? null : (
        <button type="button" class="ghost" aria-pressed={asked?.without === ""} onClick={choose(null)}>
          with {choices.other.split("/").at(-1)}
        </button>
      )}
      {(choices?.stack?.layers ?? []).map((layer) => (
        <button key={layer} type="button" class="ghost" aria-pressed={asked?.without === layer} onClick={choose(layer)}>
          without {layer}
        </button>
      ))}
    </div>
  );
}

const NoStack = () => (
  <div class="empty">
    <h2>This studio has no stack to ask</h2>
    <p>The log has what layers did, but not their code. Start the studio with a module that exports the engine:</p>
    <pre>
      {
        "# without one of its layers\nturnlog studio --stack ./agent.ts\n# with another stack\nturnlog studio --with ./changed.ts"
      }
    </pre>
  </div>
);

function Progress({ events, total }: { readonly events: number; readonly total: number }) {
  const share = total === 0 ? 0 : Math.min(100, Math.floor((events / total) * 100));
  return (
    <div class="empty" role="status">
      <h2>Making the runs again: {share} %</h2>
      <progress class="progress" max={100} value={share} aria-label="Progress" />
    </div>
  );
}
