import { tracingServices } from "../../../engine/tracing/spans/span-options.ts";
import type { CommandGroup } from "../command.ts";
import { count, labelOption, newId, option, timeBefore } from "../option-values.ts";

export const check: CommandGroup = {
  heading: "Check what is stored:",
  commands: [
    {
      name: "verify",
      arguments: "[conversation...]",
      summary: "check hash chains, heads, snapshots, every request and the read models",
      example: "verify --heads heads.txt",
      readsOnly: true,
      options: [
        option("--save-heads <file>", "write the heads to a file, to keep elsewhere"),
        option("--heads <file>", "compare with saved heads: finds a tail that was cut off"),
        option(
          "--stack <stack>",
          "a name in the configuration, or a module that exports another provider's `codecs`, or an `engine` with it",
        ),
        option(
          "--receipt <file>",
          "check the receipt of an erasure instead: against the store, or with --key",
        ).conflicts(["saveHeads", "heads", "stack"]),
        option("--bundle <file>", "check a bundle instead, redacted or not: its chain, to its end").conflicts([
          "saveHeads",
          "heads",
          "stack",
          "receipt",
          "key",
        ]),
        option("--key <file>", "with --receipt: the public key that must have signed it"),
      ],
      load: async () => (await import("../commands/verify.ts")).verify,
    },
    {
      name: "replay",
      arguments: "<conversation>",
      summary: "compute recorded requests and results again, and compare; changes nothing",
      example: "replay @last --stack ./agent.ts --without redact-emails",
      readsOnly: true,
      options: [
        option("--to <revision>", "the last revision to replay; by default the newest"),
        option(
          "--stack <stack>",
          "execute the layers again too: a name in the configuration, or a module that exports the runs' `engine`, and their `context` if they have one",
        ),
        option("--without <layer>", "compute what would have happened without this layer of the --stack").conflicts(
          "with",
        ),
        option("--with <stack>", "compute what would have happened with the engine of this name or module").conflicts(
          "stack",
        ),
        option("--body <step>", "with --without or --with: print the body that this step would have sent").argParser(
          count,
        ),
        option("--save", "with --without or --with: save the result as a new conversation"),
        newId("with --save, which it implies: ").implies({ save: true }),
      ],
      load: async () => (await import("../commands/replay.ts")).replay,
    },
    {
      name: "regress",
      arguments: "[conversation...]",
      summary: "compare what a changed stack would do to recorded conversations with what happened; asks no model",
      example: "regress --all --with ./agent.ts --jobs 2",
      readsOnly: true,
      options: [
        option(
          "--with <stack>",
          "the changed stack: a name in the configuration, or a module that exports an `engine`, and its `context` if it has one",
        ),
        option("--stack <stack>", "the stack to compare with; by default the recording"),
        option("--without <layer>", "instead of --with: the --stack without this layer"),
        option("--all", "all conversations of the store"),
        option(
          "-l, --label <name=value>",
          "only conversations with this label (if repeated: with all of them)",
        ).argParser(labelOption),
        option("--since <time>", "only those with an event since: a time, or 30m, 2h, 3d ago").argParser(
          timeBefore(Date.now),
        ),
        option("--sample <count>", "only so many, always the same ones").argParser(count),
        option("--bundle <file>", "compare the conversations of a bundle instead of the store's"),
        option("--jobs <count>", "threads that compare; by default 1").argParser(count),
        option("--recorded-policies", "runs keep their recorded mode, chain, compaction and budget"),
        option("--strict", "requests that the log cannot answer count as different"),
        option("--allow <file>", "differences that are allowed; by default turnlog.allow.json, if there is one"),
        option("--prices <file>", "a price file, for what it costs more: LiteLLM's or models.dev's"),
        option("--price-as <model=entry>", "price a model as this entry of the file; may be repeated").argParser(
          labelOption,
        ),
        option("--junit <file>", "write a test case for each conversation"),
        option("--markdown <file>", "write the summary for a pull request"),
        option("--report <file>", "write every difference as lines of JSON"),
        option("--bisect", "for `git bisect run`: exit with 125 if nothing could be compared"),
      ],
      load: async () => (await import("../commands/regress.ts")).regress,
    },
    {
      name: "projections",
      summary: "show, rebuild or repair read models",
      subcommands: [
        {
          name: "status",
          arguments: "[projection]",
          summary: "show how far each read model has come",
          example: "projections status",
          readsOnly: true,
          isDefault: true,
          load: async () => (await import("../commands/projections.ts")).status,
        },
        {
          name: "rebuild",
          arguments: "[projection]",
          summary: "rebuild the rows from the log",
          example: "projections rebuild usage",
          load: async () => (await import("../commands/projections.ts")).rebuild,
        },
        {
          name: "quarantine",
          arguments: "[projection]",
          summary: "list the events that a read model could not apply",
          example: "projections quarantine",
          readsOnly: true,
          load: async () => (await import("../commands/projections.ts")).quarantine,
        },
        {
          name: "retry",
          arguments: "[conversation]",
          summary: "rebuild the rows of one conversation, or of all that lack an event",
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
      summary: "import recorded conversations, a bundle, or a conversation stored by a server",
      example: "import bundle.jsonl",
      options: [
        option("--format <name>", "the format of the file; by default detected from its first line").choices([
          "chat",
          "bundle",
        ]),
        option("--limit <count>", "maximum number of conversations of a chat file").argParser(count),
        newId(
          "of a chat file with one conversation: ",
          "; by default derived from the file's name and the conversation's own id",
        ),
        option(
          "--response <id>",
          "instead of a file: a response stored by a server, with those that it continues from",
        ).conflicts(["format", "limit"]),
        option("--conversation <id>", "instead of a file: a conversation object stored by a server").conflicts([
          "format",
          "limit",
          "response",
        ]),
        option(
          "--stack <stack>",
          "a name in the configuration, or a module that exports an `engine`, whose provider reaches that server",
        ),
      ],
      load: async () => (await import("../commands/import.ts")).importFile,
    },
    {
      name: "export",
      arguments: "<conversation...>",
      summary: "write conversations as one bundle, with everything they need",
      example: "export @last -o bundle.jsonl",
      readsOnly: true,
      options: [
        option("-o, --output <file>", "the file to write, as a whole; by default stdout"),
        option("--html <file>", "write the studio's page with the conversations in it: one file that opens from disk"),
        option("--otlp <file>", "write the spans of the runs as OTLP/JSON instead, as tracing makes them; - is stdout"),
        option("--redact", "replace texts by their lengths and hashes: for reading, not for import"),
        option("--content", "with --otlp: include messages, arguments, results and texts of errors"),
        option("--agent <name>", "with --otlp: the name of the agent, which names the spans of runs"),
        option("--for <service>", "with --otlp: add the attributes that this service reads").choices(tracingServices),
      ],
      load: async () => (await import("../commands/export.ts")).exportBundle,
    },
    {
      name: "copy",
      arguments: "[conversation...]",
      summary: "copy conversations to another store; run again to continue",
      example: "copy --to sqlite:other.db",
      options: [
        option("--from <url>", "the store to copy from; by default --store"),
        option(
          "--to <url>",
          "the store to copy to: sqlite:PATH, postgres://HOST/DATABASE or esdb://HOST:PORT",
        ).makeOptionMandatory(),
      ],
      load: async () => (await import("../commands/copy.ts")).copy,
    },
    {
      name: "store",
      summary: "back up or restore a sqlite store; create a postgres store, and say who may use it",
      subcommands: [
        {
          name: "backup",
          arguments: "<file>",
          summary: "write the store to one file while it is in use",
          example: "store backup turnlog.backup",
          readsOnly: true,
          options: [option("--force", "replace the file if it exists")],
          load: async () => (await import("../commands/store.ts")).backup,
        },
        {
          name: "restore",
          arguments: "<file>",
          summary: "replace the store with a backup",
          example: "store restore turnlog.backup",
          options: [option("--force", "replace the store if it exists")],
          load: async () => (await import("../commands/store.ts")).restore,
        },
        {
          name: "init",
          summary: "create the tables and functions of a postgres store, unless it is there",
          example: "store init --store postgres://localhost/app",
          options: [option("--print", "print the statements instead, without connecting")],
          load: async () => (await import("../commands/store-setup.ts")).init,
        },
        {
          name: "migrate",
          summary: "bring a postgres store to the schema of this turnlog",
          example: "store migrate --store postgres://localhost/app",
          load: async () => (await import("../commands/store-setup.ts")).migrate,
        },
        {
          name: "grants",
          summary: "give database roles the rights to use a postgres store",
          example: "store grants --writer app --reader auditor --store postgres://localhost/app",
          options: [
            option("--writer <role>", "the role of programs that append: it cannot change or remove events"),
            option("--reader <role>", "the role of those that only read"),
            option("--print", "print the statements instead, without connecting"),
          ],
          load: async () => (await import("../commands/store-setup.ts")).grants,
        },
      ],
    },
  ],
};
