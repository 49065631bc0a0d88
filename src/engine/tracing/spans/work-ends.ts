import { blockFromJson } from "../../../domain/block-json.ts";
import type { ConversationEventOf } from "../../../domain/events/event.ts";
import { type Ending, endedWell } from "./open-spans.ts";
import { effectKey, type SpanKey, toolKey } from "./span.ts";
import { resultContent } from "./span-content.ts";
import type { SpanOptions } from "./span-options.ts";

/** How the span of a tool call or of a layer's effect ends. */
export type WorkEnd = Ending & { readonly key: SpanKey; readonly durationMs: number };

export function toolEnd(
  { blockId, outcome, result, durationMs }: ConversationEventOf<"ToolFinished">["data"],
  { hasContent }: SpanOptions,
): WorkEnd {
  const content = hasContent ? resultContent(blockFromJson(result)) : {};
  const attributes = { "turnlog.tool.outcome": outcome, ...content };
  const errorType = outcome === "ok" ? null : outcome;
  return { key: toolKey(blockId), durationMs, attributes, errorType, errorMessage: null };
}

export function effectEnd(
  { effectId, answer, durationMs }: ConversationEventOf<"EffectFinished">["data"],
  { hasContent }: SpanOptions,
): WorkEnd {
  const place = { key: effectKey(effectId), durationMs };
  if (answer.outcome === "ok") return { ...place, ...endedWell };
  return { ...place, ...endedWell, errorType: "effect-failed", errorMessage: hasContent ? answer.message : null };
}
