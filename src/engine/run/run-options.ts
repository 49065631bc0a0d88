import {
  anything,
  checkFlag,
  checkSignal,
  choiceOf,
  type OptionSchema,
  optionsOf,
  textOf,
} from "../../base/options.ts";
import type { Adjustments, RecordedRunOptions } from "../../domain/events/run-events.ts";
import { engineWith } from "../options/adjusted-engine.ts";
import { type Budget, recordedBudget } from "../options/budget.ts";
import { type Mode, modes } from "../options/chain-policy.ts";
import type { SummaryOptions } from "../options/compact-policy.ts";
import { type AnyEngine, checkedEngine, type EngineOptions, type Observer } from "../options/engine.ts";
import { checkedList, checkMode, checkObserver } from "../options/engine-checks.ts";
import { checkUnknownOutcome } from "../options/own-effects.ts";
import type { RunPart } from "../options/run-part.ts";
import { checkToolChoice, type RunSettings, runSettings } from "../ports/run-settings.ts";
import { outputSchemaOf, type StandardSchema } from "../ports/schema.ts";
import type { Interceptor } from "../session/breakpoint.ts";
import type { SingleStep } from "./run.ts";

/** How to treat earlier runs, and how to watch this one. */
export type RunOptions = {
  /** Aborting it ends the run as cancelled. */
  readonly signal?: AbortSignal;
  /** Asks the model even if no message is unanswered; by default, the recorded result is returned. */
  readonly again?: boolean;
  /**
   * Whether to wait (the default) for a run of the conversation in this process, and until it is known whether the owner of one in another
   * process is alive; or to throw.
   */
  readonly whileRunning?: "wait" | "throw";
  /** How to treat a run that was cut off: finish it first (the default), give it up, or throw. */
  readonly unfinished?: "resume" | "abandon" | "throw";
  /** How to react if the stack is not the one of the run that was cut off: by default, `run` gives that run up and `resume` throws. */
  readonly onStackChanged?: "abandon" | "throw";
  /** How to react if the layers do not repeat what a run that was cut off did; throws by default. */
  readonly onDiverged?: "abandon" | "throw";
  /** Get the parts of the run, besides those of the engine. */
  readonly observers?: readonly Observer[];
  /** Takes a run from an owner that may still be alive: what that owner does from then on is lost. */
  readonly takeover?: boolean;
};

/** A run as requested from the engine: the caller's options, and the hooks that the ways to see a run are built on. */
export type RunRequest = RunOptions & {
  /** Called with every part as it comes: `stream` is built on it. */
  readonly onPart?: (part: RunPart) => unknown;
  /** Holds the run before and after each of its effects: `step` is built on it. */
  readonly interceptor?: Interceptor | undefined;
  /** Sees every step before it is made. */
  readonly onStep?: ((step: SingleStep) => void) | undefined;
  /** The recorded form of the caller's options that differ from the engine's. */
  readonly recorded?: RecordedRunOptions;
} & Pick<AnswerOptions, "onMessageWhileWaiting">;

const holder = Symbol("holds a run");

type Hooks = Pick<RunRequest, "interceptor" | "onStep">;

type Held = { readonly [holder]?: Hooks };

/**
 * The options of a run that is held before and after each of its effects. It is not an option of the package, where callers have `step`:
 * counterfactuals answer their runs this way, and tests kill runs there.
 */
export const interceptedBy = <Options extends object>(
  interceptor: Interceptor,
  options: Options,
  onStep?: Hooks["onStep"],
): Options => ({ ...options, [holder]: { interceptor, onStep } });

/** How to ask for an answer. */
export type AnswerOptions<Context = unknown, Output = unknown> = RunOptions &
  RunSettings &
  UnrecordedOptions<Context, Output> & {
    /** Who holds the conversation between two requests of this run, if it differs from the engine's mode. */
    readonly mode?: Mode;
    /** How many tokens may be used, instead of the engine's budget; null for no limit. */
    readonly budget?: Budget | null;
    /** The key of the message to answer, as given when it was appended. */
    readonly key?: string;
    /**
     * What happens if a message was appended while calls wait for approval: `wait` (the default) leaves the run to those who decide; `deny`
     * denies the calls, so that the run ends, and then answers the message.
     */
    readonly onMessageWhileWaiting?: "wait" | "deny";
  };

/** How to finish a run that was cut off. Its settings come from its log. */
export type ResumeOptions<Context = unknown, Output = unknown> = Omit<RunOptions, "unfinished" | "again"> &
  UnrecordedOptions<Context, Output>;

/** Options that no log has, so a resumed run needs them again. */
export type UnrecordedOptions<Context, Output> = {
  /** The value of `ctx.context` for layers and tools: connections, the current user. Not recorded. */
  readonly context?: Context;
  /**
   * The shape of the answer: the model gets the JSON Schema, if its provider supports that, and `result.output` is the answer as the schema
   * parses it. Only the JSON Schema is recorded.
   */
  readonly output?: StandardSchema<unknown, Output>;
};

/** The options of a run; required if layers or tools of the engine need a context. */
export type WithContext<Context, Options> = unknown extends Context
  ? readonly [options?: Options]
  : readonly [options: Options & { readonly context: Context }];

/** How the oldest exchanges are summarised between two runs. */
export type SummariseOptions<Context = unknown> = SummaryOptions &
  Pick<AnswerOptions<Context>, "signal" | "whileRunning" | "takeover" | "budget" | "context" | "observers">;

const observers = checkedList(checkObserver, "write observers: [{ next }]");

const summariseOptions = optionsOf<SummariseOptions>({
  ...{ keep: anything, summary: anything, signal: checkSignal, whileRunning: choiceOf("wait", "throw") },
  ...{ takeover: checkFlag, budget: anything, context: anything, observers },
});

const resumeOptions = optionsOf<ResumeOptions>({
  ...{ signal: checkSignal, whileRunning: choiceOf("wait", "throw") },
  ...{ onStackChanged: choiceOf("abandon", "throw"), onDiverged: choiceOf("abandon", "throw") },
  ...{ takeover: checkFlag, context: anything, output: anything, observers },
});

const answerOptions = optionsOf<AnswerOptions>({
  ...resumeOptions.table,
  ...runSettings.table,
  ...{ again: checkFlag, key: textOf("the key that the message was appended with"), mode: choiceOf(...modes) },
  ...{ budget: anything, unfinished: choiceOf("resume", "abandon", "throw") },
  onMessageWhileWaiting: choiceOf("wait", "deny"),
});

type Checked = Pick<OptionSchema<unknown>, "check">;

const optionsByMethod: ReadonlyMap<string, Checked> = new Map<string, Checked>([
  ["resume", resumeOptions],
  ["compact", summariseOptions],
]);

/** The engine of a run, with the caller's options and what is recorded of them. */
type CheckedRun<Options> = readonly [EngineOptions, Options & Pick<RunRequest, "recorded"> & Hooks];

/**
 * Checks the engine and the options of a run.
 *
 * @throws {TypeError} if `engine` is not an engine, or an option is unknown or invalid.
 */
export function checkedRun<Options extends Partial<AnswerOptions>>(
  where: string,
  made: AnyEngine,
  options: Options & Held,
): CheckedRun<Options> {
  (optionsByMethod.get(where) ?? answerOptions).check(where, options);
  const { mode } = options;
  const { context, output, ...engine } = checkedEngine(where, made);
  const chain = mode === undefined ? engine.chain : { ...engine.chain, mode };
  if (mode !== undefined) {
    checkMode(where, mode, { provider: engine.provider, chain });
    checkUnknownOutcome(where, { ...engine, chain });
  }
  const budget = options.budget === undefined ? engine.budget : recordedBudget(where, options.budget);
  const asked = { context: options.context ?? context, output: options.output ?? output };
  const watching = [...engine.observers, ...(options.observers ?? [])];
  const given = { ...engine, chain, budget, ...asked, observers: watching };
  const recorded = recordedOptions(where, options, given);
  // Throws before anything begins if the provider does not support an option.
  engineWith(given, recorded);
  return [given, { ...options, recorded, ...options[holder] }];
}

/** The part of a run's options that its log records. */
function recordedOptions(where: string, options: Partial<AnswerOptions>, engine: EngineOptions): RecordedRunOptions {
  const { provider, tools, context } = engine;
  const offered = [...provider.codec.offeredTools(provider.settings), ...tools.map(({ name }) => name)];
  const { maxSteps, output, toolChoice } = options;
  checkToolChoice(where, toolChoice, offered);
  const names = Object.keys(runSettings.table).filter((name) => name !== "maxSteps");
  const said = names.flatMap((name) => {
    const value: unknown = Reflect.get(options, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const settings: Adjustments = {
    ...Object.fromEntries(said),
    ...(output === undefined ? {} : { output: outputSchemaOf(where, output) }),
  };
  return {
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(context === undefined ? {} : { hasContext: true }),
  };
}
