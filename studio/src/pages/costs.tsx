import { useSignal } from "@preact/signals";
import type { z } from "zod";
import type { cacheDocument } from "../../../src/apps/documents/caching.ts";
import type { billDocument } from "../../../src/apps/documents/stores.ts";
import type { MissesDocument } from "../../../src/apps/studio/misses-document.ts";
import type { StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import { useCommands } from "../keys.ts";
import { changes } from "../live.ts";
import { Figures, Notes } from "../parts/cost-figures.tsx";
import { MissesByCause, Worst, WorstBanner } from "../parts/cost-misses.tsx";
import { Rows } from "../parts/cost-rows.tsx";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Shell } from "../parts/shell.tsx";
import { route, setQuery } from "../route.ts";
import { useLoaded } from "../source.ts";

type Bill = z.infer<typeof billDocument>;
type Caches = z.infer<typeof cacheDocument>;

const kinds = ["layer", "model", "conversation", "day", "provider", "run"] as const;
const usual = "layer";

/** What conversations cost, and who made it so: the numbers of `turnlog bill` and `turnlog cache`. */
export function Costs() {
  const { query } = route.value;
  const by = query.get("by") ?? usual;
  const since = query.get("since") ?? "";
  const after = since === "" ? "" : `since=${encodeURIComponent(since)}`;
  const wanted = (kind: string): string => `/api/bill?by=${encodeURIComponent(kind)}&${after}`;
  const store = useLoaded<StoreDocument>("/api/store");
  const { data, error, isSlow, isOld, retry } = useLoaded<Bill>(wanted(by), changes.value);
  const days = useLoaded<Bill>(wanted("day"), changes.value);
  const caches = useLoaded<Caches>(`/api/cache?${after}`, changes.value);
  const misses = useLoaded<MissesDocument>(`/api/misses?${after}`, changes.value);
  const label = useSignal(by.startsWith("label:") ? by.slice(6) : "");
  useCommands([
    ...kinds.map((kind) => ({
      key: "",
      words: `Costs by ${kind}`,
      group: "Costs",
      run: () => setQuery({ by: kind === usual ? null : kind }),
    })),
    {
      key: "y",
      words: "Copy as JSON",
      group: "Costs",
      run: () => void navigator.clipboard.writeText(JSON.stringify({ version: 1, data }, null, 2)),
    },
  ]);
  const flags = `${since === "" ? "" : ` --since ${since}`}${store.data?.prices == null ? "" : ` --prices ${store.data.prices}`}`;
  return (
    <Shell
      title="Costs"
      foot={
        <>
          <span class="cut">
            the same numbers as <span class="mono">{`turnlog bill --by ${by}${flags}`}</span> and{" "}
            <span class="mono">{`turnlog cache --all${flags}`}</span>
          </span>
          <KeyHints hints={[[["y"], "copy as JSON"]]} />
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <h1>Costs</h1>
          <span class="text-3">{since === "" ? "all time, UTC" : `since ${since}, UTC`}</span>
          <div class="right filters">
            <span class="text-3">by</span>
            {kinds.map((kind) => (
              <button
                key={kind}
                type="button"
                class={`ghost ${kind === "run" || kind === "provider" || kind === "day" ? "optional" : ""}`}
                aria-pressed={by === kind}
                onClick={() => setQuery({ by: kind === usual ? null : kind })}
              >
                {kind}
              </button>
            ))}
            <label class="ghost optional">
              label
              <input
                class="label-field mono"
                size={10}
                placeholder="name"
                aria-label="Name of a label"
                value={label.value}
                onInput={(event) => (label.value = event.currentTarget.value)}
                onChange={() => setQuery({ by: label.value.trim() === "" ? null : `label:${label.value.trim()}` })}
              />
            </label>
            <label class="ghost optional">
              since
              <input
                class="label-field mono"
                type="date"
                aria-label="Since"
                value={since}
                onChange={(event) => setQuery({ since: event.currentTarget.value })}
              />
            </label>
            <span class="code optional">
              {data?.prices == null
                ? ""
                : `${data.prices.file.split("/").at(-1) ?? ""} ${data.prices.sha256.slice(0, 4)}…${data.prices.sha256.slice(-2)}`}
            </span>
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a page that scrolls has to be reached by keyboard. */}
        <div class="list-scroll" tabIndex={0} role="region" aria-label="Costs" aria-busy={isOld}>
          {error !== null ? <Failure error={error} what="The bill cannot be made" retry={retry} /> : null}
          {data === null && error === null && isSlow ? <Skeleton rows={12} /> : null}
          {data === null ? null : (
            <>
              <Figures bill={data} days={days.data} caches={caches.data} misses={misses.data} />
              <WorstBanner caches={caches.data} misses={misses.data} />
              <Notes bill={data} hasPrices={store.data?.prices != null} />
              <Rows bill={data} by={data.by} />
              {caches.error === null ? null : (
                <Failure error={caches.error} what="The misses cannot be added up" retry={caches.retry} />
              )}
              {caches.data === null || data.total.requests === 0 ? null : <MissesByCause caches={caches.data} />}
              {misses.data === null ? null : <Worst misses={misses.data} hasPrices={store.data?.prices != null} />}
            </>
          )}
        </div>
      </main>
    </Shell>
  );
}
