import type { CliContext } from "./context.ts";
import { exitCodes } from "./exit-codes.ts";
import { createProgress, noProgress } from "./progress.ts";
import { createStyle } from "./style.ts";

/** The options that every command takes, as commander gives them. */
export type GlobalOptions = {
  readonly store?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly debug?: boolean;
};

const defaultStoreUrl = "sqlite:./turnlog.db";

/** The context of one call of the command, over this process's streams and environment. */
export function createContext({ store, json = false, quiet = false }: GlobalOptions): CliContext {
  const { stdout, stderr, env } = process;
  const storeUrl = store ?? (env["TURNLOG_STORE"] || defaultStoreUrl);
  const write = (text: string): void => void stdout.write(text);
  const hasColour = stdout.isTTY && !json && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return {
    storeUrl,
    isStoreNamed: store !== undefined,
    isJson: json,
    isQuiet: quiet,
    columns: stdout.isTTY ? stdout.columns : 100,
    style: createStyle(hasColour),
    commandName: commandName(env),
    async openStore(options) {
      const { openStore } = await import("../open-store.ts");
      return openStore(storeUrl, options);
    },
    write,
    print: (text = "") => {
      write(`${text}\n`);
    },
    printJson: (data) => {
      write(`${JSON.stringify({ version: 1, data }, null, stdout.isTTY ? 2 : undefined)}\n`);
    },
    note: (text) => void (quiet || stderr.write(`${text}\n`)),
    progress: (label) =>
      stderr.isTTY && !quiet
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
function commandName(env: NodeJS.ProcessEnv): string {
  if (env["npm_lifecycle_event"] === "start" || env["npm_lifecycle_event"] === "turnlog") return "npm run turnlog --";
  return env["npm_command"] === "exec" ? "npx turnlog" : "turnlog";
}
