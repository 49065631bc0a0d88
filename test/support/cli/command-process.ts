import type { Outcome } from "../outcome.ts";
import { commandFile, type Started, start } from "../process.ts";

export type CommandOptions = {
  readonly cwd: string;
  /** Beside PATH, all that its environment has. */
  readonly env?: Readonly<Record<string, string>>;
  /** For Node itself, before the file. */
  readonly nodeArguments?: readonly string[];
  /** An open file that stdout goes to, in place of the outcome. */
  readonly output?: number;
};

/** Runs `turnlog` as a process, to its end. */
export const turnlog = (args: readonly string[], options: CommandOptions): Promise<Outcome> =>
  startTurnlog(args, options).ended;

/** The same, while it runs. */
export function startTurnlog(args: readonly string[], options: CommandOptions): Started {
  const { env, nodeArguments = [], ...where } = options;
  return start(process.execPath, [...nodeArguments, commandFile, ...args], { ...where, env: { ...clean, ...env } });
}

/** What every process needs of this one's environment; the rest would change what a command does. */
const clean = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] };
