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
import type { Interceptor } from "../session/breakpoint.ts";
import { engineWith } from "../stack/adjusted-engine.ts";
import { type Budget, recordedBudget } from "../stack/budget.ts";
import { type Mode, modes } from "../stack/chain-policy.ts";
import type { SummaryOptions } from "../stack/compact-policy.ts";
import { type AnyEngine, checkedEngine, type EngineOptions } from "../stack/engine.ts";
import { checkMode } from "../stack/engine-checks.ts";
import { checkUnknownOutcome } from "../stack/own-effects.ts";
import type { RunPart } from "../stack/run-part.ts";
import { checkToolChoice, type RunSettings, runSettings } from "../stack/run-settings.ts";
import { outputSchemaOf, type StandardSchema } from "../stack/schema.ts";

/** What becomes of runs before, and how this one is watched. */
export type RunOptions = {
  /** Ends the run as cancelled when it is aborted. */
  readonly signal?: AbortSignal;
  /** Asks the model although nothing waits for an answer; by default that gives the recorded result. */
  readonly again?: boolean;
  /**
   * Whether to wait (the default) for a run of the conversation that goes on in this process, and until it is known whether the owner of one
   * in another process lives; or to be told of it.
   */
  readonly whileRunning?: "wait" | "throw";
  /** What becomes of a run that was cut off: it is finished first (the default), given up, or told. */
  readonly unfinished?: "resume" | "abandon" | "throw";
  /** What a stack does that is not the one of the run that was cut off; `run` gives that up, `resume` refuses. */
  readonly onStackChanged?: "abandon" | "throw";
  /** What to do where the layers do not do again what a run that was cut off did; told by default. */
  readonly onDiverged?: "abandon" | "throw";
  /** Takes a run from an owner that may still live: what it does from then on is lost. */
  readonly takeover?: boolean;
};

/** A run as the engine is asked for it: what its caller says, with what the ways to see it are made of. */
export type RunRequest = RunOptions & {
  /** Told of every part as it comes: `stream` is made of it. */
  readonly onPart?: (part: RunPart) => void;
  /** Holds the run before and after each of its effects: `step` is made of it. */
  readonly interceptor?: Interceptor | undefined;
  /** What the log has of what the caller said otherwise than the engine does. */
  readonly recorded?: RecordedRunOptions;
};

const holder = Symbol("holds a run");

type Held = { readonly [holder]?: Interceptor };

/**
 * The options of a run that is held before and after each of its effects. It is no option of the package, where `step` is what callers
 * have: a counterfactual answers its run so, and tests kill runs there.
 */
export const interceptedBy = <Options extends object>(interceptor: Interceptor, options: Options): Options => ({
  ...options,
  [holder]: interceptor,
});

/** How an answer is asked for. */
export type AnswerOptions<Context = unknown, Output = unknown> = RunOptions &
  RunSettings &
  UnrecordedOptions<Context, Output> & {
    /** Who holds the conversation between two requests of this run, where that is not to be as the engine has it. */
    readonly mode?: Mode;
    /** How many tokens may be used, in the place of the engine's budget; null for as many as it takes. */
    readonly budget?: Budget | null;
    /** Of the message whose answer is wanted, as it was appended with. */
    readonly key?: string;
  };

/** How a run that was cut off is finished: with the settings that it began with, which its log has. */
export type ResumeOptions<Context = unknown, Output = unknown> = Omit<RunOptions, "unfinished" | "again"> &
  UnrecordedOptions<Context, Output>;

/** What no log has, so that a run which is taken up wants it again. */
export type UnrecordedOptions<Context, Output> = {
  /** What layers and tools get as `ctx.context`: connections, the user who asks. Not recorded. */
  readonly context?: Context;
  /**
   * What the answer is to be: the model is told the JSON Schema, where its provider can be, and `result.output` is the answer
   * as the schema gives it. Only the JSON Schema is recorded.
   */
  readonly output?: StandardSchema<unknown, Output>;
};

/** The options of a run: an engine whose layers or tools want a context cannot do without. */
export type WithContext<Context, Options> = unknown extends Context
  ? readonly [options?: Options]
  : readonly [options: Options & { readonly context: Context }];

/** How the oldest exchanges are summarised between two runs. */
export type SummariseOptions<Context = unknown> = SummaryOptions &
  Pick<AnswerOptions<Context>, "signal" | "whileRunning" | "takeover" | "budget" | "context">;

const summariseOptions = optionsOf<SummariseOptions>({
  ...{ keep: anything, summary: anything, signal: checkSignal, whileRunning: choiceOf("wait", "throw") },
  ...{ takeover: checkFlag, budget: anything, context: anything },
});

const resumeOptions = optionsOf<ResumeOptions>({
  ...{ signal: checkSignal, whileRunning: choiceOf("wait", "throw") },
  ...{ onStackChanged: choiceOf("abandon", "throw"), onDiverged: choiceOf("abandon", "throw") },
  ...{ takeover: checkFlag, context: anything, output: anything },
});

const answerOptions = optionsOf<AnswerOptions>({
  ...resumeOptions.table,
  ...runSettings.table,
  ...{ again: checkFlag, key: textOf("the key that the message was appended with"), mode: choiceOf(...modes) },
  ...{ budget: anything, unfinished: choiceOf("resume", "abandon", "throw") },
});

type Checked = Pick<OptionSchema<unknown>, "check">;

const optionsByMethod: ReadonlyMap<string, Checked> = new Map<string, Checked>([
  ["resume", resumeOptions],
  ["compact", summariseOptions],
]);

/** A run as it is begun: its engine, with what the caller gives this run, and what is recorded of that. */
type CheckedRun<Options> = readonly [EngineOptions, Options & Pick<RunRequest, "recorded" | "interceptor">];

/**
 * What a run is made with, as it was given.
 *
 * @throws {TypeError} for what is no engine, for an option that is none, and for a value that it cannot have.
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
  const given = { ...engine, chain, budget, ...asked };
  const recorded = recordedOptions(where, options, given);
  // What the provider cannot be asked is told before anything begins.
  engineWith(given, recorded);
  const { [holder]: interceptor } = options;
  return [given, { ...options, recorded, interceptor }];
}

/** What the log of a run has of the options that it was begun with. */
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
