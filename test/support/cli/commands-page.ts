import { commandGroups, commandsByName } from "../../../src/apps/cli/command-list.ts";
import { turnlogHere } from "./command.ts";

/** What `--help` of some words says; nothing is read or written for it. */
export async function helpOf(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await turnlogHere([...words, "--help"], { cwd: "/nowhere" });
  if (code !== 0) throw new Error(`--help of ${words.join(" ")} failed: ${stderr}`);
  return stdout;
}

const globalOptions = /\nGlobal Options:\n(?: .*\n)+/;

/** `docs/COMMANDS.md`: the help of every command as it is printed, made of the definitions. */
export async function commandsPage(): Promise<string> {
  const whole = await helpOf();
  const groups = commandGroups.map(async ({ heading, commands }) => {
    const named = commands.flatMap(({ name }) => [
      name,
      ...[...commandsByName.keys()].filter((path) => path.startsWith(`${name} `)),
    ]);
    const helps = named.map(async (path) => {
      const help = (await helpOf(...path.split(" "))).replace(globalOptions, "");
      return `### turnlog ${path}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`;
    });
    return [`## ${heading.replace(/:$/, "")}\n`, ...(await Promise.all(helps))].join("\n");
  });
  return [
    "# The commands\n",
    "What `turnlog COMMAND --help` prints, for every command: a test compares this page with the commands' own definitions.",
    "The options that every command takes, and how revisions are named, stand once, in what `turnlog --help` prints.\n",
    `\`\`\`text\n${whole.trimEnd()}\n\`\`\`\n`,
    ...(await Promise.all(groups)),
  ].join("\n");
}
