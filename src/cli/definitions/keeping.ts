import type { CommandGroup } from "../command.ts";
import { count, erasureCode, newId, option } from "../option-values.ts";

export const check: CommandGroup = {
  heading: "Check what is stored:",
  commands: [
    {
      name: "verify",
      arguments: "[conversation...]",
      summary: "check hash chains, heads, snapshots, every request and the read models",
      example: "verify --heads heads.txt",
      options: [
        option("--save-heads <file>", "write the heads to a file, to be kept elsewhere"),
        option("--heads <file>", "compare with heads saved before: finds a tail that was cut off"),
        option("--stack <file>", "a module that exports another provider's `codecs`, or an `engine` with it"),
        option(
          "--receipt <file>",
          "check the receipt of an erasure instead: against the store, or with --key",
        ).conflicts(["saveHeads", "heads", "stack"]),
        option("--key <file>", "with --receipt: the public key that it has to be signed with"),
      ],
      load: async () => (await import("../commands/verify.ts")).verify,
    },
    {
      name: "replay",
      arguments: "<conversation>",
      summary: "compare what can be computed again with what was recorded; touches nothing",
      example: "replay @last --stack ./agent.ts --without redact-emails",
      options: [
        option("--to <revision>", "the last revision to replay; by default the newest"),
        option(
          "--stack <file>",
          "execute the layers again too: a module that exports the runs' `engine`, and their `context` if they have one",
        ),
        option("--without <layer>", "ask what would have been without this layer of the --stack").conflicts("with"),
        option("--with <file>", "ask what would have been with the `engine` of this module").conflicts("stack"),
        option("--body <step>", "with --without or --with: the body that this step would have sent").argParser(count),
        option("--save", "with --without or --with: keep what would have been as a new conversation"),
        newId("with --save, which it implies: ").implies({ save: true }),
      ],
      load: async () => (await import("../commands/replay.ts")).replay,
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
          load: async () => (await import("../commands/projections.ts")).status,
        },
        {
          name: "rebuild",
          arguments: "[projection]",
          summary: "make the rows again from the log",
          example: "projections rebuild usage",
          load: async () => (await import("../commands/projections.ts")).rebuild,
        },
        {
          name: "quarantine",
          arguments: "[projection]",
          summary: "list the events that a read model could not take in",
          example: "projections quarantine",
          load: async () => (await import("../commands/projections.ts")).quarantine,
        },
        {
          name: "retry",
          arguments: "[conversation]",
          summary: "make the rows of one conversation again, or of all that lack an event",
          example: "projections retry @last",
          load: async () => (await import("../commands/projections.ts")).retry,
        },
      ],
    },
  ],
};

export const move: CommandGroup = {
  heading: "Move conversations:",
  commands: [
    {
      name: "import",
      arguments: "[file]",
      summary: "take recorded conversations, a bundle, or what a server stores, into the store",
      example: "import bundle.jsonl",
      options: [
        option("--format <name>", "how the file is written; by default its first line says so").choices([
          "chat",
          "bundle",
        ]),
        option("--limit <count>", "maximum number of conversations of a chat file").argParser(count),
        newId(
          "of a chat file with one conversation: ",
          "; by default one that follows from the file's name and the conversation's own id",
        ),
        option(
          "--response <id>",
          "instead of a file: a response that a server stores, with those it goes on from",
        ).conflicts(["format", "limit"]),
        option("--conversation <id>", "instead of a file: what a conversation object of a server holds").conflicts([
          "format",
          "limit",
          "response",
        ]),
        option("--stack <file>", "a module that exports an `engine`, whose provider reaches that server"),
      ],
      load: async () => (await import("../commands/import.ts")).importFile,
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
      load: async () => (await import("../commands/export.ts")).exportBundle,
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
      load: async () => (await import("../commands/copy.ts")).copy,
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
          load: async () => (await import("../commands/store.ts")).backup,
        },
        {
          name: "restore",
          arguments: "<file>",
          summary: "put a backup in the place of the store",
          example: "store restore turnlog.backup",
          options: [option("--force", "replace the store if it exists")],
          load: async () => (await import("../commands/store.ts")).restore,
        },
      ],
    },
  ],
};

export const eraseWhatWasSaid: CommandGroup = {
  heading: "Erase what was said:",
  commands: [
    {
      name: "erase",
      arguments: "[conversation...]",
      summary: "tell what erasing conversations would do, or with --apply do it; without any, list what was erased",
      example: "erase @last --apply --by dpo --ground gdpr-17 -o receipt.json",
      options: [
        option("--apply", "erase, and not only tell"),
        option("--by <alias>", "with --apply: who erases, as a code; it stays in the log").argParser(erasureCode),
        option("--ground <code>", "with --apply: why, as a code; it stays in the log").argParser(erasureCode),
        option("--ticket <code>", "with --apply: where it was asked for, as a code").argParser(erasureCode),
        option("--with-skeleton", "keep nothing of an event but its digest; by default its type and time stay"),
        option("-o, --output <file>", "write the receipt to a file"),
        option("--sign <key>", "sign the receipt with a key that `turnlog keys new` made"),
        option("--resume <id>", "go on with an erasure that was broken off, or left something over"),
      ],
      load: async () => (await import("../commands/erase.ts")).erase,
    },
    {
      name: "keys",
      summary: "keys that sign receipts",
      subcommands: [
        {
          name: "new",
          arguments: "<file>",
          summary: "make a key that signs, and beside it FILE.pub, which checks",
          example: "keys new erasure.key",
          options: [option("--name <name>", "what the key is called in signatures; by default turnlog")],
          load: async () => (await import("../commands/keys.ts")).newKey,
        },
      ],
    },
  ],
};
