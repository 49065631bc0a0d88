import { shownAddress } from "../../base/shown-address.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { StoreNotFoundError } from "../../log/ports/store-errors.ts";
import { isPostgresAddress } from "../../stores/postgres/address.ts";
import type { TerminalStreams } from "./asking/terminal.ts";
import { exitCodes } from "./exit-codes.ts";
import { createProgress, noProgress, type Progress, progressAfterMs } from "./progress.ts";
import { type Cell, createStyle, type Style, shown, tableLines } from "./screen.ts";
import { createSettings, type Settings } from "./settings.ts";

/** Where text for people goes, and how it looks there. */
export type Screen = {
  /** `--store`, else TURNLOG_STORE, else that of the configuration, else `sqlite:./turnlog.db`. */
  readonly storeUrl: string;
  /** Whether stdout is a terminal, and not a file or a pipe. */
  readonly isTerminal: boolean;
  /** The width of the terminal in characters; infinite without a terminal, so that no line is cut in a file or a pipe. */
  readonly columns: number;
  readonly style: Style;
  /** How the user calls the command here: `turnlog`, `npx turnlog` or `npm run turnlog --`. */
  readonly commandName: string;
  /** Writes lines to stdout, without control characters for terminals. */
  readonly print: (...lines: readonly string[]) => void;
  /** Writes rows with aligned columns. */
  readonly table: (rows: readonly (readonly Cell[])[]) => void;
  /** Writes to stdout as it is. */
  readonly write: (text: string) => void;
  /** Writes a note for the user to stderr; silent with `-q`. */
  readonly note: (text: string) => void;
};

/**
 * How a command uses the store. Only `create` makes a missing store, and says so, because the address may be mistyped.
 * `create-told` is for a command whose help or output says so already. `read` also works for a user who may only read the store.
 */
type StoreUse = "read" | "write" | "create" | "create-told";

/** What every command works with. */
export type CliContext = Screen & {
  /** Whether `--store` named it, for commands that can work without a store of their own. */
  readonly isStoreNamed: boolean;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** The configuration that `--config` named, or null. */
  readonly config: string | null;
  /** The options, the environment and the configuration. */
  readonly settings: Settings;
  /** Opens the store, or the one at another address, for this use. `continuing` is the order of erasure that the command continues. */
  readonly openStore: (
    use: StoreUse,
    options?: { readonly url?: string | undefined; readonly continuing?: string | undefined },
  ) => Promise<TurnlogStore>;
  /** Opens the store's events for reading, for a command that needs no single conversation: this loads much less. */
  readonly openEvents: () => Promise<EventStore>;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** The terminal of a person who can be asked; null if stdin or stdout is a file or a pipe, or the output is JSON. */
  readonly terminal: TerminalStreams | null;
  /** Resolves when the reader of stdout has consumed the output, so that a lot of data does not overtake a slow reader. */
  readonly drained: () => Promise<void>;
  /** Prints the single document of `--json`: `{"version": 1, "data": …}`. */
  readonly printJson: (data: unknown) => void;
  /** Shows the progress of some work: a bar on stderr, after half a second or `afterMs`, on a terminal only. */
  readonly progress: <T>(
    label: string,
    work: (update: Progress["update"]) => Promise<T>,
    afterMs?: number,
  ) => Promise<T>;
  /** Aborts at the first SIGINT or SIGTERM: a command that uses it ends by itself. The second signal kills the process. */
  readonly signal: AbortSignal;
};

/** The options of every command, as commander parses them. */
export type GlobalOptions = {
  readonly store?: string;
  readonly config?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly color?: ColorChoice;
  readonly debug?: boolean;
};

/** When to colour text: `auto` does so on a terminal, unless NO_COLOR or FORCE_COLOR is set. */
export const colorChoices = ["auto", "always", "never"] as const;
type ColorChoice = (typeof colorChoices)[number];

type Output = {
  readonly write: (text: string) => unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether written output waits for its reader; `drain` is emitted when it no longer does. */
  readonly writableNeedDrain?: boolean;
  readonly once?: (event: "drain", listener: () => void) => unknown;
};

/** The surroundings of a command: a process, or a test's replacement. */
export type CliEnvironment = {
  /** Empty by default. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A monotonic clock in milliseconds; that of the process by default. */
  readonly now?: () => number;
  /** The current folder, from which the configuration is searched; that of the process by default. */
  readonly cwd?: () => string;
};

/** The settings of one command. */
export const settingsIn = (
  options: GlobalOptions,
  { env, cwd = () => process.cwd() }: CliEnvironment,
  readsOnly: boolean,
): Settings => createSettings(options, { env, cwd: cwd(), readsOnly });

/** The context of one command. */
export function createContext(
  options: GlobalOptions,
  environment: CliEnvironment,
  settings: Settings = settingsIn(options, environment, true),
): CliContext {
  const { store, json = false, quiet = false, color = "auto" } = options;
  const { stdout, stderr, env } = environment;
  const isTerminal = stdout.isTTY === true;
  const columns = isTerminal ? (stdout.columns ?? 100) : Number.POSITIVE_INFINITY;
  const write = (text: string): void => void stdout.write(text);
  const hasColour = !json && isColoured(color, { isTerminal, env });
  const print = (...lines: readonly string[]): void => {
    for (const line of lines) write(`${shown(line, hasColour)}\n`);
  };
  const note = (text: string): void => {
    if (!quiet) stderr.write(`${shown(text, hasColour)}\n`);
  };
  /** The store of a reading command may be another one than the code of the configuration names. */
  const sayUnread = (): void => {
    const file = settings.unreadCode();
    if (file !== null)
      note(
        `${file} is not executed by a command that only reads: name its store with --store or TURNLOG_STORE, or in a turnlog.config.json beside it`,
      );
  };
  return {
    get storeUrl() {
      return settings.store().url;
    },
    settings,
    config: options.config ?? null,
    isStoreNamed: store !== undefined,
    isJson: json,
    isQuiet: quiet,
    isTerminal,
    columns,
    style: createStyle(hasColour),
    commandName: commandName(env),
    async openStore(use, { url: named, continuing } = {}) {
      if (named === undefined) sayUnread();
      const url = named === undefined ? settings.store().url : await settings.addressOf(named);
      const { openStore } = await import("../../conversation/open-store.ts");
      if (use === "create-told") {
        if (isPostgresAddress(url)) {
          const { initPostgresStore } = await import("../../stores/postgres/setup.ts");
          await initPostgresStore(url);
        }
        return openStore(url);
      }
      try {
        return await openStore(url, {
          ...{ mustExist: true, mayBeReadOnly: use === "read" },
          ...(continuing === undefined ? {} : { continuing }),
        });
      } catch (error) {
        if (use !== "create" || !(error instanceof StoreNotFoundError)) throw error;
      }
      const made = await openStore(url);
      note(`a new store was made: ${shownUrl(url)}`);
      return made;
    },
    async openEvents() {
      sayUnread();
      const { openEvents, tellUnfinished } = await import("../../stores/open-events.ts");
      const events = await openEvents(settings.store().url, { mustExist: true, mayBeReadOnly: true });
      await tellUnfinished(events);
      return events;
    },
    write,
    // Opened lazily, because a process opens its stdin on first access.
    get stdin() {
      return environment.stdin ?? nothing();
    },
    get terminal() {
      return json ? null : terminalIn(environment);
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
    async progress(label, work, afterMs = progressAfterMs) {
      const { now = () => performance.now() } = environment;
      const write = (text: string): void => void stderr.write(text);
      const bar = stderr.isTTY === true && !quiet ? createProgress({ label, write, now, afterMs }) : noProgress;
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

function terminalIn({ stdin, stdout }: CliEnvironment): TerminalStreams | null {
  if (stdout.isTTY !== true || stdin === undefined || !("isTTY" in stdin) || stdin.isTTY !== true) return null;
  // Only streams of terminals have this mark.
  return { input: stdin, output: stdout } as unknown as TerminalStreams;
}

/** The option takes precedence over the environment; there NO_COLOR takes precedence over FORCE_COLOR, and both over the terminal. */
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
  // An empty stream.
}

let interruption: AbortSignal | undefined;

/** Whether a signal asked this process to end, and a command ends because of it. */
export const isInterrupted = (): boolean => interruption?.aborted === true;

/** Only a command that uses the signal ends by itself; others are killed at once, which is harmless. */
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

/** A store's address without credentials, which would otherwise stay in terminals and logs. */
export const shownUrl = shownAddress;

/** The command as the user would type it next. */
function commandName(env: CliEnvironment["env"]): string {
  if (env["npm_lifecycle_event"] === "start" || env["npm_lifecycle_event"] === "turnlog") return "npm run turnlog --";
  return env["npm_command"] === "exec" ? "npx turnlog" : "turnlog";
}
