import type { CommandHandler } from "./context.ts";

/** A command as `--help` shows it, and where its code is. */
export type CommandDeclaration = {
  /** Name and arguments, as commander reads them: `<needed>`, `[optional]`, `[several...]`. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: readonly OptionDeclaration[];
  readonly load: () => Promise<{ readonly run: CommandHandler }>;
};

/** Flags, what they do, and the value when they are not given. */
type OptionDeclaration = readonly [flags: string, description: string, preset?: string];

const revision = "<conversation[@r]>";

/** Every command, in the order in which somebody new would try them. */
export const commandList: readonly CommandDeclaration[] = [
  {
    usage: "demo",
    summary: "watch an agent with middleware talk to a stateful server; no key, no network",
    options: [["--server <url>", "talk to a `turnlog reference-server` that runs elsewhere"]],
    load: () => import("./commands/demo.ts"),
  },
  {
    usage: "rehearse [file]",
    summary: "play conversations with random edits, and have every request judged",
    options: [
      ["--format <name>", "how the file is written: chat", "chat"],
      ["--generate <seed>", "make conversations of the same shape, where no file is at hand"],
      ["--edit-rate <rate>", "how many requests a random edit precedes, from 0 to 1", "0.2"],
      ["--edits <kind>", "all, persistent or once", "all"],
      ["--reasoning", "add reasoning items to the answers"],
      ["--parallel", "merge neighbouring calls into parallel ones"],
      ["--seed <seed>", "draws the edits", "1"],
      ["--limit <count>", "at most so many conversations"],
      ["--chain <mode>", "auto or never", "auto"],
    ],
    load: () => import("./commands/rehearse.ts"),
  },
  {
    usage: "import <file>",
    summary: "take recorded conversations, or a bundle, into the store",
    options: [
      ["--format <name>", "how the file is written: chat or bundle; by default its first line says so"],
      ["--limit <count>", "at most so many conversations of a chat file"],
    ],
    load: () => import("./commands/import.ts"),
  },
  {
    usage: "export <conversation...>",
    summary: "write conversations as one bundle, with all that they need",
    options: [
      ["-o, --output <file>", "write it into this file, as a whole; by default to stdout"],
      ["--redact", "hide what was said behind lengths and hashes: to be read, not imported"],
    ],
    load: () => import("./commands/export.ts"),
  },
  {
    usage: "copy [conversation...]",
    summary: "copy conversations to another store; again to go on",
    options: [
      ["--from <url>", "the store to copy from; by default --store"],
      ["--to <url>", "the store to copy to"],
    ],
    load: () => import("./commands/copy.ts"),
  },
  {
    usage: "store <backup|restore> <file>",
    summary: "write a sqlite store into one file while it is used, or put one in its place",
    options: [["--force", "replace the file, or the store, that is there"]],
    load: () => import("./commands/store.ts"),
  },
  {
    usage: "ls",
    summary: "the conversations, newest first",
    options: [["-n, --limit <count>", "at most so many; 0 for all", "20"]],
    load: () => import("./commands/ls.ts"),
  },
  {
    usage: "log <conversation[@r..r]>",
    summary: "what happened, one line an event",
    options: [
      ["-p, --patch", "with what each event changed of the Turn, and by whom"],
      ["--transcript", "what was said instead, whole"],
      ["-f, --follow", "go on with what comes; --json is then one document a line"],
    ],
    load: () => import("./commands/log.ts"),
  },
  {
    usage: `show ${revision}`,
    summary: "the Turn, the open run, what servers hold",
    load: () => import("./commands/show.ts"),
  },
  {
    usage: "diff <from> [to]",
    summary: "what changed between two revisions: A@r B@r, or A@r1..r2",
    load: () => import("./commands/diff.ts"),
  },
  {
    usage: `request ${revision}`,
    summary: "the exact body that was sent",
    options: [["--pretty", "with line breaks, for people"]],
    load: () => import("./commands/request.ts"),
  },
  {
    usage: `why ${revision}`,
    summary: "why a request was sent as it was; who broke the chain",
    load: () => import("./commands/why.ts"),
  },
  {
    usage: `blame ${revision} [block]`,
    summary: "who made and last changed each block, or all about one",
    load: () => import("./commands/blame.ts"),
  },
  {
    usage: `fork ${revision}`,
    summary: "a new conversation that goes on from there; prints its id",
    options: [["--id <id>", "the id that it is to have; by default a random one"]],
    load: () => import("./commands/fork.ts"),
  },
  {
    usage: "resume <conversation>",
    summary: "finish a run that was cut off, settle what it waits for, or give it up",
    options: [
      ["--stack <file>", "a module that exports the run's `engine`"],
      ["--settle <call=how...>", "say what became of a call in doubt: rerun, abandon or result:TEXT"],
      ["--abandon", "give the run up: what it did stays, and every call is answered"],
      ["--takeover", "take the run from a process that may still live"],
    ],
    load: () => import("./commands/resume.ts"),
  },
  {
    usage: `compare ${revision} ${revision}`,
    summary: "where two conversations part: the last event and the last block that they share",
    load: () => import("./commands/compare.ts"),
  },
  {
    usage: "replay <conversation>",
    summary: "compare what can be computed again with what was recorded; touches nothing",
    options: [
      ["--to <revision>", "the last revision to replay; by default the newest"],
      ["--stack <file>", "execute the layers again too: a module that exports the runs' `engine`"],
      ["--without <layer>", "ask what would have been without this layer of the --stack"],
      ["--with <file>", "ask what would have been with the `engine` of this module"],
      ["--body <step>", "with --without or --with: the body that this step would have sent"],
      ["--save-as <conversation>", "keep what would have been as a new conversation"],
    ],
    load: () => import("./commands/replay.ts"),
  },
  {
    usage: "verify [conversation...]",
    summary: "check hash chains, heads, folds, every request and the read models",
    options: [
      ["--save-heads <file>", "write the heads, to be kept elsewhere"],
      ["--heads <file>", "compare with heads that were kept: finds a tail that was cut"],
    ],
    load: () => import("./commands/verify.ts"),
  },
  {
    usage: "skip <conversation@r>",
    summary: "go on without a damaged event, which you have looked at",
    options: [["--reason <text>", "what you found; it is recorded with your decision"]],
    load: () => import("./commands/skip.ts"),
  },
  {
    usage: "projections [action] [name]",
    summary: "read models: status, rebuild [projection], quarantine, retry [conversation]",
    load: () => import("./commands/projections.ts"),
  },
  {
    usage: "reference-server",
    summary: "a Responses API server that keeps state, for tests",
    options: [["--port <number>", "where it listens on the loopback interface; 0 takes a free one", "4010"]],
    load: () => import("./commands/reference-server.ts"),
  },
];
