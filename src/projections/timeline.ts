import type { Actor } from "../domain/actor.ts";
import type { AnchorId } from "../domain/anchor.ts";
import type { Block } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import { contentId, type Edit } from "../domain/edits.ts";
import { blocksIn } from "../domain/events/blocks-in.ts";
import type { ConversationOrigin } from "../domain/events/conversation-events.ts";
import { type ConversationEvent, type ConversationEventOf, isRunEnd } from "../domain/events/event.ts";
import { type Decision, type Divergence, learnedName } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { isAside } from "../domain/frame.ts";
import { hiddenLabel } from "../domain/labels.ts";
import { asidesOf, budgetWords, compactionWords } from "./asides.ts";
import { byStream, type Projection } from "./projection.ts";
import { describeReason } from "./reasons.ts";
import { type Usage, usageOf } from "./usage.ts";
import { actorLabel, blockLabel, counted, excerpt, grouped, inOneLine } from "./wording.ts";

/** One event in words. */
type TimelineRow = {
  readonly stream: string;
  readonly revision: number;
  readonly at: string;
  readonly type: ConversationEvent["type"];
  readonly actor: Actor;
  readonly runId: string | null;
  readonly frame: string | null;
  readonly words: string;
};

/** What it takes to put an event into words. */
export type BlockLabels = {
  /** What each block is, for the events that only name it. */
  readonly labels: Map<string, string>;
  isRunOpen: boolean;
};

export type TimelineView = BlockLabels & { readonly rows: TimelineRow[] };

/** What happened, one row an event. */
export const timeline: Projection<TimelineView> = {
  name: "timeline",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({ rows: [], labels: new Map(), isRunOpen: false }),
  apply(view, recorded) {
    const { stream, revision, at, actor, runId, frame, event } = recorded;
    noteLabels(view, recorded);
    const words = describeEvent(view, recorded);
    view.rows.push({ stream, revision, at, type: event.type, actor, runId, frame, words });
    return view;
  },
};

export const noLabels = (): BlockLabels => ({ labels: new Map(), isRunOpen: false });

/** Follows the events without putting each into words, which takes longer than all the rest. */
export function noteLabels(view: BlockLabels, { event, runId }: RecordedEvent): void {
  for (const json of blocksIn(event)) view.labels.set(json.id, labelOf(blockFromJson(json), event, view));
  if (event.type === "RunStarted") view.isRunOpen = true;
  // A fork leaves its parent's run.
  if (event.type === "ConversationStarted") view.isRunOpen = false;
  if (event.type === "EventSkipped" && runId !== null) view.isRunOpen = false;
  if (isRunEnd(event)) view.isRunOpen = false;
}

/** How a request was sent, in a few words: `rebased 1 back`. */
export const describeStrategy = ({ strategy, back }: Decision): string =>
  strategy === "rebased" ? `rebased (${counted(back, "answer")} back)` : strategy;

/** An anchor by its id, and by its kind where that is no response. */
export const describeAnchor = ({ kind, id }: AnchorId): string =>
  kind === "response" ? id : `${inOneLine(kind)} ${id}`;

/** Where a context stopped being a beginning of the Turn, and by whose doing. */
export function describeDivergence({ index, change, actor }: Divergence): string {
  return actor === null
    ? `block ${index} was ${changedWords[change]}`
    : `${actorLabel(actor)} ${changeWords[change]} block ${index}`;
}

/** As differences say it: added, removed, modified, moved. */
const changeWords = {
  edited: "modified",
  removed: "removed",
  inserted: "added",
  moved: "moved",
  shortened: "cut the Turn before",
} as const;

const changedWords = { ...changeWords, shortened: "cut off" } as const;

/** Longer than a line of most terminals: the printer cuts it where the terminal's ends. */
const textLength = 160;
const quote = (block: Block): string => `“${excerpt(block.text, textLength)}”`;

/** An event in words, for a reader who has followed those up to it. */
export const describeEvent = (view: BlockLabels, { event, frame }: RecordedEvent): string =>
  [isAside(frame) && event.type === "TurnEdited" ? askedWords(event) : wordsOf(view, event), ...asidesOf(event)].join(
    "; ",
  );

/** What a layer asks beside the conversation ends with its question. */
function costWords(usage: Usage | undefined): string {
  const { inputTokens, outputTokens } = usageOf(usage);
  return `${grouped(inputTokens)} tokens in, ${grouped(outputTokens)} out`;
}

function askedWords(event: ConversationEventOf<"TurnEdited">): string {
  const question = blocksIn(event).at(-1);
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
      return `${blockLabel(block)} ${quote(block)}${view.isRunOpen ? " (pending)" : ""}`;
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
      return `run waits until ${counted(event.data.blockIds.length, "call")} in doubt will be settled`;
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
    case "ToolParked":
      return `${event.data.name} is in doubt: it began, and nobody knows whether it ended`;
    case "ToolSettled":
      return `settled: ${settlementWords[event.data.settlement.how]}`;
    case "EffectStarted":
      return `${event.data.name} began`;
    case "EffectFinished": {
      const { answer, durationMs } = event.data;
      const what = answer.outcome === "ok" ? "ok" : `failed, ${excerpt(answer.message, textLength)},`;
      return `${what} in ${grouped(Math.round(durationMs))} ms`;
    }
    default:
      return inferenceWords(event);
  }
}

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

const completedWords = {
  completed: "run completed",
  "calls-open": "run completed: its calls wait for an answer from outside the engine",
  incomplete: "run completed: its last answer broke off at a limit",
} as const;

const settlementWords = {
  result: "its result is known",
  rerun: "it may run once more",
  abandon: "the model is told that it is in doubt",
} as const;

type InferenceEvent = ConversationEventOf<
  | "InferenceRequested"
  | "ResponseStarted"
  | "ResponseReceived"
  | "InferenceFailed"
  | "WarmUpRequested"
  | "WarmUpAnswered"
  | "WarmUpFailed"
  | "AnchorInvalidated"
  | "CapabilityLearned"
  | "ReasoningQuarantined"
  | "ContextImported"
  | "ResponseDeleted"
  | "ServerConversationChanged"
  | "ServerConversationDeleted"
>;

function inferenceWords(event: InferenceEvent): string {
  switch (event.type) {
    case "InferenceRequested": {
      const { decision, input, requestBytes, attempt } = event.data;
      const again = attempt === 0 ? "" : ` (attempt ${attempt + 1})`;
      const sent = input.blocks - decision.sendFrom;
      const amount = `${grouped(sent)} of ${counted(input.blocks, "block")}, ${grouped(requestBytes)} bytes`;
      const divergence = decision.rejected?.divergence ?? null;
      const why =
        divergence === null ? decision.reason && describeReason(decision.reason) : describeDivergence(divergence);
      if (decision.reason === "aside") return `asked${again} beside the conversation, ${amount}`;
      return `asked${again} ${describeStrategy(decision)}, ${amount}${why === null ? "" : `: ${why}`}`;
    }
    case "ResponseStarted":
      return `${event.data.responseId} goes on at the server`;
    case "ResponseReceived": {
      const { status, output, usage, withheld = [] } = event.data;
      const blocks = output.map(blockFromJson);
      const last = blocks.findLast(({ kind }) => kind === "assistant");
      const said = last === undefined ? "" : ` ${quote(last)}`;
      const how = status === "completed" ? "" : ` (${status ?? "no status"})`;
      const kept = withheld.length === 0 ? "" : `, without ${counted(withheld.length, "reasoning block")} of the Turn`;
      const parts = blocks.map(blockLabel).join(", ") || "nothing";
      return `answered${how} ${parts}${said}, ${costWords(usage)}${kept}`;
    }
    case "WarmUpRequested": {
      const { input, requestBytes } = event.data;
      return `warming the connection up with ${counted(input.blocks, "block")}, ${grouped(requestBytes)} bytes`;
    }
    case "WarmUpAnswered": {
      const { responseId, usage } = event.data;
      return `the connection is warm: ${responseId ?? "no response"}, ${grouped(usageOf(usage).inputTokens)} tokens in`;
    }
    case "WarmUpFailed":
    case "InferenceFailed": {
      const { kind, status, outcome, message } = event.data;
      const retryInMs = event.type === "InferenceFailed" ? event.data.retryInMs : undefined;
      const again = retryInMs === undefined ? "" : `, asked again after ${retryInMs / 1000} s`;
      const what = `${outcome === "rejected" ? "refused" : "failed"} (${status ?? kind})${again}`;
      return `${what}: ${excerpt(message, textLength)}`;
    }
    case "AnchorInvalidated":
      return `not continued from again: ${event.data.anchor === null ? "anything at this endpoint" : describeAnchor(event.data.anchor)} (${describeReason(event.data.reason)})`;
    case "CapabilityLearned":
      return `learnt ${learnedName(event.data)} = ${JSON.stringify(event.data.value)}: ${excerpt(event.data.reason, textLength)}`;
    case "ContextImported":
      return `${event.data.responseId} holds ${counted(event.data.length, "block")} at the server`;
    case "ResponseDeleted":
      return deletedWords(event.data.responseId, event.data.found);
    case "ServerConversationDeleted":
      return deletedWords(event.data.anchor.id, event.data.found);
    case "ServerConversationChanged": {
      const { anchor, change, items = [] } = event.data;
      return change === "made"
        ? `${anchor.id} made at the server`
        : `${counted(items.length, "item")} deleted from ${anchor.id}`;
    }
    case "ReasoningQuarantined":
      return `${counted(event.data.blockIds.length, "reasoning block")} not sent again: ${excerpt(event.data.reason, 60)}`;
  }
}

const deletedWords = (id: string, found: boolean): string =>
  found ? `${id} is deleted at the server` : `${id} was not at the server any more`;

/** Where a conversation came from: `fork of cnv_8f3k@12`; null for one that came from nowhere. */
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

function describeSettings({ digest, settings }: ConversationEventOf<"SettingsDeclared">["data"]): string {
  const { model, tools } = settings;
  const named = typeof model === "string" ? `: ${excerpt(model, 40)}` : "";
  const offered = Array.isArray(tools) ? `, ${counted(tools.length, "tool")}` : "";
  return `settings ${digest.slice(0, 8)}${named}${offered}`;
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

/** A tool's result is named by its tool, for a reader who looks for it. */
function labelOf(block: Block, event: ConversationEvent, { labels }: BlockLabels): string {
  if (event.type !== "ToolFinished")
    return block.kind === "tool_result" ? (labels.get(block.id ?? "") ?? block.kind) : blockLabel(block);
  return `tool_result ${labels.get(event.data.blockId)?.replace(/^tool_call /, "") ?? ""}`.trimEnd();
}
