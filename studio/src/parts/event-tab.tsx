import type { z } from "zod";
import type { catDocument } from "../../../src/apps/documents/conversations.ts";
import { grouped } from "../format.ts";
import { useLoaded } from "../source.ts";
import type { TabProps } from "./actor-name.tsx";
import { Failure, Skeleton } from "./failure.tsx";

type StoredEvent = z.infer<typeof catDocument>;

/** The event as the store holds it. */
export function EventTab({ conversation, revision, version }: TabProps) {
  const { data, error, isSlow, retry } = useLoaded<StoredEvent>(`/api/c/${conversation}/cat/${revision}`, version);
  if (error !== null) return <Failure error={error} what="The event cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} /> : null;
  const facts: readonly (readonly [string, string])[] = [
    ["Type", `${data.type}, version ${data.version}`],
    ["At", data.at],
    ["Digest", data.digest],
    ["Previous digest", data.previousDigest ?? "none: it is the first event"],
    ["Stored as", data.encoding],
  ];
  return (
    <div>
      {data.problem === null ? null : (
        <div class="banner bad">
          <span />
          <div>
            <h2>Event r{grouped(revision)} cannot be relied on</h2>
            <p>
              {data.problem}. <span class="mono">turnlog verify</span> checks everything before and after it.
            </p>
          </div>
        </div>
      )}
      <dl class="event-facts">
        {facts.map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd key={`${name} value`} class={name.includes("igest") ? "mono" : ""}>
              {value}
            </dd>
          </>
        ))}
        <dt>Actor</dt>
        <dd class="mono">{JSON.stringify(data.actor)}</dd>
      </dl>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls has to be reached by keyboard. */}
      <pre class="json" tabIndex={0}>
        {typeof data.data === "string" ? data.data : JSON.stringify(data.data, null, 2)}
      </pre>
    </div>
  );
}
