import type { ChatDocument, ChatFileMessage } from "./chat-format.ts";
import { type Draw, drawFrom } from "./draw.ts";
import { type Entry, entriesOf } from "./entries.ts";

/** One request: what is appended before it, and the model's answer. */
type Exchange = { readonly appended: readonly Entry[]; readonly answer: readonly Entry[] };

/** A document as it is played: one request for each assistant message, and the rest after the last one. */
export type Play = { readonly exchanges: readonly Exchange[]; readonly rest: readonly Entry[] };

export type PlayOptions = {
  readonly seed: string;
  /** Adds reasoning before half of the answers. */
  readonly reasoning: boolean;
  /** Makes neighbouring calls parallel. */
  readonly parallel: boolean;
};

/** The maximum number of calls in one answer after merging. */
const maxParallel = 4;

/**
 * Divides a document into requests. A leading answer, with nothing before it, is appended, because there was no request. A model that
 * runs its own tools answers, in one go, everything between two messages of others, including the results of its calls.
 */
export function playOf(
  document: ChatDocument,
  options: PlayOptions & { readonly hasOwnTools?: boolean | undefined },
): Play {
  const { seed, reasoning, parallel, hasOwnTools = false } = options;
  const draw = drawFrom(seed, document.id, "play");
  const messages = parallel ? mergeCalls(document.messages, draw) : document.messages;
  const exchanges: Exchange[] = [];
  const open: string[] = [];
  let appended: Entry[] = [];
  for (const message of messages) {
    const entries = entriesOf(message, open);
    const last = exchanges.at(-1);
    const isModels = message.role === "assistant" || message.role === "tool";
    if (hasOwnTools && isModels && last !== undefined && appended.length === 0) {
      const answer = placed(exchanges.length - 1, [...last.answer, ...entries]);
      exchanges[exchanges.length - 1] = { ...last, answer };
    } else if (message.role === "assistant" && (appended.length > 0 || exchanges.length > 0)) {
      const thought: Entry = { kind: "reasoning", text: `Thinking it over (${draw.nonce()}).` };
      const isThought = reasoning && entries.length > 0 && draw.chance(0.5);
      exchanges.push({ appended, answer: placed(exchanges.length, isThought ? [thought, ...entries] : entries) });
      appended = [];
    } else {
      appended.push(...entries);
    }
  }
  return { exchanges, rest: appended };
}

const placed = (answer: number, entries: readonly Entry[]): readonly Entry[] =>
  entries.map((entry, index): Entry => ({ ...entry, place: { answer, index, size: entries.length } }));

/** Merges answers that contain only calls, directly after the results of calls, into the answer that made those calls. */
function mergeCalls(messages: readonly ChatFileMessage[], draw: Draw): readonly ChatFileMessage[] {
  const merged: ChatFileMessage[] = [];
  let maxCalls = 2 + draw.below(maxParallel - 1);
  for (const message of messages) {
    const at = merged.findLastIndex(({ role }) => role !== "tool");
    const before = merged[at];
    const calls = before?.role === "assistant" ? (before.tool_calls ?? []) : [];
    const isAnswered = calls.length > 0 && merged.length - 1 - at === calls.length;
    if (before?.role === "assistant" && isAnswered && isOnlyCalls(message)) {
      const both = [...calls, ...(message.tool_calls ?? [])];
      if (both.length <= maxCalls) {
        merged[at] = { ...before, tool_calls: both };
        continue;
      }
      maxCalls = 2 + draw.below(maxParallel - 1);
    }
    merged.push(message);
  }
  return merged;
}

function isOnlyCalls(message: ChatFileMessage): message is Extract<ChatFileMessage, { readonly role: "assistant" }> {
  if (message.role !== "assistant" || (message.tool_calls ?? []).length === 0) return false;
  return (message.content ?? "").length === 0 && (message.refusal ?? null) === null;
}
