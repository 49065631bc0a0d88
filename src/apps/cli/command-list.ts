import type { CommandDefinition, CommandGroup } from "./command.ts";
import { askModels, change, goOn, tryOut } from "./definitions/changing.ts";
import { eraseWhatWasSaid } from "./definitions/erasing.ts";
import { check, move } from "./definitions/keeping.ts";
import { lookAtConversations, lookAtRequests } from "./definitions/looking.ts";

/** Declared here, because it depends on all other commands. */
const shell: CommandGroup = {
  heading: "Use it in a shell:",
  commands: [
    {
      name: "config",
      summary: "show the configuration, what decided each value, and what is wrong with it; keys are masked",
      example: "config",
      load: async () => (await import("./commands/config.ts")).config,
    },
    {
      name: "completion",
      arguments: "<bash|zsh|fish>",
      summary: "print a script that completes commands, options and conversations",
      example: "completion bash >> ~/.bashrc",
      readsOnly: true,
      load: async () => (await import("./commands/completion.ts")).completionOf(commandGroups),
    },
  ],
};

/** All commands, in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  tryOut,
  askModels,
  lookAtConversations,
  lookAtRequests,
  change,
  goOn,
  check,
  move,
  eraseWhatWasSaid,
  shell,
];

/** All runnable commands by the text to type: `ls`, `projections rebuild`. */
export const commandsByName: ReadonlyMap<string, CommandDefinition> = new Map(
  commandGroups
    .flatMap(({ commands }) => commands)
    .flatMap((command): readonly (readonly [string, CommandDefinition])[] =>
      "subcommands" in command
        ? command.subcommands.map((each) => [`${command.name} ${each.name}`, each])
        : [[command.name, command]],
    ),
);
