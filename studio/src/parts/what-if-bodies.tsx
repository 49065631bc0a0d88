import { useEffect, useRef } from "preact/hooks";
import type { BodyRow, WhatIfStepDocument } from "../../../src/apps/studio/what-if-documents.ts";
import { bytes, counted, grouped } from "../format.ts";
import { useLoaded } from "../source.ts";
import { Failure, Skeleton } from "./failure.tsx";

/** The bodies of a request in two columns, at the first difference. */
export function Bodies({
  id,
  without,
  step,
  version,
}: {
  readonly id: string;
  readonly without: string;
  readonly step: number;
  readonly version: number;
}) {
  const path = `/api/c/${id}/what-if/${step}?without=${encodeURIComponent(without)}`;
  const { data, error, isOld, isSlow, retry } = useLoaded<WhatIfStepDocument | null>(path, version);
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => first.current?.scrollIntoView({ block: "center" }), [data]);
  if (error !== null) return <Failure error={error} what="The bodies cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} /> : <div />;
  const { recorded, otherwise, rows, problem, hasMore } = data;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls has to be reached by keyboard.
    <div class="bodies" tabIndex={0} role="region" aria-label="Bodies" aria-busy={isOld}>
      <div class="body-row bodies-head">
        <span>
          {recorded === null
            ? "Not sent"
            : `Sent${recorded.revision === null ? "" : ` at r${grouped(recorded.revision)}`}, ${bytes(recorded.bytes)}`}
        </span>
        <span>
          {otherwise === null ? "Would not have been sent" : `Would have been sent, ${bytes(otherwise.bytes)}`}
        </span>
      </div>
      {problem === null ? null : <p class="bad small note">The body that was sent cannot be built again: {problem}.</p>}
      {data.first === null && problem === null ? (
        <p class="text-3 small note">The bodies are the same{rows.length === 0 ? "" : ", byte for byte"}.</p>
      ) : null}
      <div class="fresh">
        {rows.map((row, place) => (
          <Row key={place} row={row} at={place === data.first ? first : null} />
        ))}
      </div>
      {hasMore ? <p class="text-3 small note">The rest of the bodies is not shown.</p> : null}
    </div>
  );
}

function Row({ row, at }: { readonly row: BodyRow; readonly at: { current: HTMLDivElement | null } | null }) {
  if (row.kind === "fold") return <div class="body-row fold small text-3">{counted(row.lines, "line")} the same</div>;
  const isChanged = row.kind === "changed";
  return (
    <div class={`body-row ${row.kind}`} ref={at}>
      <span class={row.left === null ? "none" : ""}>
        {isChanged && row.left !== null ? <del>{row.left}</del> : row.left}
      </span>
      <span class={row.right === null ? "none" : ""}>
        {isChanged && row.right !== null ? <ins>{row.right}</ins> : row.right}
      </span>
    </div>
  );
}
