import { counted, grouped } from "../../base/counted.ts";
import type { JsonValue } from "../../base/json.ts";
import { excerpt } from "../../base/printable.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { hiddenLabel } from "../../domain/decider/labels.ts";
import { contentId, type Edit } from "../../domain/edits.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import { countLines } from "../../domain/events/erased-places.ts";
import type { ConversationEvent, ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import { isAside } from "../../domain/frame.ts";
import { costWords, inferenceWords } from "./describe-inference.ts";
import { type BlockLabels, blockLabel } from "./labels.ts";
import { quote, textLength } from "./shown-text.ts";
import { sideNotesOf } from "./side-notes.ts";

/** Describes an event for a reader who knows the events before it. */
export const describeEvent = (view: BlockLabels, { event, frame }: RecordedEvent): string =>
  [
    isAside(frame) && event.type === "TurnEdited" ? askedWords(event, frame) : wordsOf(view, event),
    ...sideNotesOf(event),
  ].join("; ");

/** In an aside, the Turn of a layer ends with its question. Layers inside may change what is asked. */
function askedWords(event: ConversationEventOf<"TurnEdited">, frame: string | null | undefined): string {
  const question = blocksIn(event).at(-1);
  if (event.data.from === `given/${frame}` && question !== undefined)
    return `changes the question to ${quote(blockFromJson(question))}`;
  return `asks the model ${question === undefined ? "about a part of the Turn" : quote(blockFromJson(question))}`;
}

function wordsOf(view: BlockLabels, event: ConversationEvent): string {
  switch (event.type) {
    case "ConversationStarted": {
      const { origin, title } = event.data;
      const from = describeOrigin(origin);
      const as = from === null ? "" : ` as ${from}`;
      return `conversation started${as}${title === undefined ? "" : `: ${excerpt(title, 60)}`}`;
    }
    case "ConversationRelabelled":
      return namingWords(event.data);
    case "BlockAppended": {
      const block = blockFromJson(event.data.block);
      return `${blockLabel(block)} ${quote(block)}${view.openRun !== null ? " (pending)" : ""}`;
    }
    case "TurnReverted": {
      const { toRevision, edits } = event.data;
      const to = toRevision === null ? "" : ` to @${toRevision}`;
      return `reverted${to}: ${edits.map((edit) => describe(edit, view.labels)).join(", ")}`;
    }
    case "TurnCompacted": {
      const { compaction, edits, window } = event.data;
      const cost = window?.usage === undefined ? "" : `, ${costWords(window.usage)}`;
      return `${compactionWords(compaction)}${cost}: ${edits.map((edit) => describe(edit, view.labels)).join(", ")}`;
    }
    case "EventSkipped":
      return `event ${event.data.revision} skipped: ${excerpt(event.data.reason, textLength)}`;
    case "AncestorEventsSkipped": {
      const { conversationId, revisions } = event.data;
      return `${counted(revisions.length, "inherited event")} skipped in ${conversationId}: ${excerpt(revisions.join(", "), textLength)}`;
    }
    case "LinesErased": {
      const { orderId, places, blockIds } = event.data;
      const events = places.reduce((sum, place) => sum + place.revisions.length, 0);
      const blocks = blockIds.length === 0 ? null : counted(blockIds.length, "block");
      if (events === 0)
        return `${blocks ?? "lines"} erased in conversations that share its history, by the order ${orderId}`;
      const lines = `${counted(countLines(places), "line")} of ${counted(events, "event")} erased`;
      return `${lines}${blocks === null ? "" : `, with ${blocks}`}, by the order ${orderId}`;
    }
    case "SettingsDeclared":
      return describeSettings(event.data);
    case "RunStarted": {
      const stack = event.data.stack.map(({ name }) => name);
      const again = event.data.again === true ? " once more" : "";
      const { budget, compact } = event.data;
      const within = budget === undefined ? "" : `; ${budgetWords(budget)}`;
      const only = compact?.only === true ? " for a summary and no answer" : "";
      return `run started${again}${only}: ${[...stack, event.data.provider.name].join(" > ")}${within}`;
    }
    case "RunResumed":
      return `run taken up again by process ${event.data.owner.pid} on ${event.data.owner.host}`;
    case "RunParked":
      return event.data.blockIds.length === 0
        ? "run left open, without an owner"
        : `run waits for ${counted(event.data.blockIds.length, "call")} to be decided or settled`;
    case "RunCancelRequested":
      return `asked to cancel the run: ${excerpt(event.data.reason, textLength)}`;
    case "RunCompleted":
      return completedWords[event.data.status];
    case "RunFailed": {
      const { kind, message, thrownBy } = event.data;
      const where = thrownBy === undefined ? "" : ` in ${excerpt(thrownBy.layer, 40)} (frame ${thrownBy.frame})`;
      return `run failed (${kind})${where}: ${excerpt(message, textLength)}`;
    }
    case "RunCancelled":
      return `run cancelled: ${excerpt(event.data.reason, textLength)}`;
    case "TurnEdited": {
      const { direction, edits, compaction } = event.data;
      const what = edits.map((edit) => describe(edit, view.labels)).join(", ");
      if (compaction !== undefined) return `${compactionWords(compaction)}: ${what}`;
      return `${direction === "request" ? "handed on" : "gave back"} ${what === "" ? "another Turn" : `with: ${what}`}`;
    }
    case "ToolStarted":
      return `${event.data.name} began`;
    case "ToolFinished": {
      const { outcome, durationMs, late, result } = event.data;
      const when = late === true ? ", too late" : "";
      return `${outcome} in ${grouped(Math.round(durationMs))} ms${when}: ${quote(blockFromJson(result))}`;
    }
    case "ToolParked": {
      const { name, reason } = event.data;
      const why = reason === undefined ? "its result is unknown, or comes from outside" : excerpt(reason, textLength);
      return `${name} waits to be settled: ${why}`;
    }
    case "ApprovalRequested": {
      const { name, reason, expiresAt } = event.data;
      const until = expiresAt === undefined ? "" : ` until ${expiresAt}`;
      return `${name} waits for approval${until}${reason === undefined ? "" : `: ${excerpt(reason, textLength)}`}`;
    }
    case "ApprovalDecided": {
      const { how, message } = event.data;
      return `${decidedWords[how]}${message === undefined ? "" : `: ${excerpt(message, textLength)}`}`;
    }
    case "ToolSettled":
      return `settled: ${settlementWords[event.data.settlement.how]}`;
    case "EffectStarted":
      return `${event.data.name} began`;
    case "EffectFinished": {
      const { answer, durationMs } = event.data;
      const when = `in ${grouped(Math.round(durationMs))} ms`;
      if (answer.outcome === "error") return `failed ${when}: ${excerpt(answer.message, textLength)}`;
      return `ok ${when}${valueWords(answer.value)}`;
    }
    default:
      return inferenceWords(event);
  }
}

/** How and why a Turn was shortened, in words. */
function compactionWords({ how, because, tokens, limit }: Compaction): string {
  const what = compactedWords.get(how) ?? `made the Turn shorter (${excerpt(how, 40)})`;
  const counts =
    tokens === undefined ? "" : `: ${grouped(tokens)} tokens were counted, of ${grouped(limit ?? 0)} allowed`;
  return `${what} (${compactedBecause.get(because) ?? excerpt(because, 40)}${counts})`;
}

/** A run's token budget, in words. */
function budgetWords({ maxInputTokens, maxTotalTokens, onExceeded }: Budget): string {
  const limits = [
    ...(maxInputTokens === undefined ? [] : [`${grouped(maxInputTokens)} tokens in a request`]),
    ...(maxTotalTokens === undefined ? [] : [`${grouped(maxTotalTokens)} tokens in all`]),
  ];
  return `${onExceeded === "warn" ? "warns over" : "ends over"} ${limits.join(", ")}`;
}

type Budget = NonNullable<ConversationEventOf<"RunStarted">["data"]["budget"]>;

const compactedWords: ReadonlyMap<string, string> = new Map([
  ["truncate-results", "cut tool results"],
  ["drop-exchanges", "left out the oldest exchanges"],
  ["server", "put what the server compacted in the place of what it was made of"],
  ["summarise", "put a summary in the place of the oldest exchanges"],
]);

const compactedBecause: ReadonlyMap<string, string> = new Map([
  ["before-request", "before a request"],
  ["after-run", "after the run"],
  ["too-long", "the request was refused as too long"],
  ["asked", "as it was asked to"],
]);

function namingWords({ title, labels = {} }: ConversationEventOf<"ConversationRelabelled">["data"]): string {
  const all = Object.entries(labels);
  const set = all.flatMap(([name, value]) => (value === null || name === hiddenLabel ? [] : [`${name}=${value}`]));
  const removed = all.flatMap(([name, value]) => (value === null && name !== hiddenLabel ? [name] : []));
  const parts = [
    ...(title === undefined ? [] : [`named ${excerpt(title, textLength)}`]),
    ...(set.length === 0 ? [] : [`labelled ${excerpt(set.join(", "), textLength)}`]),
    ...(removed.length === 0 ? [] : [`no longer labelled ${excerpt(removed.join(", "), textLength)}`]),
    ...(Object.hasOwn(labels, hiddenLabel)
      ? [labels[hiddenLabel] === null ? "listed again" : "hidden from lists"]
      : []),
  ];
  return parts.length === 0 ? "labelled" : parts.join(", ");
}

/** The value of an effect: a text in quotes, like a tool's output, otherwise JSON. Empty if there is none. */
function valueWords(value: JsonValue): string {
  if (value === null) return "";
  return typeof value === "string"
    ? `: “${excerpt(value, textLength)}”`
    : `: ${excerpt(JSON.stringify(value), textLength)}`;
}

const completedWords = {
  completed: "run completed",
  "calls-open": "run completed: its calls wait for an answer from outside the engine",
  incomplete: "run completed: its last answer broke off at a limit",
} as const;

const decidedWords = {
  approve: "approved",
  edit: "approved with other arguments",
  deny: "denied",
  expire: "denied, because no decision came in time",
} as const;

const settlementWords = {
  result: "its result is known",
  rerun: "it may run once more",
  abandon: "the model is told that it is in doubt",
} as const;

/** Where a conversation came from: `fork of cnv_8f3k@12`; null if it has no origin. */
export function describeOrigin(origin: ConversationOrigin): string | null {
  switch (origin.type) {
    case "new":
      return null;
    case "fork":
      return `fork of ${origin.conversationId}@${origin.revision}`;
    case "child":
      return `child of ${origin.conversationId}, call ${origin.blockId}`;
    case "import":
      return `import of ${excerpt(origin.source, 60)}`;
  }
}

function describeSettings({
  digest,
  settings,
  base,
  without = [],
}: ConversationEventOf<"SettingsDeclared">["data"]): string {
  const { model, tools } = settings;
  const named = typeof model === "string" ? `: ${excerpt(model, 40)}` : "";
  const offered = Array.isArray(tools) ? `, ${counted(tools.length, "tool")}` : "";
  if (base === undefined) return `settings ${digest.slice(0, 8)}${named}${offered}`;
  const others = [...Object.keys(settings).filter((name) => name !== "model"), ...without].map((name) =>
    excerpt(name, 40),
  );
  const but = others.length === 0 ? "" : ` but for ${others.join(", ")}`;
  return `settings ${digest.slice(0, 8)}${named}, as ${base.slice(0, 8)}${but}`;
}

function describe(edit: Edit, labels: ReadonlyMap<string, string>): string {
  const label = (id: string): string => labels.get(id) ?? id;
  switch (edit.op) {
    case "insert":
      return `${edit.blocks.map((content) => label(contentId(content))).join(", ")} added`;
    case "replace":
      return `${label(edit.blockId)} modified`;
    case "remove":
      return `${edit.blockIds.map(label).join(", ")} removed`;
    case "move":
      return `${label(edit.blockId)} moved`;
  }
}
