import type { Option } from "commander";
import type * as z from "zod";
import type { CliContext, Screen } from "./context.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";

/**
 * A command. To add one, declare it in `definitions`, describe the document of its `--json` in `documents`, and export its
 * `commandCode` from `commands/<name>.ts`. Commander provides help, options and usage errors.
 */
export type CommandDefinition = {
  readonly name: string;
  readonly summary: string;
  /** Arguments as commander reads them: `<needed>`, `[optional]`, `[several...]`. */
  readonly arguments?: string;
  /** The text to type after `turnlog`. */
  readonly example: string;
  readonly options?: readonly Option[];
  /** Whether it executes no code of the configuration, unless an option names an engine: it only reads, or needs no store. */
  readonly readsOnly?: true;
  /** Whether this is the default command of its family. */
  readonly isDefault?: true;
  /** Called when the command runs, so that help loads no heavy modules. */
  readonly load: () => Promise<CommandCode>;
};

/** Commands under one name: `projections rebuild`. */
export type CommandFamily = {
  readonly name: string;
  readonly summary: string;
  readonly subcommands: readonly CommandDefinition[];
};

/** A heading of the help, and the commands under it. */
export type CommandGroup = {
  readonly heading: string;
  readonly commands: readonly (CommandDefinition | CommandFamily)[];
};

/**
 * What a command does. It builds documents: `--json` prints each as it is, and otherwise `render` makes the text from it, so that
 * both have the same content.
 *
 * `run` and `render` throw for every failure, with turnlog's errors or Node's: `exit-codes.ts` turns them into one line and an exit
 * code. `run` returns a code only if the code is the answer (a difference, an incoherent request).
 */
export type CommandCode<Document = unknown, Options = unknown> = {
  /** The schema of its documents. */
  readonly document: z.ZodType<Document>;
  // Methods, because commander is trusted to return the options as they are declared.
  run(context: CliContext, input: CommandInput<Options>): Documents<NoInfer<Document>>;
  render(document: NoInfer<Document>, screen: Screen, input: CommandInput<Options>): void;
};

/** The code of a command; the compiler checks what it builds and renders against its document's schema. */
export const commandCode = <Document, Options>(code: CommandCode<Document, Options>): CommandCode => code;

/** Usually one document; one for each event if a command follows a stream. */
// biome-ignore lint/suspicious/noConfusingVoidType: a command whose answer is no code returns nothing.
export type Documents<Document> = AsyncGenerator<Document, ExitCode | void, undefined>; // eslint-disable-line @typescript-eslint/no-invalid-void-type -- The same.

/** The user's input after the command's name. */
export type CommandInput<Options = unknown> = {
  /** In order, with the items of a list one by one. */
  readonly arguments: readonly string[];
  /** By the option's long name in camel case, as parsed; absent if not given and without a default. */
  readonly options: Options;
};

/** Runs a command to its end, and shows every document as it comes. */
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
