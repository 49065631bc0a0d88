import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ActedDocument, InboxItem, InboxItemDocument } from "../../../src/apps/studio/inbox-documents.ts";
import type { StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import { printableJson } from "../../../src/base/printable.ts";
import { focusOn } from "../focus-on.ts";
import { counted } from "../format.ts";
import { refreshInbox } from "../inbox.ts";
import { useCommands } from "../keys.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { SourceError, send } from "../source.ts";
import { Field } from "./decision-field.tsx";
import { Failure } from "./failure.tsx";
import { CheckIcon } from "./icons.tsx";

type Props = {
  readonly item: InboxItem;
  readonly document: InboxItemDocument;
  readonly writing: NonNullable<StoreDocument["writing"]>;
  readonly isThere: boolean;
  /** The input that the reader writes in place of the model's; null while they do not. */
  readonly edited: Signal<string | null>;
  readonly keep: (item: InboxItem) => void;
};

type Action = {
  readonly key: string;
  readonly words: string;
  readonly look: "primary" | "plain" | "bad";
  readonly run: () => void;
};

/** The answers to one thing that waits. */
export function InboxActions({ item, document, writing, isThere, edited, keep }: Props) {
  const reason = useSignal("");
  const result = useSignal("");
  const acted = useSignal<ActedDocument | null>(null);
  const failed = useSignal<SourceError | null>(null);
  const isAsking = useSignal(false);
  /** What cannot be taken back is asked twice. */
  const armed = useSignal(false);
  const answer = async (body: unknown): Promise<void> => {
    if (isAsking.value) return;
    isAsking.value = true;
    failed.value = null;
    keep(item);
    try {
      acted.value = await send<ActedDocument>(`/api/inbox/${item.conversation}`, body);
    } catch (error) {
      failed.value =
        error instanceof SourceError ? error : new SourceError({ code: "internal", message: String(error), hint: "" });
    }
    isAsking.value = false;
    armed.value = false;
    await refreshInbox();
  };
  // The document as it was when the answer came: a later one knows how the run has gone on.
  const seen = useRef(document);
  if (acted.value === null) seen.current = document;
  const actions =
    acted.value !== null || document.isGoing
      ? []
      : actionsOf({ item, document, edited, armed, reason: reason.value, result: result.value, answer, failed });
  useCommands(
    actions.map(({ key, words, run }) => ({
      ...{ key, words, group: "Inbox" },
      run: (event) => {
        // A key that is held down answers once.
        if (event?.repeat !== true) run();
      },
    })),
  );
  if (acted.value !== null)
    return <Acted acted={sinceThen(acted.value, seen.current === document ? null : document)} writing={writing} />;
  if (document.isGoing)
    return (
      <Field name="State">
        <p>The run goes on in this studio.</p>
      </Field>
    );
  if (!isThere && failed.value === null)
    return (
      <Field name="State">
        <p>It does not wait any more: somebody has answered it, or its run has ended.</p>
      </Field>
    );
  const takesReason = item.kind === "approval";
  const takesResult = item.kind === "doubt" || item.kind === "external";
  return (
    <>
      {takesReason ? (
        <Field name="Reason">
          <textarea
            class="reason"
            id="reason"
            rows={2}
            aria-label="Reason"
            placeholder="For the log, and for the model where you deny"
            value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
        </Field>
      ) : null}
      {takesResult ? (
        <Field name="Result">
          <textarea
            class="reason"
            id="result"
            rows={2}
            aria-label="Result"
            placeholder="JSON, or a text"
            value={result.value}
            onInput={(event) => (result.value = event.currentTarget.value)}
          />
        </Field>
      ) : null}
      {document.problem === null || failed.value !== null ? null : (
        <Field name="Last attempt">
          <p class="bad">{document.problem}</p>
        </Field>
      )}
      <div class="decision-field">
        <span />
        <div class="decision-buttons" aria-busy={isAsking.value}>
          {actions.map(({ key, words, look, run }) => (
            <button key={key} type="button" class={`button ${look}`} disabled={isAsking.value} onClick={run}>
              {words} <kbd>{key}</kbd>
            </button>
          ))}
          {actions.length === 0 ? null : <span class="small text-3 by">recorded as {writing.as}</span>}
        </div>
      </div>
      {failed.value === null ? null : <Failure error={failed.value} what="This was not done" />}
    </>
  );
}

type Choice = {
  readonly item: InboxItem;
  readonly document: InboxItemDocument;
  readonly edited: Signal<string | null>;
  readonly armed: Signal<boolean>;
  readonly failed: Signal<SourceError | null>;
  readonly reason: string;
  readonly result: string;
  readonly answer: (body: unknown) => Promise<void>;
};

function actionsOf(choice: Choice): readonly Action[] {
  const { item, document, answer, result } = choice;
  const { kind, blockId: call } = item;
  const settle = (body: object) => () => void answer({ do: "settle", call, ...body });
  const record: Action = {
    ...{ key: "s", words: "Record the result", look: kind === "external" ? "primary" : "plain" },
    run: () => {
      if (result.trim() === "") focusOn("result");
      else settle({ how: "result", output: resultOf(result) })();
    },
  };
  const leave: Action = { key: "u", words: "Give it up", look: "bad", run: settle({ how: "abandon" }) };
  switch (kind) {
    case "approval":
      return document.waiting === null ? [] : approvals(choice, document.waiting);
    case "doubt":
      return [{ key: "r", words: "Run it again", look: "plain", run: settle({ how: "rerun" }) }, record, leave];
    case "external":
      return [record, leave];
    case "cut-off":
    case "elsewhere":
      return runs(choice, kind === "elsewhere");
    case "failed":
      return [{ key: "r", words: "Run again", look: "primary", run: () => void answer({ do: "run" }) }];
    case "expiring":
      return [];
  }
}

function approvals(
  { item: { blockId: call }, edited, reason, answer, failed }: Choice,
  { digest, input }: NonNullable<InboxItemDocument["waiting"]>,
): readonly Action[] {
  const said = { call, digest, ...(reason.trim() === "" ? {} : { message: reason.trim() }) };
  if (edited.value !== null)
    return [
      {
        ...{ key: "a", words: "Approve with this input", look: "primary" },
        run() {
          const other = parsed(edited.value ?? "");
          if (other === undefined)
            failed.value = new SourceError({
              ...{ code: "input", message: "the input is not JSON", hint: "Give all arguments of the call." },
            });
          else void answer({ do: "approve", ...said, input: other });
        },
      },
      { key: "Escape", words: "Keep the model’s input", look: "plain", run: () => (edited.value = null) },
    ];
  return [
    { key: "a", words: "Approve", look: "primary", run: () => void answer({ do: "approve", ...said }) },
    {
      ...{ key: "e", words: "Approve with another input", look: "plain" },
      run() {
        edited.value = printableJson(JSON.stringify(input, null, 2));
        focusOn("edited-input");
      },
    },
    { key: "d", words: "Deny", look: "bad", run: () => void answer({ do: "deny", ...said }) },
  ];
}

/** A run that nobody goes on with. */
function runs({ armed, answer }: Choice, isElsewhere: boolean): readonly Action[] {
  const takeover = isElsewhere;
  return [
    {
      ...{ key: "r", words: isElsewhere ? "Take it over" : "Resume", look: "primary" },
      run: () => void answer({ do: "resume", takeover }),
    },
    {
      ...{ key: "u", words: armed.value ? "Give it up for good" : "Give it up …", look: "bad" },
      run() {
        if (armed.value) void answer({ do: "abandon", takeover });
        else armed.value = true;
      },
    },
  ];
}

/** A text that is not JSON is the result as it stands. */
const resultOf = (text: string): unknown => parsed(text) ?? text;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A run that went on when the answer came has ended, or waits again, by the document that came later. */
function sinceThen(acted: ActedDocument, later: InboxItemDocument | null): ActedDocument {
  if (acted.state !== "going" || later === null || later.isGoing) return acted;
  return { ...acted, state: later.run === null ? "done" : "waits" };
}

function Acted({ acted, writing }: { readonly acted: ActedDocument; readonly writing: Props["writing"] }) {
  const to = conversationPath(acted.conversation);
  return (
    <Field name="Answered">
      <p class="acted" role="status">
        <CheckIcon />
        <span>
          {didWords[acted.did]} as {writing.as}
          {acted.isNew ? "" : ", as it was before"}. {stateWords(acted)}{" "}
          <a href={hrefOf(to)} onClick={(event) => follow(event, to)}>
            {acted.state === "going" ? "Follow it" : "See what came of it"}
          </a>
        </span>
      </p>
    </Field>
  );
}

const didWords = {
  approve: "Approved",
  edit: "Approved with another input",
  deny: "Denied",
  settle: "Settled",
  resume: "Resumed",
  run: "Run again",
  abandon: "Given up",
} as const;

function stateWords({ did, state, waitsFor, problem }: ActedDocument): string {
  if (state === "stopped") return `That is recorded, but the run did not go on: ${problem ?? "not told"}.`;
  if (state === "waits")
    return waitsFor === 0
      ? "The run waits for another decision."
      : `The run waits for ${counted(waitsFor, "more decision")}.`;
  if (state === "going") return "The run goes on.";
  return did === "abandon" ? "What the run did stays." : "The run has ended.";
}
