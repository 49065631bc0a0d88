import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Progress } from "./progress.ts";
import type { Style } from "./style.ts";

/**
 * How a command is added: declare its arguments and options in `command-list.ts`, and export `run`, a `CommandHandler`,
 * from `commands/<name>.ts`. That module is loaded when the command is called and not before, so it may import whatever
 * it needs. Its options arrive as texts; `options.ts` reads them and refuses what cannot be meant.
 *
 * A handler throws for everything that goes wrong, ours or Node's errors alike: `exit-codes.ts` makes one line and an
 * exit code of them. It returns a code where the answer itself is one (a difference, an incoherent request).
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that has nothing to say returns nothing.
export type CommandHandler = (context: CliContext, input: CommandInput) => Promise<ExitCode | void>; // eslint-disable-line @typescript-eslint/no-invalid-void-type -- The same.

/** What was typed after the command's name. */
export type CommandInput = {
  /** In order, those of a list one by one. */
  readonly arguments: readonly string[];
  /** By the option's long name in camel case; `true` for a flag, absent when it was not given and has no default. */
  readonly options: CommandOptions;
};
export type CommandOptions = Readonly<Record<string, unknown>>;

/** What a command does with the store: one that is not there is created only where it need not exist. */
type StoreUse =
  | { readonly mustExist: false }
  /** Without `isWritten` a store is opened also by who may only read it. */
  | { readonly mustExist: true; readonly isWritten?: boolean };

/** What every command works with. */
export type CliContext = {
  /** `--store`, else TURNLOG_STORE, else `sqlite:./turnlog.db`. */
  readonly storeUrl: string;
  /** Whether `--store` named it: what can do without a store of its own asks. */
  readonly isStoreNamed: boolean;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** Whether data goes to a terminal, and not into a file or a pipe. */
  readonly isTerminal: boolean;
  /** Width of the terminal in characters; 100 where there is none. */
  readonly columns: number;
  readonly style: Style;
  /** How the command is called here: `turnlog`, `npx turnlog` or `npm run turnlog --`. */
  readonly commandName: string;

  /** Opens the store, or the one at another address, as the command needs it. */
  openStore(options: StoreUse & { readonly url?: string }): Promise<TurnlogStore>;
  /** Writes data to stdout, with a line feed. */
  readonly print: (text?: string) => void;
  /** Writes data to stdout as it is. */
  write(text: string): void;
  /** Resolves when whoever reads stdout has taken what was written, so that much data waits for a slow reader. */
  drained(): Promise<void>;
  /** The one document of `--json`: `{"version": 1, "data": …}`. */
  printJson(data: unknown): void;
  /** Tells a person something on stderr; silent with `-q`. */
  note(text: string): void;
  /** A bar on stderr, once half a second has passed, on a terminal only. */
  progress(label: string): Progress;
  /** Aborts at the first SIGINT or SIGTERM; who asks for it ends by himself. The second one kills. */
  readonly signal: AbortSignal;
};
