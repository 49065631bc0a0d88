import { describeEvent } from "../../analysis/descriptions/describe-event.ts";
import { type BlockLabels, blockLabel } from "../../analysis/descriptions/labels.ts";
import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { grouped } from "../../base/counted.ts";
import { excerpt } from "../../base/printable.ts";
import type { Actor } from "../../domain/actor.ts";
import { describeActor } from "../../domain/actor.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { contentId, type Edit } from "../../domain/edits.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { RecordedSkip } from "../../log/history/skipped-events.ts";
import type { StoredEnvelope } from "../../log/ports/event-store.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import type { LogRow, RowSign, Verdict } from "./page-documents.ts";
import { verdictOf } from "./step.ts";

type RowContext = { readonly labels: BlockLabels; readonly run: OpenRun | null };
type Words = Pick<LogRow, "words"> & Partial<LogRow>;

/** An event in the few words that fit a row. */
export function logRow(recorded: RecordedEvent, context: RowContext): LogRow {
  const { revision, at, event, actor } = recorded;
  const sentence = describeEvent(context.labels, recorded);
  const about = { revision, at, type: event.type, sign: signOf(actor), sentence };
  return rowOf(about, wordsOf(recorded, context, sentence));
}

type About = Pick<LogRow, "revision" | "at" | "type" | "sign" | "sentence">;

/** Lists the members, and spreads nothing: there is a row for each event, and it is kept. */
const rowOf = ({ revision, at, type, sign, sentence }: About, own: Words): LogRow => ({
  revision,
  at,
  type,
  sign: own.sign ?? sign,
  layer: own.layer ?? null,
  layerNumber: own.layerNumber ?? null,
  words: own.words,
  detail: own.detail ?? "",
  change: own.change ?? null,
  value: own.value ?? "",
  verdict: own.verdict ?? null,
  sentence,
  problem: own.problem ?? null,
});

/** What is looked for among all rows, without their words. */
export type RowMark = Pick<LogRow, "type" | "sign" | "layer" | "verdict"> & {
  /** Who edited the Turn, for an edit: a layer, or the engine's own. */
  readonly editor: string | null;
  /** Whether an edit is on the way back to the client. */
  readonly isBack: boolean;
};

export function markOf({ type, sign, layer, verdict, words, value }: LogRow): RowMark {
  const isEdit = type === "TurnEdited";
  return { type, sign, layer, verdict, editor: isEdit ? words : null, isBack: isEdit && value === "back" };
}

function signOf(actor: Actor): RowSign {
  switch (actor.kind) {
    case "user":
      return "user";
    case "app":
    case "import":
    case "operator":
      return "app";
    case "middleware":
      return "layer";
    case "tool":
      return "tool";
    case "provider":
      return "answer";
    default:
      return "engine";
  }
}

function wordsOf({ event, actor, frame }: RecordedEvent, context: RowContext, sentence: string): Words {
  switch (event.type) {
    case "BlockAppended": {
      const block = blockFromJson(event.data.block);
      return { words: blockLabel(block), detail: `“${excerpt(shownText(block), 120)}”` };
    }
    case "TurnEdited":
      return editWords(event.data, { actor, frame, context });
    case "InferenceRequested": {
      const { decision, requestBytes } = event.data;
      const verdict = verdictOf(decision);
      return {
        sign: "request",
        words: "Request",
        detail: verdictWords[verdict],
        verdict,
        value: `${grouped(requestBytes)} B`,
      };
    }
    case "ResponseReceived": {
      const { output, usage, status } = event.data;
      const labels = output.map((json) => blockFromJson(json)).filter(({ kind }) => kind !== "reasoning");
      const what = labels.length === 0 ? "nothing" : labels.map(answerLabel).join(", ");
      const how = status === "completed" || status === null ? "" : ` (${status})`;
      return {
        sign: "answer",
        words: `Answered ${what}${how}`,
        value: usage === undefined ? "" : `${grouped(usage.outputTokens)} tok`,
      };
    }
    case "InferenceFailed":
      return {
        sign: "bad",
        words: event.data.outcome === "rejected" ? "Refused" : "Failed",
        detail: excerpt(event.data.message, 120),
      };
    case "RunFailed":
      return { sign: "bad", words: "Run failed", detail: excerpt(event.data.message, 120) };
    case "ToolFinished": {
      const { result, durationMs, outcome } = event.data;
      const name = actor.kind === "tool" ? actor.name : "tool";
      const words = outcome === "ok" ? name : `${name} ${outcome}`;
      return {
        sign: "tool",
        words,
        detail: `“${excerpt(shownText(blockFromJson(result)), 120)}”`,
        value: `${grouped(Math.round(durationMs))} ms`,
      };
    }
    case "ToolStarted":
      return { words: `${event.data.name} began` };
    case "RunStarted":
      return { words: "Run started" };
    case "RunCompleted":
      return { words: "Run completed" };
    default:
      if (actor.kind === "middleware") return { ...layerWords(actor, context), detail: sentence };
      return { words: sentence === "" ? event.type : `${sentence[0]?.toUpperCase() ?? ""}${sentence.slice(1)}` };
  }
}

/** A layer, with its place in the stack of the open run. */
function layerWords({ name }: Extract<Actor, { readonly kind: "middleware" }>, { run }: RowContext): Words {
  const place = (run?.started.stack ?? []).findIndex((layer) => layer.name === name);
  return { layer: name, layerNumber: place < 0 ? null : place + 1, words: name };
}

const answerLabel = (block: Parameters<typeof blockLabel>[0]): string =>
  block.kind === "assistant" ? "with text" : blockLabel(block);

const verdictWords: Readonly<Record<Verdict, string>> = {
  first: "first",
  chained: "chained",
  rebased: "rebased",
  full: "full",
  whole: "whole",
  aside: "aside",
  failed: "failed",
};

type EditContext = { readonly actor: Actor; readonly frame: string | null; readonly context: RowContext };
type TurnEdited = Extract<ConversationEvent, { readonly type: "TurnEdited" }>["data"];

/** `redact-emails ~ user  on`. The tool loop is the engine's own layer: its edits are the engine's. */
function editWords({ direction, edits }: TurnEdited, { actor, context }: EditContext): Words {
  const { labels, run } = context;
  const isToolLoop = run?.started.stack[0]?.name === "tool-loop";
  const touched = edits.flatMap((edit) => namesIn(edit, labels));
  const [first = "another Turn", ...more] = [...new Set(touched)];
  return {
    sign: signOf(actor),
    ...(actor.kind === "middleware" ? layerWords(actor, context) : { words: isToolLoop ? "tool-loop" : "engine" }),
    change: signOfEdits(edits),
    detail: more.length === 0 ? first : `${first} and ${more.length} more`,
    value: direction === "request" ? "on" : "back",
  };
}

function signOfEdits(edits: readonly Edit[]): string {
  if (edits.every(({ op }) => op === "insert")) return "+";
  return edits.every(({ op }) => op === "remove") ? "−" : "~";
}

function namesIn(edit: Edit, { labels }: BlockLabels): readonly string[] {
  const ids = edit.op === "insert" ? edit.blocks.map(contentId) : edit.op === "remove" ? edit.blockIds : [edit.blockId];
  return ids.map((id) => labels.get(id) ?? "block");
}

export function holeRow({ revision, at, type }: StoredEnvelope, { by, reason }: RecordedSkip): LogRow {
  const [what, why] = [excerpt(type, 40), `by ${describeActor(by)}: ${excerpt(reason, 160)}`];
  const sentence = `${what} skipped ${why}`;
  return rowOf({ revision, at, type, sign: "hole", sentence }, { words: "Skipped", detail: `${what}, ${why}` });
}

export function unreadableRow({ revision, at, type }: StoredEnvelope, error: Error): LogRow {
  const sentence = `${excerpt(type, 40)} cannot be read`;
  const words = { words: "Cannot be read", detail: excerpt(type, 40), problem: excerpt(error.message, 200) };
  return rowOf({ revision, at, type, sign: "bad", sentence }, words);
}
