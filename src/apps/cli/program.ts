import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Argument, Command, CommanderError } from "commander";
import { printable } from "../../base/printable.ts";
import { packageFolder } from "../studio/page-folder.ts";
import { type CommandDefinition, type CommandFamily, perform } from "./command.ts";
import { commandGroups } from "./command-list.ts";
import { type CliEnvironment, createContext, type GlobalOptions, isInterrupted, settingsIn } from "./context.ts";
import { type ExitCode, exitCodes, outputFailureOf, type ShellFailure, shellFailureOf } from "./exit-codes.ts";
import { globalOptions } from "./global-options.ts";

/** Runs the command of the command line and sets the exit code. Loads each command only when it is called. */
export async function run(argv: readonly string[]): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that closes early (`| head`) is not a failure.
    if (error.code === "EPIPE") process.exit();
    const { exitCode, message } = outputFailureOf(error);
    process.stderr.write(`turnlog: ${message}\n`);
    process.exit(exitCode);
  });
  process.exitCode = await execute(argv, process);
  // A module of --stack has this long to finish its work, such as sending traces. Its open handles do not keep the process alive.
  setTimeout(endProcess, lingerMs).unref();
}

/** How long a process may continue after its answer. */
export const lingerMs = 1_000;

/** Exits once all readers, even slow ones, have consumed the output. */
function endProcess(): void {
  process.stdout.write("", () => process.stderr.write("", () => process.exit()));
}

/** The same with any streams and environment; returns the exit code. */
export async function execute(argv: readonly string[], environment: CliEnvironment): Promise<ExitCode> {
  const code = await executeNow(argv, environment);
  // The command itself sees neither a misspelt option nor a configuration that cannot be read, and `git bisect` takes both for a bad commit.
  const isMistyped = code === exitCodes.usage || code === exitCodes.environment;
  return isMistyped && isBisection(argv) ? exitCodes.untestable : code;
}

const isBisection = (argv: readonly string[]): boolean => argv.includes("regress") && argv.includes("--bisect");

async function executeNow(argv: readonly string[], environment: CliEnvironment): Promise<ExitCode> {
  let answer: ExitCode = exitCodes.ok;
  const program = createProgram(environment, (code) => {
    answer = code;
  });
  try {
    await program.parseAsync(argv);
    return answer;
  } catch (error) {
    return error instanceof CommanderError ? codeOf(error) : report(error, program.opts(), environment);
  }
}

type OnCode = (code: ExitCode) => void;

function createProgram(environment: CliEnvironment, onCode: OnCode): Command {
  const { stdout, stderr } = environment;
  const program = new Command("turnlog")
    .description("An event-sourced conversation store for LLM agents.")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command")
    .configureHelp({
      showGlobalOptions: true,
      helpWidth: 100,
      subcommandTerm: (command) => `${command.name()} ${argumentsOf(command)}`,
    })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: (text, write) => {
        write(`turnlog: ${hintFor(text) ?? inOneLine(text)}\n`);
      },
    })
    .exitOverride()
    .addHelpText("after", revisionHelp);
  for (const option of globalOptions) program.addOption(option);
  for (const { heading, commands } of commandGroups) {
    program.commandsGroup(heading);
    for (const command of commands) declare(program, command, { program, environment, onCode });
  }
  return program;
}

type Running = { readonly program: Command; readonly environment: CliEnvironment; readonly onCode: OnCode };

function declare(parent: Command, definition: CommandDefinition | CommandFamily, running: Running): void {
  const { name, summary } = definition;
  const command = parent
    .command(name, { isDefault: "isDefault" in definition })
    .summary(summary)
    .description(`${capital(summary)}.`);
  if ("subcommands" in definition) {
    command.helpCommand(false);
    const examples = definition.subcommands.map(({ example }) => `  turnlog ${example}`);
    command.addHelpText("after", `\nExamples:\n${examples.join("\n")}`);
    for (const subcommand of definition.subcommands) declare(command, subcommand, running);
    return;
  }
  if (definition.arguments !== undefined) command.arguments(definition.arguments);
  for (const option of definition.options ?? []) command.addOption(option);
  command.addHelpText("after", `\nExample: turnlog ${definition.example}`);
  const { program, environment, onCode } = running;
  command.action(async () => {
    const options = program.opts<GlobalOptions>();
    const settings = settingsIn(options, environment, definition.readsOnly === true);
    await settings.ready();
    const context = createContext(options, environment, settings);
    onCode(await perform(await definition.load(), context, { arguments: command.args, options: command.opts() }));
  });
}

const argumentsOf = ({ registeredArguments, commands }: Command): string =>
  commands.length > 0
    ? commands.map((command) => command.name()).join("|")
    : registeredArguments.map(argumentTerm).join(" ");

function argumentTerm(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** Prints the error in one line; with `--debug` also its stack. */
function report(error: unknown, { debug = false }: GlobalOptions, { stderr }: CliEnvironment): ExitCode {
  const { exitCode, message } = isInterrupted() ? interrupted : shellFailureOf(error);
  stderr.write(`turnlog: ${message}\n`);
  if (debug && error instanceof Error) stderr.write(`${printable(stackOf(error))}\n`);
  return exitCode;
}

const interrupted: ShellFailure = { exitCode: exitCodes.interrupted, message: "interrupted" };

function stackOf(error: Error): string {
  const stack = error.stack ?? String(error);
  return error.cause instanceof Error ? `${stack}\ncaused by ${stackOf(error.cause)}` : stack;
}

/** Help and version are answers; commander's other exits are usage errors. */
const codeOf = ({ exitCode }: CommanderError): ExitCode => (exitCode === 0 ? exitCodes.ok : exitCodes.usage);

const inOneLine = (text: string): string =>
  printable(text)
    .trim()
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ");

/** Names that users may expect, with the command to type instead. */
const otherWords: ReadonlyMap<string, string> = new Map([
  ["settle", "resume CONVERSATION --settle CALL=HOW"],
  ["abandon", "resume CONVERSATION --abandon"],
  ["list", "ls"],
  ["usage", "show CONVERSATION"],
  ["cost", "show CONVERSATION"],
  ["costs", "show CONVERSATION"],
  ["tokens", "show CONVERSATION"],
  ["status", "show CONVERSATION"],
  ["stats", "show CONVERSATION"],
  ["explain", "why CONVERSATION"],
  ["audit", "verify"],
  ["new", "append @new TEXT"],
  ["tag", "label CONVERSATION NAME=VALUE"],
  ["events", "log CONVERSATION"],
  ["history", "log CONVERSATION"],
  ["tail", "log CONVERSATION --follow"],
  ["follow", "log CONVERSATION --follow"],
  ["transcript", "log CONVERSATION --transcript"],
  ["grep", "search TEXT"],
  ["redact", "export CONVERSATION --redact -o FILE"],
  ["backup", "store backup FILE"],
  ["restore", "store restore FILE"],
  ["rebuild", "projections rebuild"],
  ["heads", "verify --save-heads FILE"],
]);

/** Names that users may type to delete something: the hint must not suggest that another command deletes. */
const erasing: ReadonlySet<string> = new Set(["delete", "forget", "purge", "remove", "rm", "wipe"]);

function hintFor(refusal: string): string | null {
  const [, typed = ""] = /unknown command '([^']*)'/.exec(refusal) ?? [];
  const command = otherWords.get(typed);
  if (erasing.has(typed))
    return `unknown command '${typed}': \`turnlog erase CONVERSATION\` shows what erasing it would do, \`turnlog hide\` unlists it`;
  if (command !== undefined) return `unknown command '${typed}': type \`turnlog ${command}\``;
  return typed === "" || refusal.includes("Did you mean")
    ? null
    : `unknown command '${printable(typed)}': \`turnlog --help\` lists them`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(packageFolder(), "package.json"), "utf8"));
  const found = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : null;
  return typeof found === "string" ? found : "unknown";
}

const revisionHelp = `
Revisions: cnv_8f3k@120, @-1 (the last event), @<response id>, @100..120.
Name a conversation by the beginning of its id, or @last (the one written to last).

Exit codes: 0 ok, 1 failure or difference, 2 usage, 3 not found, 4 integrity, 5 replay or
coherence differs, 6 store, port or Node unavailable, 130 interrupted.`;
