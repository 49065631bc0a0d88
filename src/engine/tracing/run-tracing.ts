import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { TraceIds } from "../../domain/events/run-events.ts";
import {
  type OtelContext,
  type OtelSpan,
  otelAttributes,
  severityWarn,
  spanKinds,
  statusError,
} from "./open-telemetry.ts";
import { type Meter, meterOf } from "./run-metrics.ts";
import type { RunSpans, SpanKnowledge } from "./spans/run-spans.ts";
import { partKey, type SpanChange, type SpanEnd, type SpanKey, type SpanStart } from "./spans/span.ts";
import type { Tracing } from "./tracing.ts";

type Traced = { readonly start: SpanStart; readonly span: OtelSpan; readonly context: OtelContext };

type Beginning = {
  readonly tracing: Tracing;
  /** With the past of a run that is resumed. */
  readonly spans: RunSpans;
  /** The blocks of the Turn that a frame sends. */
  readonly outgoing: (frame: string) => readonly Block[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/**
 * The spans of one process's part of a run, as a tracer of OpenTelemetry gets them: the fold of the run's durable events says what begins and
 * ends. Whatever the tracer throws, the run goes on without the span.
 */
export class RunTracing {
  readonly #tracing: Tracing;
  readonly #spans: RunSpans;
  readonly #known: SpanKnowledge;
  readonly #settings = new Map<string, JsonObject>();
  readonly #open = new Map<SpanKey, Traced>();
  readonly #now: () => number;
  readonly #meter: Meter | null;
  #part: SpanKey | null = null;

  constructor({ tracing, spans, outgoing, now }: Beginning) {
    this.#tracing = tracing;
    this.#spans = spans;
    this.#now = now;
    this.#meter = tracing.hasMetrics ? meterOf(tracing) : null;
    this.#known = { settings: (name) => this.#settings.get(name), outgoing };
  }

  /**
   * Starts the span of this process's part of the run, within the caller's span. Returns its ids, which the log keeps for the part that
   * continues this one; null if no tracer is registered.
   */
  begin(epoch: number, at: number, provider?: { readonly scope: string }): TraceIds | null {
    const start = attempt(() => this.#spans.partStart(epoch, at, provider));
    if (start === null) return null;
    this.#start(start);
    this.#part = start.key;
    return attempt(() => idsOf(this.#open.get(partKey(epoch))?.span));
  }

  /** Remembers settings, which events only name. */
  noteSettings(name: string, settings: JsonObject): void {
    this.#settings.set(name, settings);
  }

  /** Events of the run that are durable now. */
  take(events: readonly RecordedEvent[]): void {
    for (const recorded of events) this.#apply(attempt(() => this.#spans.take(recorded, this.#known)));
  }

  /** A part of a streamed answer came. */
  chunk(key: SpanKey): void {
    const traced = this.#open.get(key);
    if (traced !== undefined) this.#meter?.chunk(key, this.#now());
  }

  /** Does the work of a span in its context, so that spans made by the provider or the tool are within it. */
  within<T>(key: SpanKey, work: () => T): T {
    if (!this.#open.has(key)) this.#apply(attempt(() => this.#spans.beginAgain(key, this.#now(), this.#known)));
    const traced = this.#open.get(key) ?? this.#open.get(this.#part ?? "");
    if (traced === undefined) return work();
    const { context } = this.#tracing.api;
    let done: { readonly value: T } | { readonly error: unknown } | null = null;
    const once = (): T => {
      if (done !== null) return outcomeOf(done);
      try {
        done = { value: work() };
      } catch (error) {
        done = { error };
      }
      return outcomeOf(done);
    };
    attempt(() => context.with(traced.context, once));
    // The work is done once, and its outcome counts, whatever the context manager makes of it.
    return once();
  }

  /** Ends what no event has ended. A span whose beginning was not recorded is left without an end, so no exporter gets it. */
  close(): void {
    this.#apply(attempt(() => this.#spans.leave()));
    this.#open.clear();
    this.#part = null;
  }

  #apply(changes: readonly SpanChange[] | null): void {
    for (const change of changes ?? []) {
      if (change.type === "start") this.#start(change);
      else this.#end(change);
    }
  }

  #start(start: SpanStart): void {
    const { key, parent, name, kind, at, attributes, follows } = start;
    if (this.#open.has(key)) return;
    const { api } = this.#tracing;
    attempt(() => {
      const outer = (parent === null ? undefined : this.#open.get(parent)?.context) ?? api.context.active();
      const links = follows?.trace == null ? [] : [{ context: contextOf(follows.trace) }];
      const options = { kind: spanKinds[kind], startTime: at, attributes: otelAttributes(attributes), links };
      const span = api.trace.getTracer("turnlog").startSpan(name, options, outer);
      this.#open.set(key, { start, span, context: api.trace.setSpan(outer, span) });
    });
  }

  /** The event of the conventions for a request that failed. */
  #reportFailure({ start, context }: Traced, { errorType, errorMessage, at: timestamp }: SpanEnd): void {
    if (errorType === null) return;
    const labels = failedNames.flatMap((name) => {
      const value = start.attributes[name];
      return typeof value === "string" || typeof value === "number" ? [[name, value] as const] : [];
    });
    const message = errorMessage === null ? {} : { "exception.message": errorMessage };
    this.#tracing.logs?.getLogger("turnlog").emit({
      ...{ eventName: "gen_ai.client.operation.exception", severityNumber: severityWarn, severityText: "WARN" },
      ...{ timestamp, context, attributes: { ...Object.fromEntries(labels), "exception.type": errorType, ...message } },
    });
  }

  #end(end: SpanEnd): void {
    const traced = this.#open.get(end.key);
    this.#open.delete(end.key);
    if (traced === undefined) return;
    const { span, start } = traced;
    const { attributes, errorType, errorMessage, at } = end;
    attempt(() => span.setAttributes(otelAttributes(attributes)));
    if (errorType !== null) {
      attempt(() => span.setAttributes({ "error.type": errorType }));
      attempt(() => span.setStatus({ code: statusError, ...(errorMessage === null ? {} : { message: errorMessage }) }));
    }
    attempt(() => {
      span.end(at);
    });
    if (start.kind === "client") attempt(() => this.#reportFailure(traced, end));
    this.#meter?.ended(start, end);
  }
}

const failedNames = [
  "gen_ai.operation.name",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "server.address",
  "server.port",
];

const outcomeOf = <T>(done: { readonly value: T } | { readonly error: unknown }): T => {
  if ("error" in done) throw done.error;
  return done.value;
};

/** What a tracer returns; null if it throws. */
function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** The API gives zeros where no tracer is registered. */
function idsOf(span: OtelSpan | undefined): TraceIds | null {
  if (span === undefined) return null;
  const { traceId, spanId, traceFlags: flags } = span.spanContext();
  const isSound = /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(spanId) && Number.isSafeInteger(flags);
  return isSound && flags >= 0 && /[^0]/.test(traceId) ? { traceId, spanId, flags } : null;
}

const contextOf = ({ traceId, spanId, flags }: TraceIds) => ({ traceId, spanId, traceFlags: flags, isRemote: true });
