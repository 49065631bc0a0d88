import { isJsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { ConversationId } from "../../domain/ids.ts";
import type { Settings } from "../ports/codec.ts";
import type { RetryPolicy } from "../ports/limits.ts";
import type { Layer } from "../ports/middleware.ts";
import type { Provider } from "../ports/provider.ts";
import type { StandardSchema } from "../ports/schema.ts";
import type { Tool } from "../ports/tool.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { ApprovalHandler, Approvals } from "./approvals.ts";
import type { RecordedBudget } from "./budget.ts";
import type { CacheLostPolicy } from "./cache-lost.ts";
import type { RecordedPolicy } from "./chain-policy.ts";
import type { RecordedCompactPolicy } from "./compact-policy.ts";
import type { InDoubtHandler } from "./doubt.ts";
import type { EngineLife } from "./engine-life.ts";
import type { Routing } from "./route.ts";
import type { RunPart } from "./run-part.ts";

/** Everything that a run needs besides its conversation. */
export type EngineOptions = {
  /** The copy of turnlog that made the engine: the run uses that copy's classes. */
  readonly madeBy: symbol;
  readonly life: EngineLife;
  readonly provider: Provider;
  /** The other providers, and the function that chooses between them; null if there is no routing. */
  readonly routing: Routing | null;
  /** The whole stack, outermost first, with the tool loop in it. */
  readonly layers: readonly Layer[];
  /** The tools that the requests offer. */
  readonly tools: readonly Tool[];
  /** The changes that every run makes to the provider's settings. */
  readonly adjustments: Adjustments;
  /** The settings of this run's requests: until one of its tools is called, and after that. */
  readonly settings: Settings;
  readonly laterSettings: Settings;
  /** The schema that the answer has to match, or null. */
  readonly output: StandardSchema | null;
  /** The `context` that the caller gave for this run; undefined if none. */
  readonly context: unknown;
  readonly chain: RecordedPolicy;
  /** The age from which a request that carries encrypted reasoning warns. */
  readonly warnOfReasoningAfterMs: number;
  /** The token limits; null for none. */
  readonly budget: RecordedBudget | null;
  /** When and how the engine shortens a Turn. */
  readonly compact: RecordedCompactPolicy;
  /** The text that the next run adds for the model after a run that broke off: turnlog's own (true), or this one; null for none. */
  readonly interruptionNote: true | string | null;
  /** The time limit for a layer's own work; a run that exceeds it fails and names the layer. */
  readonly layerTimeoutMs: number;
  /** Sees which layer does its own work. Null but in the regression lab, which stops threads that a layer blocks. */
  readonly onLayerAtWork: OnLayerAtWork | null;
  /** How long this process waits for a sign of life from an owner of which nothing is known, before its run counts as abandoned. */
  readonly takeoverAfterMs: number;
  /** How long all layers of a re-executed run may wait for the engine without meeting an event of its log. */
  readonly stuckAfterMs: number;
  /** Decides about effects that may have happened before a run was interrupted. */
  readonly onInDoubt: InDoubtHandler | null;
  /** Which calls need approval; null to leave that to the tools. */
  readonly approvals: Approvals | null;
  /** Asks a person who is there before a run waits for a decision. */
  readonly onApproval: ApprovalHandler | null;
  /** The text that the model gets for a tool's error. */
  readonly onToolError: (error: unknown) => string;
  /** Whether a request is retried if its answer was lost because the process ended. */
  readonly onLostResponse: "retry" | "fail";
  /** What to do with a part that the provider's wire has no form for. */
  readonly onUnsendablePart: "omit" | "throw";
  /** From how many tokens on a request that loses its prompt cache is reported; null for never. */
  readonly cacheLost: CacheLostPolicy | null;
  readonly retry: RetryPolicy;
  /** Waits before a retry, and before a re-execution counts as stuck; rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds on a monotonic clock. */
  readonly stopwatch: () => number;
  /** A new id with this prefix. */
  readonly newId: (prefix: "run" | "inf") => string;
  /** What this process has learned about the endpoint, in any conversation. */
  readonly learned: Map<string, JsonValue>;
  /** Get all parts of all runs; a run ignores what they throw. */
  readonly observers: readonly Observer[];
  /** Traces its runs; null if they are not traced. */
  readonly tracing: Tracing | null;
};

/** Called synchronously with the name of the layer that starts its own work, and with null when it stops. */
export type OnLayerAtWork = (layer: string | null) => void;

/**
 * Receives the parts of runs: an RxJS `Subject`, or any observer. What it throws is ignored. If it returns a promise, the next part follows
 * once that has settled; runs do not wait, and an observer that lags misses parts (`parts-dropped`).
 */
export type Observer = { readonly next: (part: RunPart, place: PartPlace) => unknown };

/** Where a part belongs: the runs of many conversations use one engine at the same time, and report to the same observers. */
export type PartPlace = {
  readonly conversationId: ConversationId;
  /** The run's id in the log. */
  readonly runId: string;
  /** Counts the parts of the run from 0, and again from 0 whenever it is resumed. */
  readonly sequence: number;
};

/**
 * Runs conversations: a provider, tools and middleware. It holds no conversation. Disposing of it waits for the runs in progress
 * and then disposes of the provider, if that holds resources; later runs are rejected.
 */
export type Engine<Context = unknown, Output = undefined> = AsyncDisposable & {
  /** @internal The checked options. */
  readonly options: EngineOptions;
  /** Only for the compiler: the `ctx.context` that its layers and tools need, and the type of its answers. */
  readonly types?: { readonly context: (context: Context) => void; readonly output: Output };
};

/** An engine with any context and output. */
export type AnyEngine = Engine<never, unknown>;

export const thisCopy = Symbol("turnlog");

/**
 * Whether this copy of turnlog made the engine. An engine of another copy has other classes of errors, Turns and blocks: a refusal
 * that a full request would fix ends the run, and a Turn from a layer is not recognised.
 */
export const isOwnEngine = ({ options }: Pick<AnyEngine, "options">): boolean => options.madeBy === thisCopy;

/**
 * The options of an engine.
 *
 * @throws {TypeError} if it is not an engine.
 */
export function checkedEngine(where: string, engine: AnyEngine): EngineOptions {
  const given: unknown = engine;
  const options: unknown = objectOf(given)["options"];
  if (isJsonObject(options) && "madeBy" in options) return engine.options;
  throw new TypeError(`${where} takes an engine, not ${kindOf(given)}: make one with createEngine({ provider })`);
}

/** An engine with these options, which shares the life of the engine that they come from. */
export const engineOf = <Context, Output>(options: EngineOptions): Engine<Context, Output> => ({
  options,
  [Symbol.asyncDispose]: () => options.life.end(),
});
