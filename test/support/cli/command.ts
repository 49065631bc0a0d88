import { join } from "node:path";
import { execute } from "../../../src/cli/program.ts";
import { type Outcome, type Started, start } from "../process.ts";

export type CommandOptions = {
  readonly cwd: string;
  /** Beside PATH, all that its environment has. */
  readonly env?: Readonly<Record<string, string>>;
  /** For Node itself, before the file. */
  readonly nodeArguments?: readonly string[];
  /** An open file that stdout goes to, in place of the outcome. */
  readonly output?: number;
};

/** The file that is the command. */
export const main = join(import.meta.dirname, "../../../src/cli/main.ts");

/** Runs `turnlog` as a process, to its end. */
export const turnlog = (args: readonly string[], options: CommandOptions): Promise<Outcome> =>
  startTurnlog(args, options).ended;

/** The same, while it runs. */
export function startTurnlog(args: readonly string[], options: CommandOptions): Started {
  const { env, nodeArguments = [], ...where } = options;
  return start(process.execPath, [...nodeArguments, main, ...args], { ...where, env: { ...clean, ...env } });
}

/** What every process needs of this one's environment; the rest would change what a command does. */
const clean = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] };

/**
 * Runs the same in this process, which is faster: all but `main.ts`, process and pipes. Paths that are typed have to be
 * absolute; the store is `turnlog.db` of the folder.
 */
export async function turnlogHere(
  args: readonly string[],
  { cwd, terminal }: { readonly cwd: string; readonly terminal?: { readonly columns: number } },
): Promise<Outcome> {
  const [out, err]: [string[], string[]] = [[], []];
  const screen = terminal === undefined ? {} : { ...terminal, isTTY: true };
  const code = await execute(["node", "turnlog", ...args], {
    stdout: { write: (text) => out.push(text), ...screen },
    stderr: { write: (text) => err.push(text) },
    env: { TURNLOG_STORE: `sqlite:${join(cwd, "turnlog.db")}` },
  });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

/** The one document of a call with `--json`. */
export function documentOf({ stdout }: Outcome): unknown {
  const document: unknown = JSON.parse(stdout);
  return document;
}
