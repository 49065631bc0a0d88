import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectOf } from "../base/json.ts";
import { checkChoice, checkText, kindOf, meant } from "../base/options.ts";
import { Block } from "./block.ts";
import { assistant, system, toolCall, toolResult, user } from "./make-block.ts";
import { contentParts } from "./message-content.ts";

/** A text, or parts: texts, images, files and audio, in turnlog's vocabulary or that of the chat APIs. */
export type ChatContent = string | readonly { readonly type: string; readonly [member: string]: unknown }[];

/** A message in the form of chat APIs. The calls of an assistant's message become separate blocks. */
export type ChatMessage =
  | { readonly role: "user" | "system" | "developer"; readonly content: ChatContent }
  | {
      readonly role: "assistant";
      readonly content?: ChatContent | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly ChatCall[] | null;
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: ChatContent };

export type ChatCall = {
  readonly id: string;
  readonly type?: "function";
  readonly function: { readonly name: string; readonly arguments: string };
};

/** What `append` accepts: a string is a user's message. */
export type AppendInput = string | Block | ChatMessage;

/**
 * Converts the input to draft blocks.
 *
 * @throws {TypeError} if a value has another type, or content that no block can hold.
 */
export function draftsOf(said: AppendInput | readonly AppendInput[]): readonly Block[] {
  const list: unknown = said;
  if (!isJsonList(list)) return blocksOf(said, "append: what is said");
  return list.flatMap((each, index) => blocksOf(each, `append: item ${index}`));
}

function blocksOf(said: unknown, where: string): readonly Block[] {
  if (typeof said === "string") return [user(said)];
  if (said instanceof Block) return [said];
  if (!isJsonObject(said)) throw noMessage(where, kindOf(said));
  if (typeof said["withId"] === "function")
    throw new TypeError(`another copy of turnlog made the block ${where}: make it with the copy that opened the store`);
  if (typeof said["type"] === "string" && said["role"] === undefined)
    throw noMessage(where, "a part of a message: write user([part])");
  if (said["role"] === undefined) throw noMessage(where, "an object without a role");
  return blocksOfMessage(said, where.replace(": what is said", ""));
}

const noMessage = (where: string, given: string): TypeError =>
  new TypeError(`${where} is ${given}: append takes a text, a block or { role, content }`);

const roles = ["user", "system", "developer", "assistant", "tool"] as const;
const membersByRole: Readonly<Record<(typeof roles)[number], readonly string[]>> = {
  user: ["role", "content"],
  system: ["role", "content"],
  developer: ["role", "content"],
  assistant: ["role", "content", "refusal", "tool_calls"],
  tool: ["role", "content", "tool_call_id"],
};

function blocksOfMessage(message: JsonObject, where: string): readonly Block[] {
  const { content } = message;
  const role = checkChoice(`${where}: role`, message["role"], roles);
  const known = membersByRole[role];
  const odd = Object.keys(message).find((name) => !known.includes(name) && !saysNothing(message[name]));
  if (odd !== undefined)
    throw new TypeError(`${where}: '${odd}' is not a member of a message of ${role}: ${meant(odd, known)}`);
  if (role === "assistant") return blocksOfAnswer(message, where);
  const parts = contentParts(content, where);
  if (role === "user") return [user(parts)];
  if (role !== "tool") return [system(parts, role)];
  const callId = checkText(`${where}: tool_call_id`, message["tool_call_id"], "the id of the call that it answers");
  return [toolResult({ callId, output: typeof content === "string" ? content : parts })];
}

/** Members that APIs add to every message without content. */
const saysNothing = (value: JsonValue | undefined): boolean =>
  value === undefined || value === null || value === "" || (isJsonList(value) && value.length === 0);

function blocksOfAnswer({ content, refusal, tool_calls: calls }: JsonObject, where: string): readonly Block[] {
  const refused = saysNothing(refusal) ? [] : contentParts([{ type: "refusal", refusal }], where);
  const called = saysNothing(calls) ? [] : callsOf(calls, `${where}: tool_calls`);
  const isSilent = saysNothing(content) && refused.length + called.length > 0;
  const parts = [...(isSilent ? [] : contentParts(content, where)), ...refused];
  return parts.length === 0 ? called : [assistant(parts), ...called];
}

function callsOf(calls: JsonValue | undefined, where: string): readonly Block[] {
  if (!isJsonList(calls)) throw new TypeError(`${where} is ${kindOf(calls)}: give a list of calls`);
  return calls.map((call, index) => {
    const { id, function: called } = objectOf(call);
    const { name, arguments: given } = objectOf(called);
    if (typeof id === "string" && typeof name === "string" && typeof given === "string")
      return toolCall({ callId: id, name, arguments: given });
    throw new TypeError(
      `${where}[${index}] is not a call: give { id, function: { name, arguments } }, with arguments as JSON text`,
    );
  });
}
