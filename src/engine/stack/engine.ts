import { isJsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { ConversationId } from "../../domain/ids.ts";
import type { RecordedBudget } from "./budget.ts";
import type { RecordedPolicy } from "./chain-policy.ts";
import type { Settings } from "./codec.ts";
import type { RecordedCompactPolicy } from "./compact-policy.ts";
import type { InDoubtHandler } from "./doubt.ts";
import type { EngineLife } from "./engine-life.ts";
import type { RetryPolicy } from "./limits.ts";
import type { Layer } from "./middleware.ts";
import type { Provider } from "./provider.ts";
import type { Routing } from "./route.ts";
import type { RunPart } from "./run-part.ts";
import type { StandardSchema } from "./schema.ts";
import type { Tool } from "./tool.ts";

/** Everything a run needs besides its conversation. */
export type EngineOptions = {
  /** The copy of turnlog that made the engine: its classes are those that the run will meet. */
  readonly madeBy: symbol;
  readonly life: EngineLife;
  readonly provider: Provider;
  /** Who else may be asked, and who says so; null where nobody may. */
  readonly routing: Routing | null;
  /** The whole stack, outermost first; the tool loop stands in it. */
  readonly layers: readonly Layer[];
  /** Tools that the requests offer. */
  readonly tools: readonly Tool[];
  /** What every run asks otherwise than the provider is set to. */
  readonly adjustments: Adjustments;
  /** What the provider is asked in this run, and once a tool of it was called. */
  readonly settings: Settings;
  readonly laterSettings: Settings;
  /** What the answer has to be of; null where any answer will do. */
  readonly output: StandardSchema | null;
  /** What the caller gave layers and tools for this run; undefined where that is nothing. */
  readonly context: unknown;
  readonly chain: RecordedPolicy;
  /** From what age on a request that carries encrypted reasoning warns. */
  readonly warnOfReasoningAfterMs: number;
  /** How many tokens may be used; null where nobody counts them. */
  readonly budget: RecordedBudget | null;
  /** When and how the engine makes a Turn shorter. */
  readonly compact: RecordedCompactPolicy;
  /** What the model is told, before the next run, of one that broke off: a text, or turnlog's own (true); null for nothing. */
  readonly interruptionNote: true | string | null;
  /** How long a layer may work on its own before the run fails and names it. */
  readonly layerTimeoutMs: number;
  /** How long this process waits for a sign of an owner of which nothing is known before its run counts as abandoned. */
  readonly takeoverAfterMs: number;
  /** How long layers that execute a run again may all wait for the engine without meeting anything of its log. */
  readonly stuckAfterMs: number;
  /** Asked about effects that may have happened before a run was cut off. */
  readonly onInDoubt: InDoubtHandler | null;
  /** What the model is told of a tool's error. */
  readonly onToolError: (error: unknown) => string;
  /** Whether a request is sent again whose answer was lost with the process that had asked. */
  readonly onLostResponse: "retry" | "fail";
  /** What becomes of a part that the provider's wire cannot say. */
  readonly onUnsendablePart: "omit" | "throw";
  readonly retry: RetryPolicy;
  /** Waits before a request is sent again, and before a re-execution counts as stuck; rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds that have passed here, whatever became of the clock. */
  readonly stopwatch: () => number;
  /** A new id with this prefix. */
  readonly newId: (prefix: "run" | "inf") => string;
  /** What this process has seen the endpoint do, whichever conversation it was. */
  readonly learned: Map<string, JsonValue>;
  /** Get everything that runs show while they happen; what they throw is not the run's affair. */
  readonly observers: readonly Observer[];
};

/** Where parts of runs go, as an RxJS `Subject` or any observer has it. */
export type Observer = { readonly next: (part: RunPart, place: PartPlace) => unknown };

/** Where a part belongs: an engine's runs of many conversations go on at once, and tell the same observers. */
export type PartPlace = {
  readonly conversationId: ConversationId;
  /** The run as the log has it. */
  readonly runId: string;
  /** Counts what this process shows of the run, from 0. */
  readonly sequence: number;
};

/**
 * What runs conversations: a provider, tools and middleware. It holds no conversation. Disposing of it waits for the runs in
 * progress and disposes of the provider, where that has something to release; runs begun after that are refused.
 */
export type Engine<Context = unknown, Output = undefined> = AsyncDisposable & {
  /** @internal What it was made with, checked. */
  readonly options: EngineOptions;
  /** Only for the compiler: what its layers and tools want as `ctx.context`, and what its answers are. */
  readonly types?: { readonly context: (context: Context) => void; readonly output: Output };
};

/** An engine, whatever its layers and tools want and its answers are. */
export type AnyEngine = Engine<never, unknown>;

export const thisCopy = Symbol("turnlog");

/**
 * Whether this copy of turnlog made an engine. One of another copy looks the same, but its errors, Turns and blocks are of
 * other classes: a refusal that a full request would mend ends the run, and what a layer hands on is no Turn.
 */
export const isOwnEngine = ({ options }: Pick<AnyEngine, "options">): boolean => options.madeBy === thisCopy;

/**
 * What an engine was made with.
 *
 * @throws {TypeError} for what is no engine.
 */
export function checkedEngine(where: string, engine: AnyEngine): EngineOptions {
  const given: unknown = engine;
  const options: unknown = objectOf(given)["options"];
  if (isJsonObject(options) && "madeBy" in options) return engine.options;
  throw new TypeError(`${where} takes an engine, not ${kindOf(given)}: make one with createEngine({ provider })`);
}

/** The engine of these options, which shares the life of the one that they come from. */
export const engineOf = <Context, Output>(options: EngineOptions): Engine<Context, Output> => ({
  options,
  [Symbol.asyncDispose]: () => options.life.end(),
});
