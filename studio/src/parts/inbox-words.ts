import type { InboxItem, InboxItemDocument, InboxKind } from "../../../src/apps/studio/inbox-documents.ts";
import { counted } from "../format.ts";

/** The filters above the list. */
export const inboxKinds: readonly { readonly kind: InboxKind; readonly words: string }[] = [
  { kind: "approval", words: "Approvals" },
  { kind: "doubt", words: "In doubt" },
  { kind: "external", words: "From outside" },
  { kind: "cut-off", words: "Cut off" },
  { kind: "failed", words: "Failed" },
  { kind: "elsewhere", words: "Elsewhere" },
  { kind: "expiring", words: "Expiring" },
];

/** The first line of an item. */
export function itemTitle({ kind, name }: Pick<InboxItem, "kind" | "name">): string {
  switch (kind) {
    case "approval":
      return `Approve ${name ?? ""}`;
    case "doubt":
      return `Settle ${name ?? ""}`;
    case "external":
      return `Answer ${name ?? ""}`;
    case "cut-off":
      return "Resume a run";
    case "failed":
      return "Run again";
    case "elsewhere":
      return "A run elsewhere";
    case "expiring":
      return "A context expires";
  }
}

/** What a person is asked, before and after the name of the call. */
export function questionOf(kind: InboxKind): readonly [string, string] {
  switch (kind) {
    case "approval":
      return ["Run ", "?"];
    case "doubt":
      return ["Did ", " happen?"];
    case "external":
      return ["What did ", " give?"];
    case "cut-off":
      return ["Go on with this run?", ""];
    case "failed":
      return ["Run it again?", ""];
    case "elsewhere":
      return ["Take this run over?", ""];
    case "expiring":
      return ["The server may soon forget this conversation", ""];
  }
}

/** What happened, and what of it matters most. */
export function leadOf(kind: InboxKind, { waiting, run, failure }: InboxItemDocument): readonly [string, string] {
  switch (kind) {
    case "approval":
      return waiting?.reason == null
        ? ["The agent wants to call a tool that needs a person’s approval.", ""]
        : ["The agent wants to call a tool that needs a person’s approval: ", ended(waiting.reason)];
    case "doubt":
      return ["It had begun when its process ended, and the log does not have its outcome.", ""];
    case "external":
      return ["The engine does not run this tool: its result comes from outside.", ""];
    case "cut-off":
      return [leftWords[run?.left ?? "cut-off"], ""];
    case "failed":
      return ["The run failed, and the message has no answer: ", ended(failure?.message ?? "not told")];
    case "elsewhere": {
      const { host = "another machine", pid = 0 } = run?.owner ?? {};
      return ["It belongs to a process that cannot be checked from here: ", `${pid} on ${host}.`];
    }
    case "expiring":
      return ["Requests continue from an answer for 29 days, because servers keep answers for about as long.", ""];
  }
}

/** What follows each answer. */
export function consequencesOf(kind: InboxKind, { others, begun }: InboxItemDocument): readonly string[] {
  const then =
    others === 0
      ? "the run goes on from where it was parked"
      : `the run waits for ${counted(others, "more decision")}, and goes on after the last`;
  switch (kind) {
    case "approval":
      return [
        `Approved, ${then}, and the model reads the result.`,
        "Denied, the model reads your reason and answers without it.",
      ];
    case "doubt":
      return [
        "Run again, it is called once more, under the same idempotency key.",
        "With a result, the model reads what you enter. Given up, it reads that the outcome is unknown.",
        `After that, ${then}.`,
      ];
    case "external":
      return [`The model reads what you enter, and ${then}.`, "Given up, it reads that the outcome is unknown."];
    case "cut-off":
    case "elsewhere":
      return [
        "Resumed, the run goes on after its last event: what is in the log is not asked or done again.",
        ...(begun.length === 0 ? [] : [`In doubt then: ${begun.map(({ name }) => name).join(", ")}.`]),
        ...(kind === "elsewhere" ? ["If the other process is alive, it notices within a second, and stops."] : []),
        "Given up, what it did stays, and every call is answered.",
      ];
    case "failed":
      return ["Run again, the model is asked anew. What the failed run did stays in the log."];
    case "expiring":
      return ["After that, the next request sends all blocks again. A request before then continues as usual."];
  }
}

/** The command that does the same in a terminal; null if none does. */
export function commandOf({ kind, conversation, blockId }: InboxItem): string | null {
  switch (kind) {
    case "approval":
      return `turnlog approve ${conversation} ${blockId ?? ""} --as NAME`;
    case "doubt":
      return `turnlog resume ${conversation} --settle ${blockId ?? ""}=rerun --stack FILE`;
    case "external":
      return `turnlog resume ${conversation} --settle ${blockId ?? ""}=result:TEXT --stack FILE`;
    case "cut-off":
      return `turnlog resume ${conversation} --stack FILE`;
    case "elsewhere":
      return `turnlog resume ${conversation} --stack FILE --takeover`;
    default:
      return null;
  }
}

const leftWords = {
  decided: "Everything is decided, and no process goes on with the run.",
  parked: "The run was parked, and no process goes on with it.",
  "cut-off": "The process of this run ended before the run did.",
} as const;

const ended = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
