import type { TimeDocument } from "../../../src/apps/studio/page-documents.ts";
import { counted, duration, grouped, timeOfDay } from "../format.ts";
import { hueOf } from "../layers.ts";
import { useLoaded } from "../source.ts";
import type { TabProps } from "./actor-name.tsx";
import { Failure, Skeleton } from "./failure.tsx";
import { ActorSign } from "./icons.tsx";

/** What took how long in the run, as tracing tools draw it. */
export function TimeTab({
  conversation,
  revision,
  version,
  onSelect,
}: TabProps & { readonly onSelect: (revision: number) => void }) {
  const { data, error, isSlow, retry } = useLoaded<TimeDocument>(`/api/c/${conversation}/time/${revision}`, version);
  if (error !== null) return <Failure error={error} what="Times cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={8} /> : null;
  const share = (ms: number): string => `${Math.min(100, (ms / data.ms) * 100)}%`;
  const { spans: shown, total } = data;
  return (
    <div style={{ "--revision": data.to < 1_000 ? "28px" : data.to < 10_000 ? "40px" : "52px" }}>
      <div class="body-head">
        <span>
          Run from r{grouped(data.from)} to r{grouped(data.to)}: <span class="strong">{duration(data.ms)}</span>
          {data.isOpen ? <span class="live"> so far, it goes on</span> : ""}
        </span>
        <span class="right text-3">since {timeOfDay(data.startedAt)} UTC</span>
      </div>
      {shown.map((span) => (
        <div
          key={span.revision}
          class="time-row"
          role="button"
          tabIndex={0}
          aria-current={span.revision === revision}
          onClick={() => onSelect(span.revision)}
          onKeyDown={(event) => {
            if (event.key === "Enter") onSelect(span.revision);
          }}
        >
          <span class="code num">{grouped(span.revision)}</span>
          <ActorSign sign={span.sign} layer={span.name.split(" ")[0] ?? null} number={span.layerNumber} />
          <span class={`cut ${span.isFailure ? "bad" : ""}`}>
            {span.name}
            {span.isFailure ? " failed" : ""}
          </span>
          <span class="time-track">
            <span
              class={`time-bar ${span.sign} ${span.verdict ?? ""} ${span.sign === "layer" ? hueOf(span.name.split(" ")[0] ?? "") : ""} ${span.ms === null ? "is-open" : ""}`}
              style={{
                left: share(span.fromMs),
                width: span.ms === null ? `${100 - Math.min(100, (span.fromMs / data.ms) * 100)}%` : share(span.ms),
              }}
            />
          </span>
          <span class="num text-3">
            {span.ms === null ? "…" : span.ms === 0 && span.sign === "layer" ? "" : duration(span.ms)}
          </span>
        </div>
      ))}
      {total > shown.length ? (
        <p class="body-head">{counted(total - shown.length, "more span")}: step through the log to see them.</p>
      ) : null}
    </div>
  );
}
