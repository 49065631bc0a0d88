import { isJsonObject } from "../../base/json.ts";
import {
  anything,
  checkFlag,
  checkFunction,
  choiceOf,
  kindOf,
  optionsOf,
  required,
  textOf,
} from "../../base/options.ts";
import type { OpenTelemetryApi, OpenTelemetryLogs } from "./open-telemetry.ts";
import type { SpanAttributes } from "./spans/span.ts";
import { cacheWriteNames, type SpanOptions, type TracingService, tracingServices } from "./spans/span-options.ts";

/** Traces the runs of an engine with OpenTelemetry: see docs/TRACING.md. */
export type TracingConfig = {
  /** The API that the program's exporters are registered with: `import * as api from "@opentelemetry/api"`. */
  readonly api: OpenTelemetryApi;
  /** Where failed requests are reported as events, besides their spans: `import { logs } from "@opentelemetry/api-logs"`. */
  readonly logs?: OpenTelemetryLogs;
  /** The name of the agent, by which spans of runs are named, and its version. */
  readonly agent?: string;
  readonly agentVersion?: string;
  /**
   * Whether spans have what was said: messages, arguments and results of tools, texts of errors. False by default. What a tracing service
   * was sent is not reached by an erasure.
   */
  readonly content?: boolean;
  /** The service that reads the spans, if it needs attributes of its own. */
  readonly service?: TracingService;
  /** What tokens written to a prompt cache are called; `cache_creation` is the name before v0.1.0 of the conventions. */
  readonly cacheWriteName?: "cache_write" | "cache_creation";
  /** Attributes of every span of a run, such as the user's id; a function gets the run, and the `context` given to it. */
  readonly attributes?: SpanAttributes | ((run: TracedRun) => SpanAttributes);
  /** Whether durations, tokens and requests are measured too. True by default. */
  readonly metrics?: boolean;
};

/** The run that is traced. */
export type TracedRun = { readonly conversationId: string; readonly runId: string; readonly context: unknown };

/** An engine's tracing. */
export type Tracing = {
  readonly api: OpenTelemetryApi;
  readonly logs: OpenTelemetryLogs | null;
  readonly hasMetrics: boolean;
  readonly hasContent: boolean;
  /** The options of the spans of a run. */
  readonly spansOf: (run: TracedRun) => SpanOptions;
};

const tracingOptions = optionsOf<TracingConfig>({
  api: required((what, given) => checkApi(what, given)),
  logs(what, given) {
    if (typeof given === "object" && given !== null && typeof Reflect.get(given, "getLogger") === "function")
      return anything(what, given);
    throw new TypeError(
      `${what} is ${kindOf(given)}: give the API of logs: import { logs } from "@opentelemetry/api-logs"`,
    );
  },
  ...{ agent: textOf("the name of the agent"), agentVersion: textOf("the version of the agent") },
  ...{ content: checkFlag, service: choiceOf(...tracingServices), cacheWriteName: choiceOf(...cacheWriteNames) },
  attributes(what, given) {
    if (typeof given === "function") return checkFunction(what, given);
    return checkAttributes(what, given);
  },
  metrics: checkFlag,
});

const api = 'give the whole API: import * as api from "@opentelemetry/api", and tracing: { api }';

function checkApi(what: string, given: unknown): never {
  const members = { trace: ["getTracer", "setSpan"], context: ["active", "with"], metrics: ["getMeter"] };
  if (typeof given !== "object" || given === null) throw new TypeError(`${what} is ${kindOf(given)}: ${api}`);
  for (const [name, methods] of Object.entries(members)) {
    const part: unknown = Reflect.get(given, name);
    for (const method of methods)
      if (typeof part !== "object" || part === null || typeof Reflect.get(part, method) !== "function")
        throw new TypeError(`${what} has no ${name}.${method}: ${api}`);
  }
  return anything(what, given);
}

function checkAttributes(what: string, given: unknown): never {
  if (!isJsonObject(given))
    throw new TypeError(
      `${what} is ${kindOf(given)}: give attributes such as { "user.id": "u1" }, or a function of the run`,
    );
  for (const [name, value] of Object.entries(given))
    if (!isAttribute(value))
      throw new TypeError(`${what}.${name} is ${kindOf(value)}: give a text, a number, true, false or a list of texts`);
  return anything(what, given);
}

function isAttribute(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each === "string");
  return (
    typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
  );
}

/**
 * @throws {TypeError} if an option is unknown or invalid, or the API is not OpenTelemetry's.
 */
export function tracingOf(config: TracingConfig | undefined): Tracing | null {
  if (config === undefined) return null;
  tracingOptions.check("createEngine: tracing", config, "createEngine: tracing.");
  const {
    agent = null,
    agentVersion = null,
    content = false,
    service = null,
    attributes = {},
    metrics = true,
  } = config;
  const plain = { agent, agentVersion, hasContent: content, service };
  const { cacheWriteName = "cache_write" } = config;
  return {
    ...{ api: config.api, logs: config.logs ?? null, hasMetrics: metrics, hasContent: content },
    spansOf: (run) => ({
      ...{ ...plain, cacheWriteName },
      attributes: typeof attributes === "function" ? givenAttributes(attributes, run) : attributes,
    }),
  };
}

/** What a function of the caller gives: an error of it, or something that is no attribute, leaves the attributes out. */
function givenAttributes(attributes: (run: TracedRun) => SpanAttributes, run: TracedRun): SpanAttributes {
  try {
    const given: unknown = attributes(run);
    if (!isJsonObject(given)) return {};
    const sound = Object.entries(given).filter(([, value]) => isAttribute(value));
    return Object.fromEntries(sound) as SpanAttributes;
  } catch {
    return {};
  }
}
