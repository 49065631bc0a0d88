import type { z } from "zod";
import type { blameDocument, catDocument } from "../../../src/documents/conversations.ts";
import type { diffDocument } from "../../../src/documents/differences.ts";
import type { BodyDocument, StackDocument, TextDifference, TimeDocument } from "../../../src/studio/page-documents.ts";
import { bytes, counted, duration, grouped, timeOfDay } from "../format.ts";
import { hueOf } from "../layers.ts";
import { blockPath, conversationPath, follow } from "../route.ts";
import { load, useLoaded } from "../source.ts";
import { Difference } from "./difference.tsx";
import { Failure, Skeleton } from "./failure.tsx";
import { ActorSign, Diamond } from "./icons.tsx";

type TabProps = { readonly conversation: string; readonly revision: number; readonly version: number };
type Actor = NonNullable<z.infer<typeof blameDocument>["blocks"][number]["made"]>["actor"];

const labelOf = (actor: Actor): string => ("name" in actor ? actor.name : actor.kind);

/** Who an actor is, with a layer's hue. */
function ActorName({ actor }: { readonly actor: Actor | null }) {
  if (actor === null) return <span class="text-3">not told</span>;
  if (actor.kind !== "middleware") return <span>{labelOf(actor)}</span>;
  return (
    <span class={`hue ${hueOf(actor.name)}`}>
      <Diamond name={actor.name} number={null} /> {actor.name}
    </span>
  );
}

type ChangedTexts = {
  readonly what: string;
  readonly index: number;
  readonly label: string;
  readonly id: string;
  readonly by: Actor | null;
  readonly difference: TextDifference | null;
};
type DiffPage = z.infer<typeof diffDocument> & { readonly texts: readonly ChangedTexts[] };

/** What an event changed, or what changed since another one. */
export function DiffTab({ conversation, revision, version, base }: TabProps & { readonly base: number | null }) {
  const from = base ?? Math.max(0, revision - 1);
  const { data, error, isSlow, retry } = useLoaded<DiffPage>(
    `/api/c/${conversation}/diff?base=${from}&to=${revision}&texts=1`,
    version,
  );
  if (error !== null) return <Failure error={error} what="The difference cannot be made" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={6} /> : null;
  const { texts } = data;
  return (
    <div>
      <div class="body-head">
        From r{grouped(data.from.revision)} to r{grouped(data.to.revision)}
        {base === null ? ", what this event changed" : ", in sum"}
        <span class="right text-3">
          <kbd>m</kbd> marks a base, <kbd>d</kbd> compares from it
        </span>
      </div>
      {texts.length === 0 ? <p class="empty text-3">The Turn is the same before and after.</p> : null}
      {texts.map(({ what, index, label, id, by, difference }) => {
        const story = blockPath(conversation, id);
        return (
          <section key={what + id} class="diff-block">
            <h3>
              <span class="code">{grouped(index)}</span>
              <a href={story} onClick={(event) => follow(event, story)}>
                {label}
              </a>
              <span class="text-2">{what} by</span> <ActorName actor={by} />
            </h3>
            {difference === null ? null : <Difference difference={difference} />}
          </section>
        );
      })}
    </div>
  );
}

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
                <span class="code">{row.kind === "fold" ? `${row.from}–` : row.index}</span>
                <span class="cut">
                  {row.kind === "fold" ? `to ${row.to}, as they were` : `${row.label} ${row.request?.text ?? ""}`}
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
          <button type="button" class="button" disabled={from + size >= data.total} onClick={() => onPage(from + size)}>
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

type BlamePage = z.infer<typeof blameDocument> & { readonly total: number; readonly from: number };

/** Who made and last changed each block of the Turn. */
export function BlameTab({
  conversation,
  revision,
  version,
  from,
  onPage,
}: TabProps & { readonly from: number; readonly onPage: (from: number) => void }) {
  const size = 60;
  const { data, error, isSlow, retry } = useLoaded<BlamePage>(
    `/api/c/${conversation}/blame/${revision}?from=${from}&n=${size}`,
    version,
  );
  if (error !== null) return <Failure error={error} what="Blame cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} /> : null;
  return (
    <div>
      <table class="rows-table">
        <thead>
          <tr>
            <th style={{ width: "56px" }} class="num">
              Block
            </th>
            <th style={{ width: "150px" }}>Kind</th>
            <th style={{ width: "190px" }}>Made by</th>
            <th style={{ width: "210px" }}>Last changed by</th>
            <th>Text</th>
          </tr>
        </thead>
        <tbody>
          {data.blocks.map(({ id, index, label, made, changed, versions, text }) => {
            const story = blockPath(conversation, id);
            const isChanged =
              changed !== null &&
              made !== null &&
              (changed.revision !== made.revision || changed.stream !== made.stream);
            return (
              <tr key={id}>
                <td class="num code">{grouped(index)}</td>
                <td class="cut">
                  <a href={story} onClick={(event) => follow(event, story)}>
                    {label}
                  </a>
                </td>
                <td class="cut">
                  <ActorName actor={made?.actor ?? null} />{" "}
                  {made === null ? null : <At conversation={conversation} revision={made.revision} />}
                </td>
                <td class="cut">
                  {isChanged ? (
                    <>
                      <ActorName actor={changed.actor} /> <At conversation={conversation} revision={changed.revision} />{" "}
                      <span class="text-3">{versions.length > 2 ? `${versions.length - 1} changes` : ""}</span>
                    </>
                  ) : (
                    ""
                  )}
                </td>
                <td class="cut text-2">{text.slice(0, 240)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {data.blocks.length === 0 ? <p class="empty text-3">The Turn has no blocks here.</p> : null}
      {data.total > data.blocks.length ? (
        <div class="stack-pager body-head">
          <button type="button" class="button" disabled={from === 0} onClick={() => onPage(Math.max(0, from - size))}>
            Earlier blocks
          </button>
          blocks {grouped(from)} to {grouped(from + data.blocks.length - 1)} of {grouped(data.total)}
          <button type="button" class="button" disabled={from + size >= data.total} onClick={() => onPage(from + size)}>
            Later blocks
          </button>
        </div>
      ) : null}
      {data.removed.length === 0 ? null : (
        <p class="body-head">
          {counted(data.removed.length, "block")} no longer in the Turn:{" "}
          {data.removed.slice(0, 20).map(({ id, label }) => {
            const story = blockPath(conversation, id);
            return (
              <a key={id} href={story} onClick={(event) => follow(event, story)}>
                {label}
              </a>
            );
          })}
        </p>
      )}
    </div>
  );
}

function At({ conversation, revision }: { readonly conversation: string; readonly revision: number }) {
  const to = conversationPath(conversation, revision);
  return (
    <a class="code" href={to} onClick={(event) => follow(event, to)}>
      r{grouped(revision)}
    </a>
  );
}

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
  const most = 60;
  const at = Math.max(0, data.spans.findIndex((span) => span.revision >= revision) - most / 2);
  const shown = data.spans.slice(at, at + most);
  return (
    <div>
      <div class="body-head">
        <span>
          Run from r{grouped(data.from)} to r{grouped(data.to)}: <span class="strong">{duration(data.ms)}</span>
          {data.isOpen ? <span class="live"> so far, it goes on</span> : ""}
        </span>
        <span class="right text-3">since {timeOfDay(data.startedAt)}</span>
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
      {data.spans.length > shown.length ? (
        <p class="body-head">
          {counted(data.spans.length - shown.length, "more span")}: step through the log to see them.
        </p>
      ) : null}
    </div>
  );
}

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
            <h2>Event r{grouped(revision)} is not what was written</h2>
            <p>{data.problem}. Everything before it is sound; turnlog verify says more.</p>
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
