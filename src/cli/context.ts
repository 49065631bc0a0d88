import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { type EventStore, StoreNotFoundError } from "../log/ports/event-store.ts";
import { exitCodes } from "./exit-codes.ts";
import { createProgress, noProgress, type Progress } from "./progress.ts";
import { type Cell, createStyle, type Style, shown, tableLines } from "./screen.ts";

/** Where text for people goes. */
export type Screen = {
  /** `--store`, else TURNLOG_STORE, else `sqlite:./turnlog.db`. */
  readonly storeUrl: string;
  /** Whether data goes to a terminal, and not into a file or a pipe. */
  readonly isTerminal: boolean;
  /** Width of the terminal in characters; infinite where there is none, so that no line is cut in a file or a pipe. */
  readonly columns: number;
  readonly style: Style;
  /** How the command is called here: `turnlog`, `npx turnlog` or `npm run turnlog --`. */
  readonly commandName: string;
  /** Writes lines to stdout, without what a terminal obeys. */
  readonly print: (...lines: readonly string[]) => void;
  /** The same for rows, with aligned columns. */
  readonly table: (rows: readonly (readonly Cell[])[]) => void;
  /** Writes to stdout as it is. */
  readonly write: (text: string) => void;
  /** Tells a person something on stderr; silent with `-q`. */
  readonly note: (text: string) => void;
};

/**
 * What a command does with the store. One that is not there is made only to `create`, which is told: its address may have been
 * typed wrong. To `create-told` is for a command whose help or answer says so. To `read`, one is opened by who may only read it, too.
 */
type StoreUse = "read" | "write" | "create" | "create-told";

/** What every command works with. */
export type CliContext = Screen & {
  /** Whether `--store` named it: a command that can do without a store of its own asks. */
  readonly isStoreNamed: boolean;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** Opens the store, or the one at another address, as the command needs it. */
  readonly openStore: (use: StoreUse, url?: string) => Promise<TurnlogStore>;
  /** Opens the events of the store to read them, for a command that looks at no single conversation: much less is loaded. */
  readonly openEvents: () => Promise<EventStore>;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Resolves when the reader of stdout has taken what was written, so that much data waits for a slow reader. */
  readonly drained: () => Promise<void>;
  /** The one document of `--json`: `{"version": 1, "data": …}`. */
  readonly printJson: (data: unknown) => void;
  /** Shows how far some work has come: a bar on stderr, once half a second has passed, on a terminal only. */
  readonly progress: <T>(label: string, work: (update: Progress["update"]) => Promise<T>) => Promise<T>;
  /** Aborts at the first SIGINT or SIGTERM: a command that asks for it ends by itself. The second one kills. */
  readonly signal: AbortSignal;
};

/** The options that every command takes, as commander gives them. */
export type GlobalOptions = {
  readonly store?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly color?: ColorChoice;
  readonly debug?: boolean;
};

/** When text is coloured; `auto` is on a terminal, unless NO_COLOR or FORCE_COLOR says otherwise. */
export const colorChoices = ["auto", "always", "never"] as const;
type ColorChoice = (typeof colorChoices)[number];

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
  /** Empty where it is left out. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Where conversations are kept unless the user says otherwise. */
export const defaultStoreUrl = "sqlite:./turnlog.db";

/** The context of one call of the command. */
export function createContext(
  { store, json = false, quiet = false, color = "auto" }: GlobalOptions,
  environment: CliEnvironment,
): CliContext {
  const { stdout, stderr, env } = environment;
  const isTerminal = stdout.isTTY === true;
  const columns = isTerminal ? (stdout.columns ?? 100) : Number.POSITIVE_INFINITY;
  const storeUrl = store ?? (env["TURNLOG_STORE"] || defaultStoreUrl);
  const write = (text: string): void => void stdout.write(text);
  const hasColour = !json && isColoured(color, { isTerminal, env });
  const print = (...lines: readonly string[]): void => {
    for (const line of lines) write(`${shown(line, hasColour)}\n`);
  };
  const note = (text: string): void => {
    if (!quiet) stderr.write(`${shown(text, hasColour)}\n`);
  };
  return {
    storeUrl,
    isStoreNamed: store !== undefined,
    isJson: json,
    isQuiet: quiet,
    isTerminal,
    columns,
    style: createStyle(hasColour),
    commandName: commandName(env),
    async openStore(use, url = storeUrl) {
      const { openStore } = await import("../open-store.ts");
      if (use === "create-told") return openStore(url);
      try {
        return await openStore(url, { mustExist: true, mayBeReadOnly: use === "read" });
      } catch (error) {
        if (use !== "create" || !(error instanceof StoreNotFoundError)) throw error;
      }
      const made = await openStore(url);
      note(`a new store was made: ${shownUrl(url)}`);
      return made;
    },
    async openEvents() {
      const { openEvents } = await import("../open-events.ts");
      return openEvents(storeUrl, { mustExist: true, mayBeReadOnly: true });
    },
    write,
    // Not before it is asked for: a process opens it then.
    get stdin() {
      return environment.stdin ?? nothing();
    },
    drained: () =>
      new Promise((resolve) => {
        if (stdout.writableNeedDrain === true && stdout.once !== undefined) stdout.once("drain", resolve);
        else resolve();
      }),
    print,
    table: (rows) => {
      print(...tableLines(rows, { columns }));
    },
    printJson: (data) => {
      write(`${JSON.stringify({ version: 1, data }, null, isTerminal ? 2 : undefined)}\n`);
    },
    note,
    async progress(label, work) {
      const write = (text: string): void => void stderr.write(text);
      const bar =
        stderr.isTTY === true && !quiet ? createProgress({ label, write, now: () => performance.now() }) : noProgress;
      try {
        return await work(bar.update);
      } finally {
        bar.end();
      }
    },
    get signal() {
      interruption ??= listenForSignals();
      return interruption;
    },
  };
}

/** What was typed outweighs the environment; in it NO_COLOR outweighs FORCE_COLOR, and both the kind of terminal. */
function isColoured(
  color: ColorChoice,
  { isTerminal, env }: { readonly isTerminal: boolean; readonly env: CliEnvironment["env"] },
): boolean {
  if (color !== "auto") return color === "always";
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0" && forced !== "false";
  return isTerminal && env["TERM"] !== "dumb";
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // A stream that ends at once.
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

/** The address of a store as people may see it: without credentials, which would stay in terminals and logs. */
export const shownUrl = (url: string): string => url.replace(/\/\/.*@/, "//");

/** As the user would type the next command. */
function commandName(env: CliEnvironment["env"]): string {
  if (env["npm_lifecycle_event"] === "start" || env["npm_lifecycle_event"] === "turnlog") return "npm run turnlog --";
  return env["npm_command"] === "exec" ? "npx turnlog" : "turnlog";
}
