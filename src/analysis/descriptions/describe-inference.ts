import { counted, grouped } from "../../base/counted.ts";
import { excerpt, inOneLine } from "../../base/printable.ts";
import type { AnchorId } from "../../domain/anchor.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { Decision } from "../../domain/events/inference-events.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import { type Usage, usageOf } from "../../projections/usage.ts";
import type { PromptDivergence } from "../../projections/views/cache-author.ts";
import { describeReason, describeRequestReason } from "./describe-reason.ts";
import { actorLabel, blockLabel } from "./labels.ts";
import { quote, textLength } from "./shown-text.ts";

type InferenceEvent = ConversationEventOf<
  | "StepRouted"
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

export function inferenceWords(event: InferenceEvent): string {
  switch (event.type) {
    case "StepRouted":
      return "error" in event.data
        ? `the router chose nobody: ${excerpt(event.data.error, textLength)}`
        : `the router chose ${routeWords(event.data.route)}`;
    case "InferenceRequested": {
      const { decision, input, requestBytes, attempt, route } = event.data;
      const asked = route === undefined ? "asked" : `asked ${inOneLine(route)}`;
      const again = attempt === 0 ? "" : ` (attempt ${attempt + 1})`;
      const sent = input.blocks - decision.sendFrom;
      const amount = `${grouped(sent)} of ${counted(input.blocks, "block")}, ${grouped(requestBytes)} bytes`;
      const divergence = decision.rejected?.divergence ?? null;
      const why =
        divergence === null
          ? decision.reason && describeRequestReason(decision.reason)
          : describeDivergence(divergence);
      if (decision.reason === "aside") return `asked${again} beside the conversation, ${amount}`;
      return `${asked}${again} ${describeStrategy(decision)}, ${amount}${why === null ? "" : `: ${why}`}`;
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
      const after = event.type === "InferenceFailed" ? afterFailureWords(event.data) : "";
      const what = `${outcome === "rejected" ? "refused" : "failed"} (${status ?? kind})${after}`;
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

function afterFailureWords({ retryInMs, next }: ConversationEventOf<"InferenceFailed">["data"]): string {
  if (retryInMs !== undefined) return `, asked again after ${retryInMs / 1000} s`;
  if (next === undefined) return "";
  if (next === null) return ", nobody is asked next";
  if ("error" in next) return `, nobody is asked next (${excerpt(next.error, textLength)})`;
  return `, ${routeWords(next.route)} is asked next`;
}

const routeWords = (route: string | null): string => (route === null ? "the engine's own provider" : inOneLine(route));

/** How a request was sent, in a few words: `rebased 1 back`. */
export const describeStrategy = ({ strategy, back }: Decision): string =>
  strategy === "rebased" ? `rebased (${counted(back, "answer")} back)` : strategy;

/** An anchor by its id, and by its kind if it is not a response. */
export const describeAnchor = ({ kind, id }: AnchorId): string =>
  kind === "response" ? id : `${inOneLine(kind)} ${id}`;

/** Where a context stops being a prefix of the Turn, and who caused that. */
export function describeDivergence({
  index,
  change,
  actor,
}: Pick<PromptDivergence, "index" | "change" | "actor">): string {
  return actor === null
    ? `block ${index} was ${changedWords[change]}`
    : `${actorLabel(actor)} ${changeWords[change]} block ${index}`;
}

/** The words for differences: added, removed, modified, moved. */
const changeWords = {
  edited: "modified",
  removed: "removed",
  inserted: "added",
  moved: "moved",
  shortened: "cut the Turn before",
  erased: "erased",
} as const;

const changedWords = { ...changeWords, shortened: "cut off" } as const;

const deletedWords = (id: string, found: boolean): string =>
  found ? `${id} is deleted at the server` : `${id} was not at the server any more`;

/** `1,204 tokens in, 87 out`; what a provider does not tell is not 0. */
export function costWords(usage: Usage | undefined): string {
  if (usage === undefined) return "tokens not told";
  const { inputTokens, outputTokens } = usageOf(usage);
  return `${grouped(inputTokens)} tokens in, ${grouped(outputTokens)} out`;
}
