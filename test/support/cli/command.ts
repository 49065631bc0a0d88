import { join } from "node:path";
import * as z from "zod";
import { execute } from "../../../src/apps/cli/program.ts";
import type { Outcome } from "../outcome.ts";

/**
 * Runs `turnlog` in this process, which is faster than one of its own: all but `main.ts`, process and pipes. Paths that are typed have to be
 * absolute; the store is `turnlog.db` of the folder, unless the environment has another TURNLOG_STORE, or an empty one.
 */
export async function turnlogHere(
  args: readonly string[],
  {
    cwd,
    terminal,
    errors,
    env = {},
    stdin = "",
  }: {
    readonly cwd: string;
    readonly terminal?: { readonly columns: number };
    /** Makes stderr a terminal, and sets the clock of its progress bars. */
    readonly errors?: { readonly now: () => number };
    readonly env?: Readonly<Record<string, string>>;
    readonly stdin?: string | Uint8Array;
  },
): Promise<Outcome> {
  const [out, err]: [string[], string[]] = [[], []];
  const screen = terminal === undefined ? {} : { ...terminal, isTTY: true };
  const code = await execute(["node", "turnlog", ...args], {
    stdin: (async function* () {
      yield Buffer.from(stdin);
    })(),
    stdout: { write: (text) => out.push(text), ...screen },
    stderr: { write: (text) => err.push(text), ...(errors === undefined ? {} : { isTTY: true }) },
    ...errors,
    env: { TURNLOG_STORE: `sqlite:${join(cwd, "turnlog.db")}`, ...env },
    cwd: () => cwd,
  });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

/** What the document of a call with `--json` holds, read by the command's own schema. */
export const readDocument = <Data>(document: z.ZodType<Data>, outcome: Outcome): Data =>
  z.strictObject({ version: z.literal(1), data: document }).parse(documentOf(outcome)).data;

/** The one document of a call with `--json`. */
export function documentOf({ stdout }: Outcome): unknown {
  const document: unknown = JSON.parse(stdout);
  return document;
}
