import type { OtelLabels, OtelMeter } from "./open-telemetry.ts";
import type { SpanAttributes, SpanEnd, SpanKey, SpanStart } from "./spans/span.ts";
import type { Tracing } from "./tracing.ts";

/** Measures what spans say, under the names of the conventions, and under the older ones that most dashboards read. */
export type Meter = {
  readonly ended: (start: SpanStart, end: SpanEnd) => void;
  /** A part of a streamed answer came, at a time in milliseconds. */
  readonly chunk: (key: SpanKey, at: number) => void;
};

type Instruments = {
  readonly measure: (name: string, value: number, labels: OtelLabels) => void;
  readonly count: (name: string, value: number, labels: OtelLabels) => void;
};

/** The parts of an answer that came. */
type Chunks = { readonly first: number; last: number; count: number };

/** The meter of a run. Whatever the API throws, the run goes on without the measurement. */
export function meterOf(tracing: Tracing): Meter {
  const chunks = new Map<SpanKey, Chunks>();
  return {
    chunk(key, at) {
      const known = chunks.get(key);
      if (known === undefined) chunks.set(key, { first: at, last: at, count: 1 });
      else {
        known.last = at;
        known.count += 1;
      }
    },
    ended(start, end) {
      const came = chunks.get(start.key);
      chunks.delete(start.key);
      if (end.attributes["turnlog.unfinished"] === true) return;
      try {
        record(instrumentsOf(tracing), { start, end, chunks: came ?? null });
      } catch {
        // Measurements are best effort, as spans are.
      }
    },
  };
}

type Ended = { readonly start: SpanStart; readonly end: SpanEnd; readonly chunks: Chunks | null };

function record(instruments: Instruments, ended: Ended): void {
  switch (ended.start.attributes["gen_ai.operation.name"]) {
    case "chat":
      recordRequest(instruments, ended);
      return;
    case "execute_tool":
      instruments.measure("gen_ai.execute_tool.duration", secondsOf(ended), {
        ...labelsOf(ended, "gen_ai.operation.name", "gen_ai.tool.name"),
      });
      return;
    case "invoke_agent":
      recordPart(instruments, ended);
      return;
    default:
  }
}

const secondsOf = ({ start, end }: Ended): number => Math.max(0, end.at - start.at) / 1000;

const requestLabels = [
  ...["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"],
  ...["server.address", "server.port"],
];

function recordRequest({ measure, count }: Instruments, ended: Ended): void {
  const { start, end, chunks } = ended;
  const labels = labelsOf(ended, ...requestLabels);
  measure("gen_ai.client.inference.duration", secondsOf(ended), labels);
  measure("gen_ai.client.operation.duration", secondsOf(ended), labels);
  const first = numberOf(end.attributes, "gen_ai.response.time_to_first_chunk");
  if (first !== null) measure("gen_ai.client.inference.time_to_first_chunk", first, labels);
  if (chunks !== null && chunks.count > 1) {
    const each = (chunks.last - chunks.first) / (chunks.count - 1) / 1000;
    measure("gen_ai.client.inference.time_per_output_chunk", each, labels);
  }
  const { "error.type": _, ...tokenLabels } = labels;
  for (const kind of tokenKinds) {
    const tokens = numberOf(end.attributes, `gen_ai.usage.${kind}`);
    if (tokens === null) continue;
    count(`gen_ai.client.inference.usage.${kind}`, tokens, tokenLabels);
    const type = /^(input|output)_tokens$/.exec(kind)?.[1];
    if (type !== undefined) measure("gen_ai.client.token.usage", tokens, { ...tokenLabels, "gen_ai.token.type": type });
  }
  const strategy = labelsOf(
    ended,
    ...requestLabels.slice(0, 3),
    "turnlog.decision.strategy",
    "turnlog.decision.reason",
  );
  count("turnlog.requests", 1, { ...strategy, ...labelsOf({ start, end }, "turnlog.route") });
}

function recordPart({ measure }: Instruments, ended: Ended): void {
  const labels = labelsOf(ended, "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name");
  measure("gen_ai.invoke_agent.duration", secondsOf(ended), labels);
  const { attributes } = ended.end;
  measure("gen_ai.invoke_agent.inference_calls", numberOf(attributes, "turnlog.run.requests") ?? 0, labels);
  measure("gen_ai.invoke_agent.tool_calls", numberOf(attributes, "turnlog.run.tool_calls") ?? 0, labels);
}

const numberOf = (attributes: SpanAttributes, name: string): number | null => {
  const value = attributes[name];
  return typeof value === "number" ? value : null;
};

/** The attributes of a span by which a measurement is grouped: nothing that differs from run to run. */
function labelsOf({ start, end }: Pick<Ended, "start" | "end">, ...names: readonly string[]): OtelLabels {
  const all = { ...start.attributes, ...end.attributes };
  const found = names.flatMap((name) => {
    const value = all[name];
    return typeof value === "string" || typeof value === "number" ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(found), ...(end.errorType === null ? {} : { "error.type": end.errorType }) };
}

const tokenKinds = [
  ...["input_tokens", "output_tokens", "cache_read.input_tokens", "reasoning.output_tokens"],
  ...["cache_write.input_tokens", "cache_creation.input_tokens"],
];

const doubling = (first: number, count: number): number[] => Array.from({ length: count }, (_, n) => first * 2 ** n);

/** Seconds of a request, as the conventions ask for: 0.01 doubling to 81.92; of a run, coarser ones. */
const requestSeconds = doubling(0.01, 14);
const runSeconds = doubling(1, 13);
const callCounts = doubling(1, 8);
const tokenCounts = doubling(1, 14).map((_, n) => 4 ** n);

const histograms: ReadonlyMap<string, { readonly unit: string; readonly of: string; readonly bounds: number[] }> =
  new Map([
    ["gen_ai.client.inference.duration", { unit: "s", of: "Duration of a request", bounds: requestSeconds }],
    ["gen_ai.client.operation.duration", { unit: "s", of: "Duration of a request", bounds: requestSeconds }],
    [
      "gen_ai.client.inference.time_to_first_chunk",
      { unit: "s", of: "Time to the first part of a streamed answer", bounds: requestSeconds },
    ],
    [
      "gen_ai.client.inference.time_per_output_chunk",
      { unit: "s", of: "Time between parts of a streamed answer", bounds: requestSeconds },
    ],
    ["gen_ai.execute_tool.duration", { unit: "s", of: "Duration of a tool call", bounds: requestSeconds }],
    ["gen_ai.invoke_agent.duration", { unit: "s", of: "Duration of a run", bounds: runSeconds }],
    ["gen_ai.invoke_agent.inference_calls", { unit: "{call}", of: "Requests of a run", bounds: callCounts }],
    ["gen_ai.invoke_agent.tool_calls", { unit: "{call}", of: "Tool calls of a run", bounds: callCounts }],
    ["gen_ai.client.token.usage", { unit: "{token}", of: "Tokens of a request", bounds: tokenCounts }],
  ]);

/** The instruments of an engine, each made when something is measured with it first. */
function instrumentsOf(tracing: Tracing): Instruments {
  const known = made.get(tracing);
  if (known !== undefined) return known;
  const meter = tracing.api.metrics.getMeter("turnlog");
  const instruments = { measure: measuring(meter), count: counting(meter) };
  made.set(tracing, instruments);
  return instruments;
}

const made = new WeakMap<Tracing, Instruments>();

function measuring(meter: OtelMeter): Instruments["measure"] {
  const byName = new Map<string, ReturnType<OtelMeter["createHistogram"]>>();
  return (name, value, labels) => {
    const { unit = "1", of = name, bounds = [] } = histograms.get(name) ?? {};
    const options = { unit, description: of, advice: { explicitBucketBoundaries: bounds } };
    const histogram = byName.get(name) ?? meter.createHistogram(name, options);
    byName.set(name, histogram);
    histogram.record(value, labels);
  };
}

function counting(meter: OtelMeter): Instruments["count"] {
  const byName = new Map<string, ReturnType<OtelMeter["createCounter"]>>();
  return (name, value, labels) => {
    const isRequests = name === "turnlog.requests";
    const description = isRequests ? "Requests by what planning decided" : "Tokens of requests";
    const counter =
      byName.get(name) ?? meter.createCounter(name, { unit: isRequests ? "{request}" : "{token}", description });
    byName.set(name, counter);
    counter.add(value, labels);
  };
}
