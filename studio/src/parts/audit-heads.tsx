import { useSignal } from "@preact/signals";
import type { AuditHeadsPage } from "../../../src/apps/studio/audit-documents.ts";
import { grouped } from "../format.ts";
import { useLoaded } from "../source.ts";
import { Place } from "./audit-verdict.tsx";
import { CheckIcon, WarnIcon } from "./icons.tsx";

const rows = 100;

/** The newest event of each stream: who keeps these elsewhere finds out if the end of a stream is cut off. */
export function Heads({ version }: { readonly version: string }) {
  const from = useSignal(0);
  const { data } = useLoaded<AuditHeadsPage>(`/api/audit/heads?from=${from.value}&n=${rows}`, version);
  if (data === null || data.total === 0) return null;
  const last = Math.min(data.total, from.value + rows);
  return (
    <>
      <table class="table">
        <caption>
          Heads{" "}
          <span>
            {"keep them elsewhere with turnlog verify --save-heads FILE: only they show that an end was cut off"}
          </span>
        </caption>
        <thead>
          <tr>
            <th>Newest event</th>
            <th>Digest of the chain</th>
            <th>Verified</th>
          </tr>
        </thead>
        <tbody>
          {data.heads.map(({ stream, conversation, revision, digest, isRight }) => (
            <tr key={stream}>
              <td class="cut">
                <Place stream={stream} conversation={conversation} revision={revision} />
              </td>
              <td class="code" title={digest}>
                {digest.slice(0, 16)}…
              </td>
              <td class={isRight === null ? "text-3" : ""}>
                {isRight === null ? (
                  "not yet"
                ) : isRight ? (
                  <CheckIcon class="good" label="right" />
                ) : (
                  <WarnIcon class="bad" label="damaged" />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {data.total <= rows ? null : (
        <p class="pages small text-3">
          <button type="button" class="ghost" disabled={from.value === 0} onClick={() => (from.value -= rows)}>
            Earlier
          </button>
          {grouped(from.value + 1)} to {grouped(last)} of {grouped(data.total)}
          <button type="button" class="ghost" disabled={last >= data.total} onClick={() => (from.value += rows)}>
            Later
          </button>
        </p>
      )}
    </>
  );
}
