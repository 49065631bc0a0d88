import { Option } from "commander";
import type { CommandDefinition, CommandGroup } from "./command.ts";
import { numberIn, serverAddress, settlement, someText } from "./option-values.ts";

const revision = "<conversation[@r]>";
const option = (flags: string, description: string): Option => new Option(flags, description);
const count = numberIn({ least: 1 });

/** Every command, in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  {
    heading: "Try it out:",
    commands: [
      {
        name: "demo",
        summary: "watch an agent with middleware talk to a stateful server; no key, no network",
        example: "demo",
        options: [
          option("--server <url>", "talk to a `turnlog reference-server` that runs elsewhere").argParser(serverAddress),
        ],
        load: async () => (await import("./commands/demo.ts")).demo,
      },
      {
        name: "rehearse",
        arguments: "[file]",
        summary: "play conversations with random edits, and have every request judged",
        example: "rehearse --generate 1 --limit 10",
        options: [
          option("--format <name>", "how the file is written").choices(["chat"]).default("chat"),
          option("--generate <seed>", "make conversations of the same shape, instead of reading a file"),
          option("--edit-rate <rate>", "how many requests a random edit precedes, from 0 to 1")
            .argParser(numberIn({ least: 0, most: 1, isWhole: false }))
            .default(0.2),
          option("--edits <kind>", "which edits to make").choices(["all", "persistent", "once"]).default("all"),
          option("--reasoning", "add reasoning items to the answers"),
          option("--parallel", "merge neighbouring calls into parallel ones"),
          option("--seed <seed>", "the seed of the random edits").default("1"),
          option("--limit <count>", "maximum number of conversations").argParser(count),
          option("--chain <mode>", "whether requests continue from responses")
            .choices(["auto", "never"])
            .default("auto"),
        ],
        load: async () => (await import("./commands/rehearse.ts")).rehearse,
      },
      {
        name: "reference-server",
        summary: "a Responses API server that keeps state, for tests",
        example: "reference-server --port 4010",
        options: [
          option("--port <number>", "the port on the loopback interface; 0 takes a free one")
            .argParser(numberIn({ least: 0, most: 65_535 }))
            .default(4010),
        ],
        load: async () => (await import("./commands/reference-server.ts")).referenceServer,
      },
    ],
  },
  {
    heading: "Look at conversations:",
    commands: [
      {
        name: "ls",
        summary: "list the conversations, newest first",
        example: "ls -n 5",
        options: [
          option("-n, --limit <count>", "maximum number to list; 0 for all")
            .argParser(numberIn({ least: 0 }))
            .default(20),
        ],
        load: async () => (await import("./commands/ls.ts")).ls,
      },
      {
        name: "log",
        arguments: "<conversation[@r..r]>",
        summary: "what happened, one line for each event",
        example: "log @last@-20..-1 --patch",
        options: [
          option("-p, --patch", "show what each event changed of the Turn, and who changed it").conflicts("transcript"),
          option("--transcript", "show what was said instead, in full"),
          option("-f, --follow", "go on with new events; --json then prints one document per line").conflicts(
            "transcript",
          ),
        ],
        load: async () => (await import("./commands/log.ts")).log,
      },
      {
        name: "show",
        arguments: revision,
        summary: "the Turn, the open run and what servers hold",
        example: "show @last@24",
        load: async () => (await import("./commands/show.ts")).show,
      },
      {
        name: "diff",
        arguments: "<from> [to]",
        summary: "what changed between two revisions: A@r B@r, or A@r1..r2",
        example: "diff @last@20..36",
        load: async () => (await import("./commands/diff.ts")).diff,
      },
      {
        name: "compare",
        arguments: "<left> <right>",
        summary: "where two conversations part: the last event and block that they share",
        example: "compare cnv_8f3k cnv_9k2a",
        load: async () => (await import("./commands/compare.ts")).compare,
      },
      {
        name: "blame",
        arguments: `${revision} [block]`,
        summary: "who made and last changed each block, or the whole story of one",
        example: "blame @last 5",
        load: async () => (await import("./commands/blame.ts")).blame,
      },
    ],
  },
  {
    heading: "Look at requests:",
    commands: [
      {
        name: "request",
        arguments: revision,
        summary: "the exact body that was sent",
        example: "request @last --pretty",
        options: [option("--pretty", "format the body for people")],
        load: async () => (await import("./commands/request.ts")).request,
      },
      {
        name: "why",
        arguments: revision,
        summary: "why a request was sent as it was, and who broke the chain",
        example: "why @last@24",
        load: async () => (await import("./commands/why.ts")).why,
      },
    ],
  },
  {
    heading: "Go on from what was recorded:",
    commands: [
      {
        name: "fork",
        arguments: revision,
        summary: "start a new conversation that goes on from a revision; prints its id",
        example: "fork @last@24",
        options: [option("--id <id>", "the id of the new conversation; by default a random one")],
        load: async () => (await import("./commands/fork.ts")).fork,
      },
      {
        name: "resume",
        arguments: "<conversation>",
        summary: "finish a run that was cut off, settle what it waits for, or give it up",
        example: "resume @last --stack ./agent.ts",
        options: [
          option("--stack <file>", "a module that exports the run's `engine`"),
          option(
            "--settle <call=how...>",
            "say what became of a call in doubt: rerun, abandon or result:TEXT",
          ).argParser(settlement),
          option("--abandon", "give the run up: what it did stays, and every call is answered").conflicts([
            "stack",
            "settle",
          ]),
          option("--takeover", "take the run from a process that may still be alive"),
        ],
        load: async () => (await import("./commands/resume.ts")).resume,
      },
      {
        name: "skip",
        arguments: "<conversation@r>",
        summary: "go on without a damaged event that you have looked at",
        example: 'skip cnv_8f3k@120 --reason "half written when the disk was full"',
        options: [
          option("--reason <text>", "what you found; it is recorded with your decision")
            .argParser(someText)
            .makeOptionMandatory(),
        ],
        load: async () => (await import("./commands/skip.ts")).skip,
      },
    ],
  },
  {
    heading: "Check what is stored:",
    commands: [
      {
        name: "verify",
        arguments: "[conversation...]",
        summary: "check hash chains, heads, folds, every request and the read models",
        example: "verify --heads heads.txt",
        options: [
          option("--save-heads <file>", "write the heads to a file, to be kept elsewhere"),
          option("--heads <file>", "compare with heads saved before: finds a tail that was cut off"),
        ],
        load: async () => (await import("./commands/verify.ts")).verify,
      },
      {
        name: "replay",
        arguments: "<conversation>",
        summary: "compare what can be computed again with what was recorded; touches nothing",
        example: "replay @last --stack ./agent.ts --without redact-emails",
        options: [
          option("--to <revision>", "the last revision to replay; by default the newest"),
          option("--stack <file>", "execute the layers again too: a module that exports the runs' `engine`"),
          option("--without <layer>", "ask what would have been without this layer of the --stack").conflicts("with"),
          option("--with <file>", "ask what would have been with the `engine` of this module").conflicts("stack"),
          option("--body <step>", "with --without or --with: the body that this step would have sent").argParser(count),
          option("--save-as <conversation>", "keep what would have been as a new conversation"),
        ],
        load: async () => (await import("./commands/replay.ts")).replay,
      },
      {
        name: "projections",
        summary: "read models: how they stand, rebuild them, or repair what they lack",
        subcommands: [
          {
            name: "status",
            arguments: "[projection]",
            summary: "how far each read model has come",
            example: "projections status",
            isDefault: true,
            load: async () => (await import("./commands/projections.ts")).status,
          },
          {
            name: "rebuild",
            arguments: "[projection]",
            summary: "make the rows again from the log",
            example: "projections rebuild usage",
            load: async () => (await import("./commands/projections.ts")).rebuild,
          },
          {
            name: "quarantine",
            arguments: "[projection]",
            summary: "list the events that a read model could not take in",
            example: "projections quarantine",
            load: async () => (await import("./commands/projections.ts")).quarantine,
          },
          {
            name: "retry",
            arguments: "[conversation]",
            summary: "make the rows of one conversation again, or of all that lack an event",
            example: "projections retry @last",
            load: async () => (await import("./commands/projections.ts")).retry,
          },
        ],
      },
    ],
  },
  {
    heading: "Move conversations:",
    commands: [
      {
        name: "import",
        arguments: "<file>",
        summary: "take recorded conversations, or a bundle, into the store",
        example: "import bundle.jsonl",
        options: [
          option("--format <name>", "how the file is written; by default its first line says so").choices([
            "chat",
            "bundle",
          ]),
          option("--limit <count>", "maximum number of conversations of a chat file").argParser(count),
        ],
        load: async () => (await import("./commands/import.ts")).importFile,
      },
      {
        name: "export",
        arguments: "<conversation...>",
        summary: "write conversations as one bundle, with everything they need",
        example: "export @last -o bundle.jsonl",
        options: [
          option("-o, --output <file>", "the file to write, as a whole; by default stdout"),
          option("--redact", "replace texts by their lengths and hashes: to be read, not imported"),
        ],
        load: async () => (await import("./commands/export.ts")).exportBundle,
      },
      {
        name: "copy",
        arguments: "[conversation...]",
        summary: "copy conversations to another store; run it again to go on",
        example: "copy --to sqlite:other.db",
        options: [
          option("--from <url>", "the store to copy from; by default --store"),
          option("--to <url>", "the store to copy to: sqlite:PATH or esdb://HOST:PORT").makeOptionMandatory(),
        ],
        load: async () => (await import("./commands/copy.ts")).copy,
      },
      {
        name: "store",
        summary: "back up a sqlite store to one file while it is used, or restore one",
        subcommands: [
          {
            name: "backup",
            arguments: "<file>",
            summary: "write the store to one file while it is used",
            example: "store backup turnlog.backup",
            options: [option("--force", "replace the file if it exists")],
            load: async () => (await import("./commands/store.ts")).backup,
          },
          {
            name: "restore",
            arguments: "<file>",
            summary: "put a backup in the place of the store",
            example: "store restore turnlog.backup",
            options: [option("--force", "replace the store if it exists")],
            load: async () => (await import("./commands/store.ts")).restore,
          },
        ],
      },
    ],
  },
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
