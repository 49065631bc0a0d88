import { checkChoice, checkOptions, checkText, kindOf, type OptionNames } from "../../base/options.ts";
import { checkedEngine, type Engine, type EngineOptions } from "../stack/create-engine.ts";
import type { ExecuteOptions } from "./run.ts";

/** What becomes of runs before, and how this one is watched. */
export type RunOptions = Pick<ExecuteOptions, "signal" | "onPart" | "interceptor"> & {
  /** Asks the model although nothing waits for an answer; by default that gives the recorded result. */
  readonly again?: boolean;
  /** Whether to wait for a run of the conversation that goes on in this process (the default), or to be told of it. */
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

/** How an answer is asked for. */
export type AnswerOptions = Omit<RunOptions, "onPart"> & {
  /** Of the message whose answer is wanted, as it was appended with. */
  readonly key?: string;
};

/** How a run that was cut off is finished. */
export type ResumeOptions = Omit<RunOptions, "unfinished" | "again" | "onPart">;

const resumeNames: OptionNames<ResumeOptions> = {
  ...{ signal: true, interceptor: true, whileRunning: true, onStackChanged: true, onDiverged: true, takeover: true },
};
const answerNames: OptionNames<AnswerOptions> = { ...resumeNames, again: true, key: true, unfinished: true };

const choices = {
  whileRunning: ["wait", "throw"],
  unfinished: ["resume", "abandon", "throw"],
  onStackChanged: ["abandon", "throw"],
  onDiverged: ["abandon", "throw"],
} as const;

/**
 * What a run is made with, as it was given.
 *
 * @throws {TypeError} for what is no engine, for an option that is none, and for a value that it cannot have.
 */
export function checkedRun<Options extends RunOptions & AnswerOptions>(
  where: string,
  engine: Engine,
  options: Options,
): readonly [EngineOptions, Options] {
  checkOptions(where, options, where === "resume" ? resumeNames : answerNames);
  const { signal, key } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new TypeError(`${where}: signal is ${kindOf(signal)}: give the signal of an AbortController`);
  for (const [name, values] of Object.entries(choices)) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined) checkChoice(`${where}: ${name}`, value, values);
  }
  for (const name of ["again", "takeover"] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== "boolean")
      throw new TypeError(`${where}: ${name} is ${kindOf(value)}: give true or false`);
  }
  if (key !== undefined) checkText(`${where}: key`, key, "the key that the message was appended with");
  return [checkedEngine(where, engine), options];
}
