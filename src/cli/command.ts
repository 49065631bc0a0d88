import type { Option } from "commander";
import type * as z from "zod";
import type { CliContext, Screen } from "./context.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";

/**
 * How a command is added: declare it in `definitions`, describe the document that its `--json` prints in `documents`, and
 * export its `commandCode` from `commands/<name>.ts`. Help, options and refusals of what was typed wrong are commander's.
 */
export type CommandDefinition = {
  readonly name: string;
  readonly summary: string;
  /** Arguments as commander reads them: `<needed>`, `[optional]`, `[several...]`. */
  readonly arguments?: string;
  /** What to type after `turnlog`. */
  readonly example: string;
  readonly options?: readonly Option[];
  /** Whether it is the one of its family that is meant where none is named. */
  readonly isDefault?: true;
  /** Called when the command is, so that help loads nothing heavy. */
  readonly load: () => Promise<CommandCode>;
};

/** Commands under one name: `projections rebuild`. */
export type CommandFamily = {
  readonly name: string;
  readonly summary: string;
  readonly subcommands: readonly CommandDefinition[];
};

/** A heading of the help, and what stands under it. */
export type CommandGroup = {
  readonly heading: string;
  readonly commands: readonly (CommandDefinition | CommandFamily)[];
};

/**
 * What a command does. It builds documents: `--json` prints each as it is, and otherwise `render` makes the text from it, so
 * that both tell the same.
 *
 * `run` and `render` throw for everything that goes wrong, our errors and Node's alike: `exit-codes.ts` makes one line and an
 * exit code of them. `run` returns a code where the answer itself is one (a difference, an incoherent request).
 */
export type CommandCode<Document = unknown, Options = unknown> = {
  /** What every document of it holds. */
  readonly document: z.ZodType<Document>;
  // Methods, because commander is trusted to give the options as they are declared.
  run(context: CliContext, input: CommandInput<Options>): Documents<NoInfer<Document>>;
  render(document: NoInfer<Document>, screen: Screen, input: CommandInput<Options>): void;
};

/** The code of a command: what it builds and what it renders are checked against its document's schema. */
export const commandCode = <Document, Options>(code: CommandCode<Document, Options>): CommandCode => code;

/** Mostly one; one for each event where a command follows what happens. */
// biome-ignore lint/suspicious/noConfusingVoidType: a command whose answer is no code returns nothing.
export type Documents<Document> = AsyncGenerator<Document, ExitCode | void, undefined>; // eslint-disable-line @typescript-eslint/no-invalid-void-type -- The same.

/** What was typed after the command's name. */
export type CommandInput<Options = unknown> = {
  /** In order, those of a list one by one. */
  readonly arguments: readonly string[];
  /** By the option's long name in camel case, read by its parser; absent when it was not given and has no default. */
  readonly options: Options;
};

/** Runs a command to its end: every document is shown as it comes. */
export async function perform(code: CommandCode, context: CliContext, input: CommandInput): Promise<ExitCode> {
  const documents = code.run(context, input);
  try {
    for (;;) {
      const { done, value } = await documents.next();
      if (done === true) return value ?? exitCodes.ok;
      if (context.isJson) context.printJson(value);
      else code.render(value, context, input);
    }
  } finally {
    await documents.return(undefined);
  }
}
