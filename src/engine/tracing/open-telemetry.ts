import type { SpanAttributes } from "./spans/span.ts";

/**
 * The parts of `@opentelemetry/api` that tracing uses, by their shape: a program without that package needs none of its types, and
 * `import * as api from "@opentelemetry/api"` fits.
 */
export type OpenTelemetryApi = {
  readonly trace: {
    getTracer(name: string): OtelTracer;
    setSpan(context: OtelContext, span: OtelSpan): OtelContext;
  };
  readonly context: {
    active(): OtelContext;
    with<T>(context: OtelContext, work: () => T): T;
  };
  readonly metrics: { getMeter(name: string): OtelMeter };
};

/** The part of `@opentelemetry/api-logs` that tracing uses: `import { logs } from "@opentelemetry/api-logs"` fits. */
export type OpenTelemetryLogs = {
  getLogger(name: string): {
    emit(record: {
      eventName: string;
      severityNumber: number;
      severityText: string;
      timestamp: number;
      attributes: Record<string, string | number>;
      context: OtelContext;
    }): void;
  };
};

/** OpenTelemetry's own object, which is only passed back. */
export type OtelContext = unknown;

type OtelTracer = { startSpan(name: string, options: OtelSpanOptions, context: OtelContext): OtelSpan };

type OtelSpanOptions = {
  readonly kind: number;
  readonly startTime: number;
  // The API's types have lists that may be changed.
  readonly attributes: Record<string, string | number | boolean | string[]>;
  readonly links: { context: OtelSpanContext }[];
};

type OtelSpanContext = { traceId: string; spanId: string; traceFlags: number };

export type OtelSpan = {
  spanContext(): OtelSpanContext;
  setAttributes(attributes: OtelSpanOptions["attributes"]): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(endTime: number): void;
};

export type OtelMeter = {
  createHistogram(name: string, options: OtelMetricOptions): { record(value: number, attributes: OtelLabels): void };
  createCounter(name: string, options: OtelMetricOptions): { add(value: number, attributes: OtelLabels): void };
};

type OtelMetricOptions = { unit: string; description: string; advice?: { explicitBucketBoundaries: number[] } };
export type OtelLabels = Record<string, string | number>;

/** The API's numbers for kinds of spans, a status and a severity. */
export const spanKinds = { internal: 0, client: 2 } as const;
export const statusError = 2;
export const severityWarn = 13;

/** Attributes as the API takes them: it may keep the lists, so they are copied. */
export const otelAttributes = (attributes: SpanAttributes): OtelSpanOptions["attributes"] =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === "object" ? [...value] : value]),
  );
