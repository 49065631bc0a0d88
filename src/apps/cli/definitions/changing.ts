import { modes } from "../../../engine/options/chain-policy.ts";
import { rehearsalProviders, rehearsalTransports } from "../../../testing/rehearsal/ports.ts";
import type { CommandGroup } from "../command.ts";
import { count, newId, numberIn, oneMore, option, serverAddress, settlement, someText } from "../option-values.ts";

const revision = "<conversation[@r]>";

const decidedBy = () => option("--as <name>", "who decides; recorded").argParser(someText).makeOptionMandatory();
const messageForModel = () => option("--message <text>", "a text for the model").argParser(someText);

export const tryOut: CommandGroup = {
  heading: "Try it out:",
  commands: [
    {
      name: "demo",
      summary: "watch an agent with middleware talk to a stateful server; no key, no network",
      example: "demo",
      options: [
        option("--server <url>", "talk to a `turnlog reference-server` that runs elsewhere").argParser(serverAddress),
        option("--mode <mode>", "who holds the conversation between two requests").choices(modes).default("chained"),
      ],
      load: async () => (await import("../commands/demo.ts")).demo,
    },
    {
      name: "rehearse",
      arguments: "[file]",
      summary: "play conversations with random edits, and judge every request",
      example: "rehearse --generate 1 --limit 10",
      options: [
        option("--format <name>", "the format of the file").choices(["chat"]).default("chat"),
        option("--generate <seed>", "generate conversations of the same shape instead of reading a file"),
        option("--edit-rate <rate>", "share of requests that follow a random edit, from 0 to 1")
          .argParser(numberIn({ least: 0, most: 1, isWhole: false }))
          .default(0.2),
        option("--edits <kind>", "which edits to make").choices(["all", "persistent", "once"]).default("all"),
        option("--reasoning", "add reasoning items to the answers"),
        option("--parallel", "merge neighbouring calls into parallel ones"),
        option("--seed <seed>", "the seed of the random edits").default("1"),
        option("--limit <count>", "maximum number of conversations").argParser(count),
        option("--keep", "keep the conversations in the store; creates it if there is none"),
        option("--provider <name>", "the dialect in which to ask the server; by default responses").choices(
          rehearsalProviders,
        ),
        option("--handoff", "hand each conversation over and back between providers, at random requests"),
        option(
          "--mode <mode>",
          "who holds the conversation between two requests; by default chained if the provider can",
        ).choices(modes),
        option("--transport <how>", "how requests are sent; over WebSocket nothing is stored")
          .choices(rehearsalTransports)
          .default("sse"),
        option("--warm-up <rate>", "share of requests before which to warm up a new connection, from 0 to 1").argParser(
          numberIn({ least: 0, most: 1, isWhole: false }),
        ),
        option("--switch-modes", "send random requests in another mode"),
      ],
      load: async () => (await import("../commands/rehearse.ts")).rehearse,
    },
    {
      name: "reference-server",
      summary: "run a Responses API server that keeps state, for tests",
      example: "reference-server --port 4010",
      readsOnly: true,
      options: [
        option("--port <number>", "the port on the loopback interface; 0 picks a free one")
          .argParser(numberIn({ least: 0, most: 65_535 }))
          .default(4010),
      ],
      load: async () => (await import("../commands/reference-server.ts")).referenceServer,
    },
  ],
};

const stack = () =>
  option(
    "--stack <stack>",
    "a name in the configuration, or a module that exports an `engine`; by default the configuration's engine",
  );
const model = () => option("--model <name>", "ask this model instead of the engine's").argParser(someText);
const person = () =>
  option("--as <name>", "who writes and decides; recorded, by default the user of this system").argParser(someText);

export const askModels: CommandGroup = {
  heading: "Ask a model:",
  commands: [
    {
      name: "chat",
      arguments: "[conversation]",
      summary: "talk to a model, line by line; a new conversation without a name",
      example: "chat",
      options: [stack(), model(), person(), newId("without a conversation: ")],
      load: async () => (await import("../commands/chat.ts")).chat,
    },
    {
      name: "run",
      arguments: "<conversation> [message]",
      summary: "append a message and print the model's answer; @new starts a conversation, - reads standard input",
      example: 'run @new "What is the capital of France?"',
      options: [
        stack(),
        model(),
        person(),
        option("--key <key>", "your own name for the message: it is appended and answered once").argParser(someText),
        newId("with @new: "),
      ],
      load: async () => (await import("../commands/run.ts")).run,
    },
  ],
};

export const change: CommandGroup = {
  heading: "Change conversations:",
  commands: [
    {
      name: "append",
      arguments: "<conversation> [text]",
      summary: "append a message; @new starts a conversation, - reads standard input",
      example: 'append @last "Go on." --key message-17',
      options: [
        option("--as <role>", "the role of the message")
          .choices(["user", "system", "developer", "assistant", "tool"])
          .default("user"),
        option("--call <call>", "with --as tool: the call that it answers, by its id or the name of its tool"),
        option(
          "--key <key>",
          "your own name for the message: appending with the same key again adds nothing",
        ).argParser(someText),
        newId("with @new: "),
      ],
      load: async () => (await import("../commands/append.ts")).append,
    },
    {
      name: "rename",
      arguments: "<conversation> <title>",
      summary: "give a conversation a title",
      example: 'rename @last "A journey to Rome"',
      load: async () => (await import("../commands/relabel.ts")).rename,
    },
    {
      name: "label",
      arguments: "<conversation> [name=value...]",
      summary: "set or remove the labels of a conversation, and print them",
      example: "label @last user=ann --remove draft",
      options: [option("--remove <name>", "remove this label (may be repeated)").argParser(oneMore)],
      load: async () => (await import("../commands/relabel.ts")).label,
    },
    {
      name: "revert",
      arguments: "<conversation[@r]>",
      summary: "set the Turn back to a revision; later events stay in the log",
      example: "revert @last@24",
      options: [
        option("--exchange <n>", "end the Turn with its nth exchange instead, from 0; -1 is the last").argParser(
          numberIn({ least: Number.MIN_SAFE_INTEGER }),
        ),
      ],
      load: async () => (await import("../commands/revert.ts")).revert,
    },
    {
      name: "reset-reasoning",
      arguments: "<conversation>",
      summary: "make the model think anew: its reasoning so far stays in the Turn and is not sent again",
      example: "reset-reasoning @last",
      load: async () => (await import("../commands/reset-reasoning.ts")).resetReasoning,
    },
    {
      name: "hide",
      arguments: "<conversation>",
      summary: "remove a conversation from the list; nothing else changes",
      example: "hide cnv_8f3k",
      load: async () => (await import("../commands/relabel.ts")).hide,
    },
    {
      name: "unhide",
      arguments: "<conversation>",
      summary: "list a hidden conversation again",
      example: "unhide cnv_8f3k",
      load: async () => (await import("../commands/relabel.ts")).unhide,
    },
  ],
};

export const goOn: CommandGroup = {
  heading: "Continue from the log:",
  commands: [
    {
      name: "fork",
      arguments: revision,
      summary: "start a new conversation that continues from a revision; prints its id",
      example: "fork @last@24",
      options: [newId()],
      load: async () => (await import("../commands/fork.ts")).fork,
    },
    {
      name: "resume",
      arguments: "[conversation]",
      summary: "finish a run that was cut off, settle the calls that it waits for, or give it up",
      example: "resume @last --stack ./agent.ts",
      options: [
        option(
          "--stack <stack>",
          "a name in the configuration, or a module that exports the run's `engine`, and its `context` if it has one; by default the configuration's engine",
        ),
        option(
          "--settle <call=how>",
          "how a call in doubt ended: rerun, abandon or result:TEXT (may be repeated)",
        ).argParser(settlement),
        option("--abandon", "give the run up: its effects stay, and every call gets an answer").conflicts([
          "stack",
          "settle",
        ]),
        option("--takeover", "take the run from a process that may still be alive"),
        option(
          "--all",
          "finish all runs that were cut off or parked, in every conversation; one document each",
        ).conflicts(["settle", "abandon", "takeover"]),
      ],
      load: async () => (await import("../commands/resume.ts")).resume,
    },
    {
      name: "approve",
      arguments: "<conversation> <call>",
      summary: "let a call begin that waits for approval; `ls --waiting` and `show` have its id",
      example: "approve @last run_8f3k/0.0/0 --as ann",
      options: [
        decidedBy(),
        option("--input <file>", "JSON: the arguments to run the call with, instead of the model's").argParser(
          someText,
        ),
        messageForModel(),
      ],
      load: async () => (await import("../commands/decide.ts")).approve,
    },
    {
      name: "deny",
      arguments: "<conversation> <call>",
      summary: "refuse a call that waits for approval: it never begins",
      example: 'deny @last run_8f3k/0.0/0 --as ann --message "ask the shop first"',
      options: [decidedBy(), messageForModel()],
      load: async () => (await import("../commands/decide.ts")).deny,
    },
    {
      name: "cancel",
      arguments: "<conversation>",
      summary: "end the run that is open, in whichever process it runs",
      example: 'cancel @last --reason "wrong customer"',
      options: [
        option("--reason <text>", "the reason; recorded, and given to the run's caller").argParser(someText),
        option("--wait <seconds>", "how long to wait for the process that runs it")
          .argParser(numberIn({ least: 0, most: 86_400, isWhole: false }))
          .default(5),
      ],
      load: async () => (await import("../commands/cancel.ts")).cancel,
    },
    {
      name: "skip",
      arguments: "<conversation@r>",
      summary: "leave out a damaged event that you have looked at, and continue",
      example: 'skip cnv_8f3k@120 --reason "half written when the disk was full"',
      options: [
        option("--reason <text>", "what you found; it is recorded with your decision")
          .argParser(someText)
          .makeOptionMandatory(),
        option("--all-that-follow", "also skip the events that no longer follow without it"),
      ],
      load: async () => (await import("../commands/skip.ts")).skip,
    },
  ],
};
