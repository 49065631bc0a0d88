import type { SpanAttributes } from "./span.ts";

/** The services whose own attributes spans can have. */
export const tracingServices = ["langfuse", "langsmith", "phoenix"] as const;
export type TracingService = (typeof tracingServices)[number];

/** The names that releases of the conventions gave to the tokens written to a prompt cache. */
export const cacheWriteNames = ["cache_write", "cache_creation"] as const;

/** What spans say besides what the log says of the run. */
export type SpanOptions = {
  /** The name and version of the agent: spans of runs are named `invoke_agent NAME`. */
  readonly agent: string | null;
  readonly agentVersion: string | null;
  /** Whether spans have the messages, the arguments and results of tools, and the texts of errors. */
  readonly hasContent: boolean;
  /** The service that reads the spans: they have its attributes as well. */
  readonly service: TracingService | null;
  /** What tokens written to a prompt cache are called: the name of v0.1.0 of the conventions, or the older one. */
  readonly cacheWriteName: (typeof cacheWriteNames)[number];
  /** Attributes of every span. */
  readonly attributes: SpanAttributes;
};

export const plainSpans: SpanOptions = {
  ...{ agent: null, agentVersion: null, hasContent: false, service: null },
  ...{ cacheWriteName: "cache_write", attributes: {} },
};
