import type { SpanAttributes } from "./span.ts";
import type { TracingService } from "./span-options.ts";

/** What a span is of: the service's own word for it follows from this. */
export type SpanOf = "part" | "step" | "request" | "tool" | "effect";

const langsmithKinds = { part: "chain", step: "chain", request: "llm", tool: "tool", effect: "chain" } as const;
const langfuseTypes = { part: "agent", step: "span", request: "generation", tool: "tool", effect: "span" } as const;
const openInferenceKinds = { part: "AGENT", step: "CHAIN", request: "LLM", tool: "TOOL", effect: "CHAIN" } as const;

/** The attributes by which a service groups the runs of a conversation, and knows what a span is of. */
export function serviceAttributes(
  service: TracingService | null,
  conversationId: string,
  spanOf: SpanOf,
): SpanAttributes {
  switch (service) {
    case "langfuse":
      return { "langfuse.session.id": conversationId, "langfuse.observation.type": langfuseTypes[spanOf] };
    case "langsmith":
      return { "langsmith.trace.session_id": conversationId, "langsmith.span.kind": langsmithKinds[spanOf] };
    case "phoenix":
      return { "session.id": conversationId, "openinference.span.kind": openInferenceKinds[spanOf] };
    case null:
      return {};
  }
}
