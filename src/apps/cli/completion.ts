import type { Option } from "commander";
import { printable } from "../../base/printable.ts";
import type { Shell } from "../documents/running.ts";
import type { CommandDefinition, CommandFamily } from "./command.ts";

/*
 * Completion scripts, made from the commands' own definitions: names, options, and the values of options and arguments. The script
 * lists the store's conversations while the user completes.
 */

/** What can be completed. */
export type Completed = {
  readonly commands: readonly (CommandDefinition | CommandFamily)[];
  readonly globalOptions: readonly Option[];
};

export function completionScript(shell: Shell, completed: Completed): string {
  if (shell === "fish") return fishScript(completed);
  const begin = shell === "bash" ? "" : "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n\n";
  return `# turnlog completion for ${shell}\n${begin}${bashFunction(completed)}\ncomplete -o default -F _turnlog turnlog\n`;
}

/** A command or family, by the text to type. */
type Node = {
  readonly path: string;
  readonly summary: string;
  /** Subcommands, or the choices of its argument. */
  readonly next: readonly string[];
  readonly options: readonly Option[];
  readonly takesConversation: boolean;
};

const nodesOf = ({ commands }: Completed): readonly Node[] =>
  commands.flatMap((command) =>
    "subcommands" in command
      ? [
          {
            path: command.name,
            summary: command.summary,
            next: command.subcommands.map(({ name }) => name),
            options: [],
            takesConversation: false,
          },
          ...command.subcommands.map((each) => nodeOf(each, `${command.name} ${each.name}`)),
        ]
      : [nodeOf(command, command.name)],
  );

const nodeOf = ({ summary, options = [], arguments: typed = "" }: CommandDefinition, path: string): Node => ({
  ...{ path, summary, options, next: /^<(\w+(?:\|\w+)+)>$/.exec(typed)?.[1]?.split("|") ?? [] },
  // The sides of a comparison are conversations too.
  takesConversation: /^.(?:conversation|from|left)/.test(typed),
});

const flagsOf = ({ short, long }: Option): readonly string[] => [short, long].flatMap((flag) => flag ?? []);
const takesValue = ({ required, optional }: Option): boolean => required || optional;
const isFile = ({ flags }: Option): boolean => /<file>/.test(flags);

function bashFunction(completed: Completed): string {
  const { globalOptions } = completed;
  const nodes = nodesOf(completed);
  const families = nodes.filter(({ next }) => next.length > 0).map(({ path }) => path);
  const valued = [...globalOptions, ...nodes.flatMap(({ options }) => options)].filter(takesValue).flatMap(flagsOf);
  const values = (options: readonly Option[], path: string): readonly string[] =>
    options.filter(takesValue).map((option) => {
      const reply =
        option.argChoices === undefined ? (isFile(option) ? "-f" : null) : `-W "${option.argChoices.join(" ")}"`;
      const answer = reply === null ? "" : `COMPREPLY=($(compgen ${reply} -- "$cur")); `;
      return `    ${flagsOf(option)
        .map((flag) => `"${path}${flag}"`)
        .join("|")}) ${answer}return ;;`;
    });
  const words = (options: readonly Option[]): string =>
    [...options, ...globalOptions].flatMap(flagsOf).concat("--help").join(" ");
  const top = [...completed.commands.map(({ name }) => name), "help"].join(" ");
  const named = nodes.filter(({ takesConversation }) => takesConversation).map(({ path }) => `"${path}"`);
  return `_turnlog() {
  local cur prev command i asked words
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  command=""
  asked=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --store) asked=(--store "\${COMP_WORDS[i+1]}"); i=$((i + 1)) ;;
      ${[...new Set(valued)].filter((flag) => flag !== "--store").join("|")}) i=$((i + 1)) ;;
      -*) ;;
      *)
        case "$command" in
          "") command="\${COMP_WORDS[i]}" ;;
          ${families.join("|")}) command="$command \${COMP_WORDS[i]}" ;;
        esac ;;
    esac
  done
  case "$prev" in
${values(globalOptions, "").join("\n")}
  esac
  case "$command $prev" in
${nodes.flatMap(({ options, path }) => values(options, `${path} `)).join("\n")}
  esac
  words=""
  case "$cur" in
    -*)
      words="${words([])}"
      case "$command" in
${nodes
  .filter(({ options }) => options.length > 0)
  .map(({ path, options }) => `        "${path}") words="${words(options)}" ;;`)
  .join("\n")}
      esac ;;
    *)
      case "$command" in
        ""|help) words="${top}" ;;
${nodes
  .filter(({ next }) => next.length > 0)
  .map(({ path, next }) => `        "${path}") words="${next.join(" ")}" ;;`)
  .join("\n")}
        ${named.join("|")})
          words="$("\${COMP_WORDS[0]}" ls -q --color never -n 100 "\${asked[@]}" 2>/dev/null | cut -d " " -f 1)" ;;
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
`;
}

function fishScript(completed: Completed): string {
  const nodes = nodesOf(completed);
  const quoted = (text: string): string => `'${printable(text).replace(/[\\']/g, "\\$&")}'`;
  const optionLine = (option: Option, when: string): string => {
    const names = flagsOf(option).map((flag) =>
      flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
    );
    const choices = option.argChoices === undefined ? [] : [`-a ${quoted(option.argChoices.join(" "))}`];
    const value = takesValue(option) ? [isFile(option) ? "-r -F" : "-x", ...choices] : [];
    return ["complete -c turnlog", when, ...names, ...value, `-d ${quoted(option.description)}`]
      .filter((word) => word !== "")
      .join(" ");
  };
  const seen = (path: string): string =>
    `-n ${quoted(
      path
        .split(" ")
        .map((word) => `__fish_seen_subcommand_from ${word}`)
        .join("; and "),
    )}`;
  const isFamily = (path: string): boolean => nodes.some((node) => node.path.startsWith(`${path} `));
  const lines = nodes.flatMap(({ path, summary, next, options, takesConversation }) => {
    const [family, name = family] = path.split(" ");
    const siblings = nodes.find((node) => node.path === family)?.next ?? [];
    const before =
      family === path
        ? "__fish_use_subcommand"
        : `__fish_seen_subcommand_from ${family}; and not __fish_seen_subcommand_from ${siblings.join(" ")}`;
    return [
      `complete -c turnlog -n ${quoted(before)} -a ${name} -d ${quoted(summary)}`,
      ...options.map((option) => optionLine(option, seen(path))),
      ...(takesConversation
        ? [
            `complete -c turnlog ${seen(path)} -a '(turnlog ls -q --color never -n 100 2>/dev/null | string split -f 1 " ")'`,
          ]
        : []),
      ...(isFamily(path) ? [] : next.map((word) => `complete -c turnlog ${seen(path)} -a ${word}`)),
      ...(next.length > 0 || takesConversation ? [`complete -c turnlog ${seen(path)} -f`] : []),
    ];
  });
  const globals = completed.globalOptions.map((option) => optionLine(option, ""));
  return [
    "# turnlog completion for fish",
    "complete -c turnlog -n __fish_use_subcommand -f",
    ...globals,
    ...lines,
    "",
  ].join("\n");
}
