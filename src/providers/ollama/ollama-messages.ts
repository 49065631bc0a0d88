import { type JsonObject, type JsonValue, objectsOf } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Draft } from "../../engine/ports/codec.ts";
import { argumentsObject } from "../answers/server-said.ts";

/** A block that messages are made of: recorded, or a draft. */
type Said = Pick<Block, "kind" | "payload"> & Pick<Draft, "wire">;

/**
 * Converts blocks to messages. Consecutive blocks of the model are one message: of adjacent messages with one role the server would keep
 * all texts, but only the first one's calls and thinking (Ollama, template/template.go).
 */
export function messagesOf(blocks: readonly Said[]): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const names = new Map<string, JsonValue>();
  let own: Said[] = [];
  const finishOwn = (): void => {
    if (own.length > 0) messages.push(assistantMessage(own));
    own = [];
  };
  for (const block of blocks) {
    const { callId, name } = block.payload;
    if (block.kind === "tool_call" && typeof callId === "string" && name !== undefined) names.set(callId, name);
    if (isModels(block)) {
      own.push(block);
      continue;
    }
    finishOwn();
    messages.push(block.kind === "tool_result" ? resultMessage(block, names) : spokenMessage(block));
  }
  finishOwn();
  return messages;
}

const isModels = ({ kind }: Said): boolean => kind === "assistant" || kind === "reasoning" || kind === "tool_call";

/** The message of the model in these blocks: thinking, then text, then calls. */
export function assistantMessage(blocks: readonly Said[]): JsonObject {
  const thoughts = blocks.filter(({ kind }) => kind === "reasoning").map(thoughtOf);
  const texts = blocks.flatMap(({ kind, payload }) => (kind === "assistant" ? [textOf(payload["content"])] : []));
  const calls = blocks.filter(({ kind }) => kind === "tool_call");
  return {
    role: "assistant",
    content: joined(texts),
    ...(thoughts.length === 0 ? {} : { thinking: joined(thoughts) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
  };
}

function spokenMessage({ kind, payload }: Said): JsonObject {
  const { content } = payload;
  // Ollama has no developer role: developer messages become system messages.
  return { role: kind === "user" ? "user" : "system", content: textOf(content), ...imagesOf(content) };
}

/** Templates use the tool's name, servers pair by id. */
function resultMessage({ payload }: Said, names: ReadonlyMap<string, JsonValue>): JsonObject {
  const { callId, output } = payload;
  const name = typeof callId === "string" ? names.get(callId) : undefined;
  return {
    role: "tool",
    content: resultText(output),
    ...(isData(output) ? {} : imagesOf(output)),
    ...(name === undefined ? {} : { tool_name: name }),
    ...(callId === undefined ? {} : { tool_call_id: callId }),
  };
}

/** Output that is neither a text nor a list of parts is sent as JSON. */
function resultText(output: JsonValue | undefined): string {
  if (typeof output === "string") return output;
  return isData(output) ? JSON.stringify(output) : textOf(output);
}

const isData = (output: JsonValue | undefined): output is JsonValue =>
  typeof output !== "string" && output !== undefined && resultParts(output) === null;

const callOf = ({ payload: { callId, name, arguments: given } }: Said): JsonObject => ({
  id: callId,
  function: { name, arguments: argumentsObject(given) ?? {} },
});

/** Adjacent texts are separated by an empty line, as the server does with messages. */
const joined = (texts: readonly string[]): string => texts.filter((text) => text !== "").join("\n\n");

const textOf = (parts: JsonValue | undefined): string =>
  joined(objectsOf(parts).flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])));

const thoughtOf = ({ payload: { summary, content } }: Said): string => joined([summary, content].map(textOf));

function imagesOf(parts: JsonValue | undefined): { readonly images?: readonly string[] } {
  const images = objectsOf(parts).flatMap((part) => (part["type"] === "image" ? (imageData(part) ?? []) : []));
  return images.length === 0 ? {} : { images };
}

/** The bytes of an image in base64; null if it is stored elsewhere. */
function imageData({ url }: JsonObject): string | null {
  return typeof url === "string" ? (/^data:[^,]*;base64,(.*)$/s.exec(url)?.[1] ?? null) : null;
}

/** Why a message cannot send the block; null if it can. */
export function refusalOf(block: Block): string | null {
  const { kind, payload, type } = block;
  switch (kind) {
    case "reasoning":
      return thoughtOf(block) === ""
        ? "Ollama takes thinking as text, and the provider that gave this one shows none"
        : null;
    case "tool_call":
      if (type !== "function") return `Ollama has no call of type ${type}`;
      return argumentsObject(payload["arguments"]) === null
        ? "Ollama takes the arguments of a call as a JSON object"
        : null;
    case "tool_result":
      return firstRefusal(resultParts(payload["output"]) ?? [], block);
    case "other":
      return `Ollama has nothing like ${type}`;
    default:
      return firstRefusal(block.parts, block);
  }
}

const firstRefusal = (parts: readonly JsonObject[], block: Block): string | null =>
  parts.map((part) => partRefusal(part, block)).find((reason) => reason !== null) ?? null;

/** Why a message cannot send the part of a block; null if it can. */
export function partRefusal(part: JsonObject, { kind }: Pick<Block, "kind">): string | null {
  const { type } = part;
  if (type === "text") return null;
  if (type !== "image" || kind === "assistant" || kind === "system")
    return `a message of ${kind === "tool_result" ? "tool" : kind} cannot carry a part of type ${typeof type === "string" ? type : "unknown"} to Ollama`;
  return imageData(part) === null ? "Ollama takes images by their data, not by address or file id" : null;
}

/**
 * What a message does not preserve, by name: the order of thinking, texts and calls, the boundaries of joined texts and thinking, the
 * position of images, the developer's role, output that becomes JSON. Null if nothing is lost.
 */
export function restated({ kind, role, parts, payload }: Block, before: Block | null): string | null {
  if (role === "developer") return "role";
  if (kind === "tool_result" && isData(payload["output"])) return "result-as-json";
  const all = kind === "tool_result" ? objectsOf(payload["output"]) : parts;
  if (all.length > 1) return "joined-parts";
  const [place, last] = [places.get(kind), before === null ? undefined : places.get(before.kind)];
  if (place === undefined || last === undefined) return null;
  if (place < last) return "order";
  return place === last && kind !== "tool_call" ? "joined-message" : null;
}

/** The order within a message. */
const places: ReadonlyMap<Block["kind"], number> = new Map([
  ["reasoning", 0],
  ["assistant", 1],
  ["tool_call", 2],
]);
