import type { TraceIds } from "../../../domain/events/run-events.ts";

/** What a span says besides its name and times, as OpenTelemetry's attributes. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** The name of a span within its run: `part/0`, `step/0/0.1`, `request/inf_…`, `tool/<block id>`. */
export type SpanKey = string;

/** Work of a run begins. */
export type SpanStart = {
  readonly type: "start";
  readonly key: SpanKey;
  /** The process's part of the run that the span is in. */
  readonly part: SpanKey;
  /** Null for the span of the part itself. */
  readonly parent: SpanKey | null;
  readonly kind: "internal" | "client";
  readonly name: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly attributes: SpanAttributes;
  /** The earlier part of the run that this one continues, and the ids that a tracer gave its span, if the log has them. */
  readonly follows: { readonly key: SpanKey; readonly trace: TraceIds | null } | null;
};

/** Work of a run has ended. */
export type SpanEnd = {
  readonly type: "end";
  readonly key: SpanKey;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly attributes: SpanAttributes;
  /** The class of the error; null if there was none. */
  readonly errorType: string | null;
  /** The error's text, which may quote what was said: only with `content`. */
  readonly errorMessage: string | null;
};

export type SpanChange = SpanStart | SpanEnd;

/** The span of a process's part of a run. `epoch` counts the owners of the run. */
export const partKey = (epoch: number): SpanKey => `part/${epoch}`;
export const requestKey = (inferenceId: string): SpanKey => `request/${inferenceId}`;
export const toolKey = (blockId: string): SpanKey => `tool/${blockId}`;
export const effectKey = (effectId: string): SpanKey => `effect/${effectId}`;
