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
import { checkTimeLimit, type RetryPolicy, retryPolicy } from "../ports/limits.ts";
import { checkLayer, type Layer } from "../ports/middleware.ts";
import type { Provider } from "../ports/provider.ts";
import { outputSchemaOf, type StandardSchema } from "../ports/schema.ts";
import { checkTool, type Tool } from "../ports/tool.ts";
import { type TracingConfig, tracingOf } from "../tracing/tracing.ts";
import { engineWith } from "./adjusted-engine.ts";
import { type ApprovalHandler, type Approvals, checkApprovals } from "./approvals.ts";
import { type Budget, recordedBudget } from "./budget.ts";
import { type CacheLostPolicy, cacheLostPolicy } from "./cache-lost.ts";
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
import { checkUnknownOutcome } from "./own-effects.ts";
import { type ReasoningPolicy, reasoningPolicy } from "./reasoning-policy.ts";
import { providersOf, type Route, type Routing } from "./route.ts";
import { toolLoop } from "./tool-loop.ts";

export type EngineConfig<Context = unknown, Output = undefined> = {
  readonly provider: Provider;
  /** Other providers that `route` may choose, by the names under which the log records them. */
  readonly otherProviders?: Readonly<Record<string, Provider>>;
  /** Chooses the provider of each request, and the one to try after a provider failed. */
  readonly route?: Route;
  readonly tools?: readonly Tool<unknown, unknown, Context>[];
  /** The first layer listed is the outermost. All of them are inside the tool loop, unless the list itself contains one. */
  readonly middleware?: readonly Layer<Context>[];
  /** The schema that every answer has to match, unless a run gives its own: see the option `output` of runs. */
  readonly output?: StandardSchema<unknown, Output>;
  /** Who keeps the conversation between two requests; `chained` by default. A run may choose another mode. */
  readonly mode?: Mode;
  readonly chain?: Partial<ChainPolicy>;
  /** How the engine treats old encrypted reasoning. */
  readonly reasoning?: ReasoningPolicy;
  /** The token limits of a request and of the conversation; a run may override them. */
  readonly budget?: Budget;
  /** When and how the engine shortens a Turn; by default only after a provider rejected a request as too long. */
  readonly compact?: CompactPolicy;
  /**
   * Whether the model learns that its last answer was cancelled, or cut off by an error. If set, the next run appends a message
   * that says so: turnlog's text for `true`, or the given one. By default nothing is appended.
   */
  readonly interruptionNote?: boolean | string;
  /** The maximum number of model calls of the tool loop in one run. */
  readonly maxSteps?: number;
  /** The time limit for a layer's own work; ten minutes by default. */
  readonly layerTimeoutMs?: number;
  /**
   * How long this process waits for a sign of life from a run's owner of which nothing is known before it takes the run over;
   * fifteen minutes by default. An owner that is known to be alive keeps its run.
   */
  readonly takeoverAfterMs?: number;
  /**
   * An interrupted run is executed again against its log. If all layers wait for the engine and none has met an event of the log
   * for this long, the run fails as diverged; thirty seconds by default. A layer that waits for something else beside a call of the
   * engine has to be faster than that.
   */
  readonly stuckAfterMs?: number;
  readonly observers?: readonly Observer[];
  /** Traces runs, steps, requests and tool calls with OpenTelemetry, and measures them: see docs/TRACING.md. */
  readonly tracing?: TracingConfig;
  /**
   * Decides about a tool call or an effect that began before a crash, or whose tool threw `tool-in-doubt`; by default the run waits for a
   * person to decide.
   */
  readonly onInDoubt?: InDoubtHandler;
  /** Which calls a person has to approve, by the names of tools or as a function of each call; precedes `needsApproval` of the tools. */
  readonly approvals?: Approvals<Context>;
  /**
   * Asks a person who is there, before a run waits for a decision. If it returns null, throws, or does not answer within five minutes, the
   * run waits without an owner until the call is decided by `conversation.approve` or `deny`.
   */
  readonly onApproval?: ApprovalHandler;
  /**
   * Turns an error that a tool threw or returned, or that rejects its arguments, into the text that the model gets; by default the
   * message, without stack and causes. If this function throws, or returns no text, the model gets a message that the tool failed.
   */
  readonly onToolError?: (error: unknown) => string;
  /**
   * What to do if the process ended before the answer came: `retry` (the default) asks the model once more, `fail` leaves the
   * decision to the layers. In a living process `retry.unknownOutcome` decides instead.
   */
  readonly onLostResponse?: "retry" | "fail";
  /**
   * What to do with a part of a message or of a tool result that the provider's wire has no form for, such as audio on most: `omit`
   * (the default) sends the rest and records the omission; `throw` ends the run with `part-unsendable` before the request is sent.
   */
  readonly onUnsendablePart?: "omit" | "throw";
  /**
   * When to report a request that pays for much of an earlier prompt again, although a prompt cache may hold it: a `cache-lost` part
   * before it is sent, and a process warning once for each layer and run. From 10,000 tokens on by default; null for never.
   */
  readonly cacheLost?: CacheLostPolicy | null;
  /** How often the engine retries a request that the server rejected without acting on it, and the longest wait before a retry. */
  readonly retry?: Partial<RetryPolicy>;
  /** For tests: a repeatable clock, repeatable ids, and a sleep that takes no time. */
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
  // The functions that read these options check their values.
  ...allOf(anything, "reasoning", "budget", "compact", "cacheLost"),
  interruptionNote: (what, given) =>
    typeof given === "boolean" ? given : checkText(what, given, "true, false, or the text for the model"),
  maxSteps: checkWhole,
  ...allOf(anything, "layerTimeoutMs", "takeoverAfterMs", "stuckAfterMs"),
  observers: checkedList(checkObserver, "write observers: [{ next }]"),
  tracing: anything,
  ...{ onInDoubt: checkFunction, approvals: anything, onApproval: checkFunction },
  ...{ onLostResponse: choiceOf("retry", "fail"), onUnsendablePart: choiceOf("omit", "throw"), retry: anything },
  ...{ onToolError: checkFunction, sleep: checkFunction, clock: checkFunction, newId: checkFunction },
});

const layerTimeoutMsDefault = 10 * 60_000;
const stuckAfterMsDefault = 30_000;
export const takeoverAfterMsDefault = 15 * 60_000;

/** A monotonic clock, in milliseconds. */
export const stopwatch = (): number => performance.now();

/**
 * Combines a provider, tools and middleware into an engine. The tool loop is outside the layers, so that every layer sees every
 * step, tool results included. To place it elsewhere, list `toolLoop(…)` in `middleware`.
 *
 * @throws {TypeError} if an option is unknown or invalid, a provider, tool or layer is not one or cannot be named or recorded, or
 *   two layers or two tools have the same name.
 * @throws {RangeError} if a time limit is zero, or longer than other processes wait before they take over a run.
 * @throws {TurnlogError} `settings-too-large` if the provider's settings and the tools are too large to store; `mode-unsupported`
 *   if the endpoint does not support the mode.
 */
export function createEngine<Context = unknown, Output = undefined>(
  config: EngineConfig<Context, Output>,
): Engine<Context, Output> {
  refuseProvider(config);
  engineOptions.check("createEngine", config);
  checkRouting(config.provider, config.otherProviders, config.route);
  // The engine's type already asks its runs for the context that these need.
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
    cacheLost: cacheLostPolicy(config.cacheLost),
    budget: recordedBudget("createEngine", config.budget),
    compact: recordedCompactPolicy(config.compact),
    interruptionNote: config.interruptionNote === false ? null : (config.interruptionNote ?? null),
    layerTimeoutMs: config.layerTimeoutMs ?? Math.min(layerTimeoutMsDefault, takeoverAfterMs),
    onLayerAtWork: null,
    takeoverAfterMs,
    stuckAfterMs: config.stuckAfterMs ?? Math.min(stuckAfterMsDefault, takeoverAfterMs),
    onInDoubt: config.onInDoubt ?? null,
    // The engine's type already asks its runs for the context that the rule needs.
    approvals: (config as EngineConfig).approvals ?? null,
    onApproval: config.onApproval ?? null,
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
    tracing: tracingOf(config.tracing),
  };
  checkMode("createEngine", mode, options);
  checkUnknownOutcome("createEngine", options);
  checkNames(options.layers, options.tools);
  checkApprovals("createEngine: approvals", config.approvals, options.tools);
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
  check("an idle re-execution", stuckAfterMs);
}
