import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../base/error-message.ts";
import {
  allOf,
  anything,
  checkFunction,
  checkText,
  checkWhole,
  choiceOf,
  kindOf,
  optionsOf,
  required,
} from "../../base/options.ts";
import { randomId } from "../../log/codec/ids.ts";
import { engineWith } from "./adjusted-engine.ts";
import { type Budget, recordedBudget } from "./budget.ts";
import { type ChainPolicy, type Mode, modes, policyOf } from "./chain-policy.ts";
import { type CompactPolicy, recordedCompactPolicy } from "./compact-policy.ts";
import type { InDoubtHandler } from "./doubt.ts";
import { type Engine, type EngineOptions, engineOf, type Observer, thisCopy } from "./engine.ts";
import {
  checkChain,
  checkedList,
  checkMode,
  checkNames,
  checkObserver,
  checkProvider,
  checkRouting,
  refuseBesideLoop,
  refuseProvider,
} from "./engine-checks.ts";
import { EngineLife } from "./engine-life.ts";
import { checkTimeLimit, type RetryPolicy, retryPolicy } from "./limits.ts";
import { checkLayer, type Layer } from "./middleware.ts";
import { checkUnknownOutcome } from "./own-effects.ts";
import type { Provider } from "./provider.ts";
import { type ReasoningPolicy, reasoningPolicy } from "./reasoning-policy.ts";
import { providersOf, type Route, type Routing } from "./route.ts";
import { outputSchemaOf, type StandardSchema } from "./schema.ts";
import { checkTool, type Tool } from "./tool.ts";
import { toolLoop } from "./tool-loop.ts";

export type EngineConfig<Context = unknown, Output = undefined> = {
  readonly provider: Provider;
  /** Providers that `route` may choose beside it, by the names that the log has them by. */
  readonly otherProviders?: Readonly<Record<string, Provider>>;
  /** Says who answers each request of a run, and who takes over from a provider that failed. */
  readonly route?: Route;
  readonly tools?: readonly Tool<unknown, unknown, Context>[];
  /** First listed is outermost. All of them stand within the tool loop, unless it is listed itself. */
  readonly middleware?: readonly Layer<Context>[];
  /** What every answer is to be, unless a run says otherwise: see the option `output` of runs. */
  readonly output?: StandardSchema<unknown, Output>;
  /** Who holds the conversation between two requests; `chained` when absent. A run may say otherwise. */
  readonly mode?: Mode;
  readonly chain?: Partial<ChainPolicy>;
  /** What becomes of encrypted reasoning that has grown old. */
  readonly reasoning?: ReasoningPolicy;
  /** How many tokens a request, and the conversation, may use; a run may be given another. */
  readonly budget?: Budget;
  /** When and how the engine makes a Turn shorter; by default only where a request is refused because it is too long. */
  readonly compact?: CompactPolicy;
  /**
   * Whether the model is told that its last answer was cancelled, or cut off by an error: the next run appends a message that says so,
   * in turnlog's words (`true`) or in these. When absent it is told nothing.
   */
  readonly interruptionNote?: boolean | string;
  /** How often the tool loop may ask the model in one run. */
  readonly maxSteps?: number;
  /** How long a layer may work on its own; ten minutes when absent. */
  readonly layerTimeoutMs?: number;
  /**
   * How long this process waits for a sign of a run's owner of which nothing is known, before it takes the run over; fifteen minutes
   * when absent. An owner that is known to live keeps its run.
   */
  readonly takeoverAfterMs?: number;
  /**
   * A run that was cut off is executed again against its log. Where all layers wait for the engine and none has met anything
   * of the log for so long, they will not any more, and the run is told as diverged; thirty seconds when absent. A layer that
   * waits for something of its own beside a call of the engine needs less than that.
   */
  readonly stuckAfterMs?: number;
  readonly observers?: readonly Observer[];
  /** Says what becomes of a tool call or an effect that began before a crash; by default people are asked. */
  readonly onInDoubt?: InDoubtHandler;
  /**
   * What the model is told of what a tool threw, or gave as an `Error`, and of arguments that are not of its schema; by
   * default the message, without stack and causes. Where it throws, or gives no text, the model is told that the tool failed.
   */
  readonly onToolError?: (error: unknown) => string;
  /**
   * An answer that was lost with the process that had asked: `retry` (the default) asks the model once more, `fail` lets the
   * layers decide. In a living process an answer that nobody knows the fate of always fails.
   */
  readonly onLostResponse?: "retry" | "fail";
  /**
   * A part of a message or of a tool's result that the provider's wire cannot say, as audio on most: `omit` (the default) sends the rest,
   * and records that it is missing; `throw` ends the run with `part-unsendable` before the request is sent.
   */
  readonly onUnsendablePart?: "omit" | "throw";
  /** How often a request is sent again that the server refused without acting on it, and how long that may be waited for. */
  readonly retry?: Partial<RetryPolicy>;
  /** For tests: a clock and ids that repeat, and waiting that takes no time. */
  readonly clock?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newId?: (prefix: "run" | "inf") => string;
};

const engineOptions = optionsOf<EngineConfig>({
  provider: required(checkProvider),
  ...{ otherProviders: anything, route: anything },
  tools: checkedList(checkTool, "write tools: [weather]"),
  middleware: checkedList(checkLayer, "write middleware: [logging()]"),
  ...{ output: anything, mode: choiceOf(...modes), chain: checkChain },
  // What is anything here is looked at where it is read.
  ...allOf(anything, "reasoning", "budget", "compact"),
  interruptionNote: (what, given) =>
    typeof given === "boolean" ? given : checkText(what, given, "true, false, or what the model is to be told"),
  maxSteps: checkWhole,
  ...allOf(anything, "layerTimeoutMs", "takeoverAfterMs", "stuckAfterMs"),
  observers: checkedList(checkObserver, "write observers: [{ next }]"),
  onInDoubt: checkFunction,
  ...{ onLostResponse: choiceOf("retry", "fail"), onUnsendablePart: choiceOf("omit", "throw"), retry: anything },
  ...{ onToolError: checkFunction, sleep: checkFunction, clock: checkFunction, newId: checkFunction },
});

/** How long a layer may take for its own work, and how long an owner may be silent. */
const layerTimeoutMsDefault = 10 * 60_000;
const stuckAfterMsDefault = 30_000;
export const takeoverAfterMsDefault = 15 * 60_000;

/** Time that only ever passes, whatever becomes of the clock; in milliseconds. */
export const stopwatch = (): number => performance.now();

/**
 * Puts provider, tools and middleware together. The tool loop stands outside the layers, so that every layer sees every
 * step, tool results included; listing `toolLoop(…)` in `middleware` places it elsewhere.
 *
 * @throws {TypeError} for an option that is none; a provider, tool or layer that is none, or that could not be named or
 *   recorded; two layers, or two tools, of one name.
 * @throws {RangeError} when a tool, an answer, a layer or a wait may take longer than others wait for a run, or no time at all.
 * @throws {TurnlogError} `settings-too-large` when the provider's settings and the tools are too much to be stored;
 *   `mode-unsupported` when the endpoint cannot do the mode.
 */
export function createEngine<Context = unknown, Output = undefined>(
  config: EngineConfig<Context, Output>,
): Engine<Context, Output> {
  refuseProvider(config);
  engineOptions.check("createEngine", config);
  checkRouting(config.otherProviders, config.route);
  // What context they want is what the engine's type asks of its runs.
  const { tools = [], middleware = [] } = config as EngineConfig;
  const { provider, otherProviders = {}, mode, chain, observers = [] } = config;
  const reasoning = reasoningPolicy(config.reasoning);
  const takeoverAfterMs = config.takeoverAfterMs ?? takeoverAfterMsDefault;
  const hasLoop = middleware.some((layer) => layer.isEngine === true);
  if (hasLoop && tools.length > 0) refuseBesideLoop("tools");
  if (hasLoop && config.maxSteps !== undefined) refuseBesideLoop("maxSteps");
  const mayPause = [provider, ...Object.values(otherProviders)].some(
    ({ codec, settings }) => codec.mayPause?.(settings) === true,
  );
  const isLooped = (tools.length > 0 || mayPause) && !hasLoop;
  const loop = isLooped ? [toolLoop(tools, { maxSteps: config.maxSteps })] : [];
  const layers = [...loop, ...middleware];
  const options: EngineOptions = {
    madeBy: thisCopy,
    life: new EngineLife(async () => {
      for (const each of new Set([provider, ...Object.values(otherProviders)])) await each[Symbol.asyncDispose]?.();
    }),
    provider,
    routing: routingOf(config.route, otherProviders),
    layers,
    tools: layers.flatMap((layer) => layer.tools ?? []),
    adjustments: config.output === undefined ? {} : { output: outputSchemaOf("createEngine", config.output) },
    settings: provider.settings,
    laterSettings: provider.settings,
    output: config.output ?? null,
    context: undefined,
    chain: policyOf(mode, chain, reasoning.keepForMs),
    warnOfReasoningAfterMs: reasoning.warnAfterMs,
    budget: recordedBudget("createEngine", config.budget),
    compact: recordedCompactPolicy(config.compact),
    interruptionNote: config.interruptionNote === false ? null : (config.interruptionNote ?? null),
    layerTimeoutMs: config.layerTimeoutMs ?? Math.min(layerTimeoutMsDefault, takeoverAfterMs),
    takeoverAfterMs,
    stuckAfterMs: config.stuckAfterMs ?? Math.min(stuckAfterMsDefault, takeoverAfterMs),
    onInDoubt: config.onInDoubt ?? null,
    onToolError: config.onToolError ?? ((error) => `Error: ${messageOf(error)}`),
    onLostResponse: config.onLostResponse ?? "retry",
    onUnsendablePart: config.onUnsendablePart ?? "omit",
    retry: retryPolicy(config.retry, takeoverAfterMs),
    sleep: config.sleep ?? ((ms, signal) => sleep(ms, undefined, { signal })),
    clock: config.clock ?? Date.now,
    stopwatch: config.clock ?? stopwatch,
    newId: config.newId ?? randomId,
    learned: new Map(),
    observers,
  };
  checkMode("createEngine", mode, options);
  checkUnknownOutcome("createEngine", options);
  checkNames(options.layers, options.tools);
  checkTimeLimits(options);
  return engineOf(engineWith(options, {}));
}

const routingOf = (choose: Route | undefined, others: Readonly<Record<string, Provider>>): Routing | null =>
  choose === undefined
    ? null
    : {
        choose,
        others: new Map(
          Object.entries(others).map(([name, provider]) => {
            const { settings } = provider;
            return [name, { provider, settings, laterSettings: settings, learned: new Map() }];
          }),
        ),
      };

function checkTimeLimits({ tools, layerTimeoutMs, stuckAfterMs, takeoverAfterMs, ...asked }: EngineOptions): void {
  if (!(takeoverAfterMs >= 1 && Number.isFinite(takeoverAfterMs)))
    throw new RangeError(`createEngine: takeoverAfterMs is ${kindOf(takeoverAfterMs)}: give milliseconds`);
  const check = (what: string, timeoutMs: number): void => {
    checkTimeLimit(what, timeoutMs, takeoverAfterMs);
  };
  for (const { name, timeoutMs } of tools) check(`tool ${name}`, timeoutMs);
  for (const { name, timeoutMs } of providersOf(asked))
    if (timeoutMs !== undefined) check(`an answer of ${name}`, timeoutMs);
  check("a layer", layerTimeoutMs);
  check("a re-execution that meets nothing", stuckAfterMs);
}
