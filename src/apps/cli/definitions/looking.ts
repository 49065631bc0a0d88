import type { CommandGroup } from "../command.ts";
import { billedBy, labelOption, numberIn, oneMore, option, someText, timeBefore } from "../option-values.ts";

const revision = "<conversation[@r]>";

const priceFile = [
  option("--prices <file>", "a price file: LiteLLM's model_prices_and_context_window.json, or models.dev's api.json"),
  option(
    "--price-as <model=entry>",
    "price a model that the file does not know as this entry (may be repeated)",
  ).argParser(labelOption),
];

export const lookAtConversations: CommandGroup = {
  heading: "Look at conversations:",
  commands: [
    {
      name: "ls",
      summary: "list the conversations, newest first",
      example: "ls -n 5",
      readsOnly: true,
      options: [
        option("-n, --limit <count>", "maximum number to list; 0 for all")
          .argParser(numberIn({ least: 0 }))
          .default(20),
        option(
          "-l, --label <name=value>",
          "only conversations with this label (if repeated: with all of them)",
        ).argParser(labelOption),
        option("-a, --all", "list hidden conversations too"),
        option(
          "--since <time>",
          "only conversations written since then: 2026-09-01T12:30 (UTC), or how long ago: 30m, 2h, 3d",
        ).argParser(timeBefore(Date.now)),
        option("--until <time>", "only conversations not written since then").argParser(timeBefore(Date.now)),
        option("--state <state>", "only conversations with an open run, or with one in this state").choices([
          ...["open", "running", "cut-off", "elsewhere", "parked"],
        ]),
        option("--waiting [for]", "only conversations that wait: for approvals, results of external tools, or anything")
          .choices(["approval", "doubt", "external", "any"])
          .preset("any"),
        option("--losses", "only conversations with a loss: an answer cut off, a part not sent, compaction"),
        option("--sort <time>", "by the newest event, or by the first; applies to --since and --until too")
          .choices(["lastAt", "startedAt"])
          .default("lastAt"),
        option("--reverse", "show the oldest first"),
        option("--after <place>", "continue where a page ended: `next` of --json, with the same filters").argParser(
          someText,
        ),
      ],
      load: async () => (await import("../commands/ls.ts")).ls,
    },
    {
      name: "search",
      arguments: "<text...>",
      summary: "find words, parts of words or a '\"phrase\"' in titles and texts, with the place of each",
      example: "search weather paris",
      readsOnly: true,
      options: [
        option("-n, --limit <count>", "maximum number to show; 0 for all")
          .argParser(numberIn({ least: 0 }))
          .default(20),
        option(
          "-l, --label <name=value>",
          "only in conversations with this label (if repeated: with all of them)",
        ).argParser(labelOption),
      ],
      load: async () => (await import("../commands/search.ts")).search,
    },
    {
      name: "bill",
      arguments: "[conversation...]",
      summary: "add up requests, tokens and, with a price file, money",
      example: "bill --by label:user --since 7d --prices prices.json",
      readsOnly: true,
      options: [
        option("--by <what>", "list by model, conversation, provider, day, run, layer or label:NAME")
          .argParser(billedBy)
          .default("model"),
        option(
          "--since <time>",
          "only requests since then: 2026-09-01T12:30 (UTC), or how long ago: 30m, 2h, 3d",
        ).argParser(timeBefore(Date.now)),
        ...priceFile,
      ],
      load: async () => (await import("../commands/bill.ts")).bill,
    },
    {
      name: "studio",
      arguments: "[store|bundle]",
      summary: "open a page in the browser that shows conversations, what was sent, and who changed it",
      example: "studio sqlite:./turnlog.db",
      readsOnly: true,
      options: [
        option("-c, --conversation <conversation>", "begin with this conversation").argParser(someText),
        option("--port <port>", "the port to listen on; by default 4777, or the next free one").argParser(
          numberIn({ least: 0, most: 65_535 }),
        ),
        option("--host <host>", "the address to listen on; another than this machine's needs --allow-host").default(
          "127.0.0.1",
        ),
        option("--allow-host <name>", "a name under which other machines ask (may be repeated)").argParser(oneMore),
        option("--no-open", "only print the link; so does BROWSER=none"),
        option("--prices <file>", "a price file, as for `bill`"),
        option("--write", "let the page answer what waits; needs --stack and --as"),
        option(
          "--stack <file>",
          "a module that exports the engine: to leave layers out of it, and with --write to go on with runs",
        ).argParser(someText),
        option("--with <file>", "a module that exports another engine, to ask what it would have done").argParser(
          someText,
        ),
        option("--report <file>", "begin with a report of `regress --report`").argParser(someText),
        option("--as <name>", "with --write: under whose name decisions are recorded").argParser(someText),
      ],
      load: async () => (await import("../commands/studio.ts")).studio,
    },
    {
      name: "log",
      arguments: "<conversation[@r..r]>",
      summary: "show what happened, one line for each event",
      example: "log @last -n 20 --patch",
      readsOnly: true,
      options: [
        option("-n, --limit <count>", "maximum number to show, the newest of them; 0 for all").argParser(
          numberIn({ least: 0 }),
        ),
        option(
          "--since <time>",
          "only events since then: 2026-09-01T12:30 (UTC), or how long ago: 30m, 2h, 3d",
        ).argParser(timeBefore(Date.now)),
        option("--grep <pattern>", "only events whose line or texts match a regular expression").argParser(someText),
        option("-i, --ignore-case", "with --grep: ignore case"),
        option("--type <type>", "only events whose type is or begins with this: tool (may be repeated)")
          .argParser(oneMore)
          .conflicts("transcript"),
        option("--actor <name>", "only events of this actor: a kind or a name (may be repeated)").argParser(oneMore),
        option("--reverse", "show the newest first").conflicts("follow"),
        option("-p, --patch", "show what each event changed in the Turn, and who changed it").conflicts("transcript"),
        option("--transcript", "show the messages instead, in full"),
        option(
          "-f, --follow",
          "show the last 10, then new ones as they come; --json then prints one document per line",
        ).conflicts("transcript"),
      ],
      load: async () => (await import("../commands/log.ts")).log,
    },
    {
      name: "show",
      arguments: revision,
      summary: "show the Turn, the open run and what servers hold",
      example: "show @last@24",
      readsOnly: true,
      options: [option("--full", "show whole texts and long Turns, and contexts that no longer apply")],
      load: async () => (await import("../commands/show.ts")).show,
    },
    {
      name: "cat",
      arguments: revision,
      summary: "show one event as it is stored: envelope, data and digests",
      example: "cat @last@12",
      readsOnly: true,
      options: [option("--full", "insert into the data the long texts that are stored beside the event")],
      load: async () => (await import("../commands/cat.ts")).cat,
    },
    {
      name: "diff",
      arguments: "<from> [to]",
      summary: "show what changed between two revisions: A@r B@r, or A@r1..r2",
      example: "diff @last@20..36",
      readsOnly: true,
      load: async () => (await import("../commands/diff.ts")).diff,
    },
    {
      name: "compare",
      arguments: "<left> <right>",
      summary: "show where two conversations diverge: the last event and block that they share",
      example: "compare cnv_8f3k cnv_9k2a",
      readsOnly: true,
      load: async () => (await import("../commands/compare.ts")).compare,
    },
    {
      name: "blame",
      arguments: `${revision} [block]`,
      summary: "show who made and last changed each block, or the whole history of one",
      example: "blame @last 5",
      readsOnly: true,
      load: async () => (await import("../commands/blame.ts")).blame,
    },
  ],
};

export const lookAtRequests: CommandGroup = {
  heading: "Look at requests:",
  commands: [
    {
      name: "request",
      arguments: revision,
      summary: "print the exact body that was sent",
      example: "request @last --pretty",
      readsOnly: true,
      options: [
        option("--pretty", "format the body for reading"),
        option(
          "--stack <stack>",
          "a name in the configuration, or a module that exports another provider's `codecs`, or an `engine` with it",
        ),
      ],
      load: async () => (await import("../commands/request.ts")).request,
    },
    {
      name: "cache",
      arguments: "[conversation...]",
      summary: "show what prompt caches saved, what their misses cost, and who caused them",
      example: "cache --all --since 7d --prices prices.json",
      readsOnly: true,
      options: [
        option("-a, --all", "all conversations of the store, instead of named ones"),
        option(
          "--since <time>",
          "only requests since then: 2026-09-01T12:30 (UTC), or how long ago: 30m, 2h, 3d",
        ).argParser(timeBefore(Date.now)),
        ...priceFile,
      ],
      load: async () => (await import("../commands/cache.ts")).cache,
    },
    {
      name: "why",
      arguments: revision,
      summary: "explain why a request was sent as it was, who broke the chain, and why the prompt cache missed",
      example: "why @last@24",
      readsOnly: true,
      options: [
        option("--reasoning", "show what happened to the Turn's reasoning, and which layer broke its prefix"),
        ...priceFile,
        option(
          "--stack <stack>",
          "a name in the configuration, or a module that exports another provider's `codecs`, or an `engine` with it",
        ),
      ],
      load: async () => (await import("../commands/why.ts")).why,
    },
  ],
};
