import type { CommandDefinition, CommandGroup } from "./command.ts";
import { change, goOn, tryOut } from "./definitions/changing.ts";
import { check, move } from "./definitions/keeping.ts";
import { lookAtConversations, lookAtRequests } from "./definitions/looking.ts";

/** Every command, in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  tryOut,
  lookAtConversations,
  lookAtRequests,
  change,
  goOn,
  check,
  move,
];

/** Every command that can be run, by what is typed for it: `ls`, `projections rebuild`. */
export const commandsByName: ReadonlyMap<string, CommandDefinition> = new Map(
  commandGroups
    .flatMap(({ commands }) => commands)
    .flatMap((command): readonly (readonly [string, CommandDefinition])[] =>
      "subcommands" in command
        ? command.subcommands.map((each) => [`${command.name} ${each.name}`, each])
        : [[command.name, command]],
    ),
);
