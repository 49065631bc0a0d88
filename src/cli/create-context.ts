import type { CliContext } from "./context.ts";
import { exitCodes } from "./exit-codes.ts";
import { createProgress, noProgress } from "./progress.ts";
import { createStyle, shown } from "./style.ts";

/** The options that every command takes, as commander gives them. */
export type GlobalOptions = {
  readonly store?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly debug?: boolean;
};

const defaultStoreUrl = "sqlite:./turnlog.db";

type Output = {
  readonly write: (text: string) => unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether more was written than has been taken; `drain` tells when all of it was. */
  readonly writableNeedDrain?: boolean;
  readonly once?: (event: "drain", listener: () => void) => unknown;
};

/** Where a call of the command happens: a process, or what a test puts in its place. */
export type CliEnvironment = {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** The context of one call of the command. */
export function createContext(
  { store, json = false, quiet = false }: GlobalOptions,
  { stdout, stderr, env }: CliEnvironment,
): CliContext {
  const isTerminal = stdout.isTTY === true;
  const storeUrl = store ?? (env["TURNLOG_STORE"] || defaultStoreUrl);
  const write = (text: string): void => void stdout.write(text);
  const hasColour = isTerminal && !json && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return {
    storeUrl,
    isStoreNamed: store !== undefined,
    isJson: json,
    isQuiet: quiet,
    isTerminal,
    columns: (isTerminal ? stdout.columns : undefined) ?? 100,
    style: createStyle(hasColour),
    commandName: commandName(env),
    async openStore({ url = storeUrl, ...use }) {
      const { openStore } = await import("../open-store.ts");
      const { mustExist } = use;
      return openStore(url, { mustExist, mayBeReadOnly: use.mustExist && use.isWritten !== true });
    },
    write,
    drained: () =>
      new Promise((resolve) => {
        if (stdout.writableNeedDrain === true && stdout.once !== undefined) stdout.once("drain", resolve);
        else resolve();
      }),
    print: (text = "") => {
      write(`${shown(text, hasColour)}\n`);
    },
    printJson: (data) => {
      write(`${JSON.stringify({ version: 1, data }, null, isTerminal ? 2 : undefined)}\n`);
    },
    note: (text) => {
      if (!quiet) stderr.write(`${shown(text, hasColour)}\n`);
    },
    progress: (label) =>
      stderr.isTTY === true && !quiet
        ? createProgress({ label, write: (text) => void stderr.write(text), now: () => performance.now() })
        : noProgress,
    get signal() {
      interruption ??= listenForSignals();
      return interruption;
    },
  };
}

let interruption: AbortSignal | undefined;

/** Whether this process was asked to end, and a command ends because of it. */
export const isInterrupted = (): boolean => interruption?.aborted === true;

/** Only a command that asks for the signal ends by itself; others are killed at once, which harms nothing. */
function listenForSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(exitCodes.interrupted);
      controller.abort(new Error(`interrupted by ${name}`));
    });
  }
  return controller.signal;
}

/** As the next command would be typed by who started this one. */
function commandName(env: CliEnvironment["env"]): string {
  if (env["npm_lifecycle_event"] === "start" || env["npm_lifecycle_event"] === "turnlog") return "npm run turnlog --";
  return env["npm_command"] === "exec" ? "npx turnlog" : "turnlog";
}
