import { meant } from "../../../base/options.ts";
import { completionDocument, shells } from "../../documents/running.ts";
import { type CommandGroup, commandCode } from "../command.ts";
import { completionScript } from "../completion.ts";
import { UsageError } from "../exit-codes.ts";
import { globalOptions } from "../global-options.ts";

/** A script that completes the command line of `turnlog`. */
export const completionOf = (groups: readonly CommandGroup[]) =>
  commandCode({
    document: completionDocument,

    async *run(_, { arguments: [typed = ""] }) {
      const shell = shells.find((each) => each === typed);
      if (shell === undefined) throw new UsageError(`there is no completion for '${typed}': ${meant(typed, shells)}`);
      const commands = groups.flatMap((group) => group.commands);
      yield { shell, script: completionScript(shell, { commands, globalOptions }) };
    },

    render({ script }, { write }) {
      write(script);
    },
  });
