import type { BodyDocument } from "../../../src/apps/studio/page-documents.ts";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { bytes, counted, grouped } from "../format.ts";
import { load, useLoaded } from "../source.ts";
import type { TabProps } from "./actor-name.tsx";
import { Failure, Skeleton } from "./failure.tsx";

/** The body that was sent: what the server held in grey before it. */
export function BodyTab({
  conversation,
  revision,
  version,
  stack,
  from,
  onPage,
}: TabProps & {
  readonly stack: StackDocument | null;
  readonly from: number;
  readonly onPage: (from: number) => void;
}) {
  const size = 400;
  const { data, error, isSlow, retry } = useLoaded<BodyDocument>(
    `/api/c/${conversation}/body/${revision}?from=${from}&n=${size}`,
    version,
  );
  if (error !== null) return <Failure error={error} what="The body cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={12} height={18} /> : null;
  const held = stack?.rows.filter((row) => row.kind === "fold" || row.request?.sign === "held") ?? [];
  return (
    <div>
      <div class="body-head">
        <span>
          <span class="strong">{bytes(data.bytes)}</span> as sent at r{grouped(data.revision)} by {data.transport},{" "}
          {data.encoder}
        </span>
        <span class="code" title={data.sha256}>
          sha256 {data.sha256.slice(0, 12)}…
        </span>
        <span class="right">
          <button type="button" class="button" onClick={() => void copyBody(conversation, data.revision)}>
            Copy the body
          </button>
        </span>
      </div>
      {stack?.request?.anchor == null ? null : (
        <div class="body-held">
          <p>
            Not sent: {counted(stack.request.anchor.blocks, "block")} that the server holds under{" "}
            <span class="mono">{stack.request.anchor.id}</span>
          </p>
          <ul>
            {held.slice(0, 12).map((row) => (
              <li key={row.kind === "fold" ? `f${row.from}` : row.id}>
                <span>=</span>
                <span class="code">
                  {row.kind === "fold" ? `${grouped(row.from)}–${grouped(row.to)}` : grouped(row.index)}
                </span>
                <span class="cut">
                  {row.kind === "fold"
                    ? `${counted(row.to - row.from + 1, "block")} as they were`
                    : `${row.label} ${row.request?.text ?? ""}`}
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls has to be reached by keyboard. */}
      <pre class="lines" tabIndex={0}>
        {data.lines.join("\n")}
      </pre>
      {data.total > data.lines.length ? (
        <div class="stack-pager body-head">
          <button type="button" class="button" disabled={from === 0} onClick={() => onPage(Math.max(0, from - size))}>
            Earlier lines
          </button>
          lines {grouped(from + 1)} to {grouped(from + data.lines.length)} of {grouped(data.total)}
          <button
            type="button"
            class="button"
            disabled={from + data.lines.length >= data.total}
            onClick={() => onPage(from + data.lines.length)}
          >
            Later lines
          </button>
        </div>
      ) : null}
    </div>
  );
}

async function copyBody(conversation: string, revision: number): Promise<void> {
  const { bodyText } = await load<{ readonly bodyText: string }>(`/api/c/${conversation}/request/${revision}`);
  await navigator.clipboard.writeText(bodyText);
}
