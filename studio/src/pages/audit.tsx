import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuditDocument } from "../../../src/apps/studio/audit-documents.ts";
import { counted } from "../format.ts";
import { useCommands } from "../keys.ts";
import { changes } from "../live.ts";
import { Erasures } from "../parts/audit-erasures.tsx";
import { Heads } from "../parts/audit-heads.tsx";
import { Problems, Skipped, Verdict } from "../parts/audit-verdict.tsx";
import { copyText, saveFile } from "../parts/copy.ts";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Shell } from "../parts/shell.tsx";
import { load, useLoaded } from "../source.ts";

/** How often a verification is asked how far it is. */
const everyMs = 300;

/** Whether the log can be trusted: what `turnlog verify` finds, the heads, and what was erased and by whom. */
export function AuditPage() {
  const asked = useSignal(0);
  const { data, error, isSlow, retry } = useLoaded<AuditDocument>("/api/audit", `${changes.value} ${asked.value}`);
  const isRunning = data?.running != null;
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setTimeout(() => (asked.value += 1), everyMs);
    return () => clearTimeout(timer);
  }, [data]);
  const check = async (): Promise<void> => {
    if (isRunning || data?.isPossible === false) return;
    await load<AuditDocument>("/api/audit?now=1").catch(() => undefined);
    asked.value += 1;
  };
  const report = async (): Promise<string> => JSON.stringify(await load<unknown>("/api/audit/report"), null, 2);
  useCommands([
    { key: "v", words: "Verify the store", group: "Audit", run: () => void check() },
    {
      key: "s",
      words: "Save the report as JSON",
      group: "Audit",
      run: () => void report().then((text) => saveFile("turnlog-audit.json", text)),
    },
    { key: "y", words: "Copy the report as JSON", group: "Audit", run: () => void report().then(copyText) },
  ]);
  return (
    <Shell
      title="Audit"
      foot={
        <>
          <span class="cut">
            the same as <span class="mono">turnlog verify</span> and <span class="mono">turnlog erase</span>
          </span>
          <KeyHints
            hints={[
              [["v"], "verify"],
              [["s"], "save the report"],
            ]}
          />
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <h1>Audit</h1>
          <span class="text-3">
            {data?.events == null
              ? ""
              : `${counted(data.events, "event")} of ${counted(data.conversations ?? 0, "conversation")}`}
          </span>
          <div class="right filters">
            <button
              type="button"
              class="button"
              onClick={() => void report().then((text) => saveFile("turnlog-audit.json", text))}
            >
              Save the report
            </button>
            <button
              type="button"
              class="button primary"
              disabled={isRunning || data?.isPossible === false}
              onClick={() => void check()}
            >
              {data?.last == null ? "Verify" : "Verify again"}
            </button>
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a page that scrolls has to be reached by keyboard. */}
        <div class="list-scroll" tabIndex={0} role="region" aria-label="Audit">
          {error === null ? null : <Failure error={error} what="The store cannot be audited" retry={retry} />}
          {data === null && error === null && isSlow ? <Skeleton rows={8} /> : null}
          {data === null ? null : (
            <>
              <Verdict audit={data} />
              <Problems audit={data} />
              <Skipped audit={data} />
              <Erasures orders={data.orders} />
              <Heads version={`${data.last?.at ?? ""} ${changes.value}`} />
            </>
          )}
        </div>
      </main>
    </Shell>
  );
}
