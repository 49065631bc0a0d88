import { checkChoice, checkOptions, kindOf, type OptionNames } from "../../base/options.ts";
import { checkedEngine, type Engine, type EngineOptions } from "../create-engine.ts";
import type { RunOptions } from "./begin.ts";

const names: OptionNames<RunOptions> = {
  ...{ signal: true, onPart: true, gate: true, unfinished: true, onStackChanged: true, takeover: true },
};

/**
 * What a run is made with, as it was given.
 *
 * @throws {TypeError} for what is no engine, for an option that is none, and for a value that it cannot have.
 */
export function checkedRun<Options extends RunOptions>(
  where: string,
  engine: Engine,
  options: Options,
): readonly [EngineOptions, Options] {
  checkOptions(where, options, names);
  const { signal, unfinished, onStackChanged, takeover } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new TypeError(`${where}: signal is ${kindOf(signal)}: give the signal of an AbortController`);
  if (unfinished !== undefined) checkChoice(`${where}: unfinished`, unfinished, ["resume", "abandon", "throw"]);
  if (onStackChanged !== undefined) checkChoice(`${where}: onStackChanged`, onStackChanged, ["abandon", "throw"]);
  if (takeover !== undefined && typeof takeover !== "boolean")
    throw new TypeError(`${where}: takeover is ${kindOf(takeover)}: give true or false`);
  return [checkedEngine(where, engine), options];
}
