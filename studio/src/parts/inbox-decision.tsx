import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { InboxItem, InboxItemDocument } from "../../../src/apps/studio/inbox-documents.ts";
import type { StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import { printable, printableJson } from "../../../src/base/printable.ts";
import { age, dateAndTime, grouped, timeLeft } from "../format.ts";
import { heads } from "../live.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";
import { Field } from "./decision-field.tsx";
import { Failure, Skeleton } from "./failure.tsx";
import { InboxActions } from "./inbox-actions.tsx";
import { commandOf, consequencesOf, leadOf, questionOf } from "./inbox-words.ts";

/** One thing that waits: the question, what led to it, what follows each answer, and the answers. */
export function InboxDecision({
  item,
  writing,
  isThere,
  keep,
}: {
  readonly item: InboxItem;
  readonly writing: StoreDocument["writing"];
  /** False once it was answered. */
  readonly isThere: boolean;
  /** Keeps it in view after an answer. */
  readonly keep: (item: InboxItem) => void;
}) {
  const { conversation, blockId, kind, name } = item;
  const call = blockId === null ? "" : `?call=${encodeURIComponent(blockId)}`;
  const version = heads.value.get(conversation) ?? -1;
  const { data, error, isSlow, retry } = useLoaded<InboxItemDocument>(`/api/inbox/${conversation}${call}`, version);
  const title = useRef<HTMLHeadingElement>(null);
  const isLoaded = data !== null;
  // The title takes the focus, and no button: nothing is answered by a key that was meant for something else. Before it is painted, so that it takes the
  // focus from no field in which somebody types already.
  useLayoutEffect(() => {
    if (isLoaded) title.current?.focus({ preventScroll: true });
  }, [isLoaded]);
  const edited = useSignal<string | null>(null);
  const asked = useRef<InboxItemDocument | null>(null);
  if (error !== null && data === null) return <Failure error={error} what="This cannot be shown" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={8} /> : null;
  // What was asked stays beside its answer: the log does not ask it any more.
  if (asked.current === null || isAsked(data) || !isAsked(asked.current)) asked.current = data;
  const { waiting } = asked.current;
  const [before, after] = questionOf(kind);
  const [lead, strong] = leadOf(kind, asked.current);
  const to = conversationPath(conversation, data.revision);
  return (
    <article>
      <h2 ref={title} tabIndex={-1}>
        {before}
        {after === "" ? null : <span class="mono">{printable(name ?? "the call")}</span>}
        {after}
      </h2>
      <p class="lead">
        {lead}
        <strong>{printable(strong)}</strong>
      </p>
      {waiting === null ? null : (
        <Field name="Input">
          {edited.value === null || !isThere ? (
            <pre class="input">{printableJson(edited.value ?? JSON.stringify(waiting.input, null, 2))}</pre>
          ) : (
            <textarea
              class="input"
              id="edited-input"
              aria-label="Another input, as JSON"
              rows={Math.min(20, edited.value.split("\n").length + 1)}
              value={edited.value}
              onInput={(event) => (edited.value = event.currentTarget.value)}
            />
          )}
          <p class="small text-3">{inputWords(asked.current)}</p>
        </Field>
      )}
      <Field name="What led here">
        <Led document={asked.current} />
        <a href={hrefOf(to)} onClick={(event) => follow(event, to)}>
          Open the conversation at r{grouped(data.revision)}
        </a>
      </Field>
      <Field name="Then">
        {consequencesOf(kind, asked.current).map((sentence) => (
          <p key={sentence} class="text-2">
            {printable(sentence)}
          </p>
        ))}
      </Field>
      <Field name={kind === "expiring" ? "Last answer" : "Waits since"}>
        <p>
          {dateAndTime(item.since)}, {age(item.since)}
          <span class="text-3">{expiryWords(item)}</span>
        </p>
      </Field>
      {writing === null ? (
        <Read item={item} />
      ) : (
        <InboxActions item={item} document={data} writing={writing} isThere={isThere} edited={edited} keep={keep} />
      )}
    </article>
  );
}

/** Whether a call waits, or a run has failed. */
const isAsked = ({ waiting, failure }: InboxItemDocument): boolean => waiting !== null || failure !== null;

/** What is known of an input. */
function inputWords({ waiting }: InboxItemDocument): string {
  const digest = waiting?.digest == null ? [] : [`digest ${waiting.digest.slice(0, 4)}…${waiting.digest.slice(-2)}`];
  // A call with other arguments is not asked about.
  const fits = waiting?.inputSchema == null ? [] : ["fits the tool’s schema"];
  return [...fits, ...digest].join(" · ");
}

function Led({ document: { led, waiting } }: { readonly document: InboxItemDocument }) {
  if (led.length === 0) return <p class="text-3">Nothing was said.</p>;
  return (
    <ol class="led">
      {led.map(({ index, id, label, text }) => (
        <li key={id}>
          <span class="code num">{index}</span>
          <span class="text-2 cut">{label}</span>
          <span class={`cut ${id === waiting?.blockId ? "mono" : ""}`}>{text}</span>
        </li>
      ))}
    </ol>
  );
}

function expiryWords({ kind, expiresAt }: InboxItem): string {
  if (expiresAt === null) return "";
  if (Date.parse(expiresAt) <= Date.now())
    return kind === "expiring" ? " · expired" : " · expired: it counts as denied";
  const at = dateAndTime(expiresAt);
  return kind === "expiring"
    ? ` · continued from until ${at}, for ${timeLeft(expiresAt)}`
    : ` · expires ${at}, in ${timeLeft(expiresAt)}, then it is denied`;
}

/** A studio that only reads says how to answer. */
function Read({ item }: { readonly item: InboxItem }) {
  const command = commandOf(item);
  return (
    <Field name="Answer">
      {command === null ? (
        item.kind === "failed" ? (
          <p class="text-2">A program that calls conversation.run asks the model again.</p>
        ) : (
          <p class="text-2">Append a message and run, before it expires.</p>
        )
      ) : (
        <>
          <p class="text-2">In a terminal:</p>
          <pre class="input">{command}</pre>
        </>
      )}
      {item.kind === "expiring" ? null : (
        <p class="text-2">
          To answer on this page, start it with <span class="mono">--write --stack FILE --as NAME</span>.
        </p>
      )}
    </Field>
  );
}
