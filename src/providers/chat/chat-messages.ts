import { type JsonObject, type JsonValue, listOf, objectOf, objectsOf } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Block } from "../../domain/block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Draft } from "../../engine/ports/codec.ts";
import type { EndedMessage } from "../caching/cache-breakpoints.ts";
import type { ChatDialect } from "./chat-dialects.ts";
import { callExtras, detailsIn, hasDetails } from "./chat-extras.ts";

/** A block that messages are made of: recorded, or a draft. */
type Said = Pick<Block, "kind" | "payload"> & { readonly wire?: Draft["wire"] };

/**
 * Converts blocks to messages, each with the number of blocks up to its end. Consecutive blocks of the model are one message, because its calls have to be in one; but a text after a
 * text begins another message.
 */
export function endedMessages(blocks: readonly Said[], dialect: ChatDialect): readonly EndedMessage[] {
  const messages: EndedMessage[] = [];
  let own: Said[] = [];
  const finishOwn = (end: number): void => {
    if (own.length > 0) messages.push({ message: assistantMessage(own, dialect), end });
    own = [];
  };
  for (const [at, block] of blocks.entries()) {
    if (!isModels(block)) {
      finishOwn(at);
      messages.push({ message: otherMessage(block, dialect), end: at + 1 });
      continue;
    }
    const hasSpoken = own.some(({ kind }) => kind === "assistant");
    const hasCalled = own.some(({ kind }) => kind === "tool_call");
    // Results have to follow calls directly, so a block after a call joins the call's message.
    if (!hasCalled && hasSpoken && block.kind !== "tool_call") finishOwn(at);
    own.push(block);
  }
  finishOwn(blocks.length);
  return messages;
}

const isModels = ({ kind }: Said): boolean => kind === "assistant" || kind === "reasoning" || kind === "tool_call";

/** The message of the model in these blocks. */
export function assistantMessage(blocks: readonly Said[], dialect: ChatDialect): JsonObject {
  const thoughts = blocks.filter(({ kind }) => kind === "reasoning");
  const parts = blocks.flatMap(({ kind, payload }) => (kind === "assistant" ? partsIn(payload) : []));
  const calls = blocks.filter(({ kind }) => kind === "tool_call");
  const { reasoningMember: member, hasThinkingParts } = dialect;
  const thinking = hasThinkingParts === true ? thoughts.filter((each) => !hasDetails(each)).map(thinkingPart) : [];
  const refusal = parts.find(({ type }) => type === "refusal")?.["refusal"];
  const said = parts.filter(({ type }) => type !== "refusal").map(wirePart);
  return {
    role: "assistant",
    content: contentOf([...thinking, ...said]),
    ...(refusal === undefined ? {} : { refusal }),
    ...(member === null || thoughts.length === 0 ? {} : { [member]: thoughts.map(thoughtOf).join("\n\n") }),
    ...detailsIn(thoughts),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
  };
}

function otherMessage({ kind, payload }: Said, dialect: ChatDialect): JsonObject {
  if (kind !== "tool_result") {
    const { role = "user" } = payload;
    const told = role === "developer" && dialect.isOpenai !== true ? "system" : role;
    return { role: told, content: contentOf(partsIn(payload).map(wirePart)) };
  }
  const { callId, output } = payload;
  return { role: "tool", tool_call_id: callId, content: resultContent(output) };
}

/** A tool's result is a text on this wire: output that is not a list of parts becomes JSON. Unsendable parts are left out before. */
function resultContent(output: JsonValue | undefined): JsonValue {
  if (typeof output === "string") return output;
  const parts = resultParts(output);
  if (parts === null) return output === undefined ? "" : JSON.stringify(output);
  return contentOf(parts.map(wirePart)) ?? "";
}

/** A single text is sent as a text, no parts as null. */
function contentOf(parts: readonly JsonObject[]): JsonValue {
  const [only] = parts;
  if (only === undefined) return null;
  const { type, text, ...more } = only;
  const isPlain = parts.length === 1 && type === "text" && Object.keys(more).length === 0;
  return isPlain && text !== undefined ? text : parts;
}

function callOf(call: Said): JsonObject {
  const { type, callId: id, name, arguments: given, input } = call.payload;
  return type === "custom"
    ? { id, type: "custom", custom: { name, input: input ?? given }, ...callExtras(call) }
    : { id, type: "function", function: { name, arguments: given }, ...callExtras(call) };
}

/** The call id in a form that the server accepts. */
export function callIdFor(callId: string, { callIds }: ChatDialect): string {
  if (callIds === undefined || callIds.taken.test(callId)) return callId;
  return sha256Hex(`turnlog/call/v1\n${callId}`).slice(0, callIds.length);
}

/** What a message changes: the developer's role, the position of a block after a call, and output that becomes JSON. */
export function restated(
  { kind, role, payload: { output } }: Block,
  before: Block | null,
  { isOpenai }: ChatDialect,
): string | null {
  if (role === "developer" && isOpenai !== true) return "role";
  const isData = kind === "tool_result" && typeof output !== "string" && output !== undefined;
  if (isData && resultParts(output) === null) return "result-as-json";
  return (kind === "assistant" || kind === "reasoning") && before?.kind === "tool_call" ? "order" : null;
}

const thoughtOf = ({ payload }: Said): string => [payload["summary"], payload["content"]].flatMap(textsIn).join("\n\n");

const thinkingPart = ({ payload, wire }: Said): JsonObject => ({
  type: "thinking",
  thinking: [payload["summary"], payload["content"]].flatMap(textsIn).map((text) => ({ type: "text", text })),
  ...(wire?.ciphertext === undefined ? {} : { signature: wire.ciphertext }),
});

const partsIn = ({ content }: JsonObject): readonly JsonObject[] => objectsOf(content);

const textsIn = (parts: JsonValue | undefined): readonly string[] =>
  listOf(parts).flatMap((part) => {
    const said = objectOf(part)["text"];
    return typeof said === "string" ? [said] : [];
  });

/** A part of a message in the form of this wire; an unknown part stays as it is. */
function wirePart(part: JsonObject): JsonObject {
  const { type, url, detail, fileId, name, data, audio } = part;
  if (type === "image" && url !== undefined)
    return { type: "image_url", image_url: { url, ...(detail === undefined ? {} : { detail }) } };
  if (type === "file" && fileId !== undefined) return { type: "file", file: { file_id: fileId } };
  if (type === "file") return { type: "file", file: { filename: name, file_data: data } };
  return type === "audio" ? { type: "input_audio", input_audio: audio } : part;
}

/** Why a message cannot send the block; null if it can. */
export function refusalOf(
  block: Block,
  { reasoningMember, hasThinkingParts, codec, isOpenai }: ChatDialect,
): string | null {
  const { kind, payload, type } = block;
  const wire = codec.replace(/\/[^/]*$/, "");
  switch (kind) {
    case "reasoning":
      return reasoningMember === null && hasThinkingParts !== true && !hasDetails(block)
        ? `${wire} takes no reasoning back`
        : null;
    case "tool_call":
      return type === "function" || (type === "custom" && isOpenai === true)
        ? null
        : `${wire} has no call of type ${type}`;
    case "tool_result":
      return null;
    case "other":
      return `${wire} has nothing like ${type}`;
    default: {
      const refused = partsIn(payload).map((part) => partRefusal(part, block, wire));
      return refused.find((reason) => reason !== null) ?? null;
    }
  }
}

/** Why a message cannot send the part of a block; null if it can. */
export function partRefusal(part: JsonObject, { kind }: Pick<Block, "kind">, wire: string): string | null {
  if (kind === "tool_result") return part["type"] === "text" ? null : isNoText(wire);
  const known = partTypes[kind === "user" ? "user" : kind === "assistant" ? "assistant" : "system"];
  const isKnown = known.has(typeName(part)) && !isRemote(part);
  return isKnown ? null : `a message of ${kind} cannot carry a part of type ${typeName(part)} in ${wire}`;
}

const isNoText = (wire: string): string => `a tool's result is text in ${wire}`;

const partTypes = {
  user: new Set<string>(["text", "image", "file", "audio"]),
  assistant: new Set(["text", "refusal"]),
  system: new Set(["text"]),
} as const satisfies Readonly<Record<string, ReadonlySet<string>>>;

const typeName = ({ type }: JsonObject): string => (typeof type === "string" ? type : "unknown");
/** This wire has no form for images stored at another server, or for files at an address. */
const isRemote = ({ type, url, fileId }: JsonObject): boolean =>
  (type === "image" && url === undefined) || (type === "file" && fileId === undefined && url !== undefined);
