import type { Block } from "../../domain/block.ts";
import { assistant, audio, file, system, text, toolCall, toolResult, user } from "../../domain/make-block.ts";
import type { ChatFileMessage } from "./chat-format.ts";

/** A part of a message, as in the source document. */
export type Part =
  | { readonly type: "text" | "refusal"; readonly text: string }
  | { readonly type: "image"; readonly source: string; readonly detail?: string }
  | { readonly type: "file"; readonly source: string; readonly filename?: string }
  | { readonly type: "audio"; readonly data: string; readonly format: string };

export type Role = "user" | "system" | "developer" | "assistant";

/** The answer of an entry, its index in it, and the number of entries. */
export type EntryPlace = { readonly answer: number; readonly index: number; readonly size: number };

/** One entry of the source document. An entry that is in no answer, or was edited, has no place. */
export type Entry = (
  | { readonly kind: "message"; readonly role: Role; readonly parts: readonly Part[] }
  | { readonly kind: "call"; readonly callId: string; readonly name: string; readonly arguments: string }
  | { readonly kind: "result"; readonly callId: string; readonly output: string | readonly string[] }
  | { readonly kind: "reasoning"; readonly text: string }
) & { readonly place?: EntryPlace };

/** An entry that a client can make: reasoning comes only from servers. */
export type MadeEntry = Exclude<Entry, { readonly kind: "reasoning" }>;

export const messageOf = (role: Role, words: string): MadeEntry => ({
  kind: "message",
  role,
  parts: [{ type: "text", text: words }],
});

/**
 * The entries of a message, one for each item of a request: an assistant message becomes a message if it has text, then
 * its calls, with unchanged arguments. `open` holds the ids of calls without a result, in order: the n-th tool message
 * answers the n-th call, whatever its id, because ids repeat in recorded conversations.
 */
export function entriesOf(message: ChatFileMessage, open: string[]): readonly Entry[] {
  switch (message.role) {
    case "system":
    case "developer":
    case "user":
      return [{ kind: "message", role: message.role, parts: partsOf(message.content) }];
    case "tool": {
      const { content } = message;
      const output = typeof content === "string" ? content : content.map((part) => part.text);
      return [{ kind: "result", callId: open.shift() ?? message.tool_call_id, output }];
    }
    case "assistant": {
      const parts = [...partsOf(message.content ?? []), ...partsOf(refusalOf(message.refusal ?? null))];
      const spoken = parts.filter((part) => !("text" in part) || part.text !== "");
      const calls = callsOf(message.tool_calls ?? []);
      open.splice(0, open.length, ...calls.map(({ callId }) => callId));
      return spoken.length === 0 ? calls : [{ kind: "message", role: "assistant", parts: spoken }, ...calls];
    }
  }
}

/** The block of an entry, as a client makes it. */
export function blockOf(entry: MadeEntry): Block {
  switch (entry.kind) {
    case "message": {
      const parts = entry.parts.map(partJson);
      if (entry.role === "user") return user(parts);
      return entry.role === "assistant" ? assistant(parts) : system(parts, entry.role);
    }
    case "call":
      return toolCall({ callId: entry.callId, name: entry.name, arguments: entry.arguments });
    case "result": {
      const { callId, output } = entry;
      const json = typeof output === "string" ? output : output.map(text);
      return toolResult({ callId, output: json });
    }
  }
}

type Assistant = Extract<ChatFileMessage, { readonly role: "assistant" }>;
type Content = Extract<ChatFileMessage, { readonly role: "user" }>["content"] | NonNullable<Assistant["content"]>;

function partsOf(content: Content): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map(partOf);
}

function partOf(part: Exclude<Content, string>[number]): Part {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", text: part.refusal };
    case "image_url": {
      const { url, detail } = part.image_url;
      return { type: "image", source: url, ...(detail === undefined ? {} : { detail }) };
    }
    case "input_audio":
      return { type: "audio", data: part.input_audio.data, format: part.input_audio.format };
    case "file": {
      const { file_id: id, filename, file_data: data } = part.file;
      return data === undefined || filename === undefined
        ? { type: "file", source: id ?? "" }
        : { type: "file", source: data, filename };
    }
  }
}

const refusalOf = (refusal: string | null): NonNullable<Assistant["content"]> =>
  refusal === null ? [] : [{ type: "refusal", refusal }];

/** Two calls with one id in one answer are ambiguous, so the later one gets another id. */
function callsOf(calls: NonNullable<Assistant["tool_calls"]>): readonly Extract<Entry, { readonly kind: "call" }>[] {
  const used = new Set<string>();
  return calls.map(({ id, function: called }) => {
    let callId = id;
    for (let n = 2; used.has(callId); n += 1) callId = `${id}_${n}`;
    used.add(callId);
    return { kind: "call", callId, name: called.name, arguments: called.arguments };
  });
}

function partJson(part: Part) {
  switch (part.type) {
    case "text":
      return text(part.text);
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image":
      // Addresses in recorded chats are sent unchanged.
      return { type: "image", url: part.source, detail: part.detail ?? "auto" };
    case "file":
      return part.filename === undefined
        ? file({ fileId: part.source })
        : file({ name: part.filename, data: part.source });
    case "audio":
      return audio(part.data, part.format);
  }
}
