import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** OpenTelemetry's own tracer and meter for one test, registered nowhere: what they got is read from memory. */
export function memoryTracer() {
  const exporter = new InMemorySpanExporter();
  const started: ReadableSpan[] = [];
  const noteStart = {
    onStart: (span: ReadableSpan) => void started.push(span),
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  const spans = new TracerProvider({ spanProcessors: [noteStart, new SimpleSpanProcessor({ exporter })] });
  const current = new AsyncLocalStorage<Context>();
  const active = (): Context => current.getStore() ?? ROOT_CONTEXT;
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 1_000_000 });
  const meters = new MeterProvider({ readers: [reader] });
  const api = {
    trace: { getTracer: (name: string) => spans.getTracer(name), setSpan: trace.setSpan.bind(trace) },
    context: { active, with: <T>(at: Context, work: () => T): T => current.run(at, work) },
    metrics: { getMeter: (name: string) => meters.getMeter(name) },
  };
  return {
    api,
    /** Makes a span, as a library that the code calls would. */
    inSpan(name: string) {
      const span = spans.getTracer("library").startSpan(name, {}, active());
      span.end();
    },
    /** Does something within a span of the program's own. */
    within: <T>(name: string, work: () => T): T => {
      const span = spans.getTracer("program").startSpan(name, {}, active());
      try {
        return current.run(trace.setSpan(active(), span), work);
      } finally {
        span.end();
      }
    },
    /** The spans that have ended. */
    ended: (): readonly ReadableSpan[] => exporter.getFinishedSpans(),
    /** All spans that have begun. */
    started: (): readonly ReadableSpan[] => started,
    async metrics() {
      await meters.forceFlush();
      const resources = metricExporter.getMetrics().slice(-1);
      return resources.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
    },
    async [Symbol.asyncDispose]() {
      await spans.shutdown();
      await meters.shutdown();
    },
  };
}
