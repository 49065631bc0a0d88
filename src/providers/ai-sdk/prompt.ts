import { isJsonObject, type JsonObject, type JsonValue, jsonOf, textOrEmpty } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { resultParts } from "../../domain/message-content.ts";
import { isReadAgain, metadataOf } from "./content.ts";

/**
 * Converts blocks to the messages of a prompt (`LanguageModelV4Prompt` of `@ai-sdk/provider`, files in the shape of V4): consecutive blocks
 * of the model are one message, and so are the results of its calls.
 */
export function promptOf(blocks: readonly Block[]): readonly JsonObject[] {
  const messages: { readonly role: string; readonly content: JsonObject[] | string }[] = [];
  const names = new Map<string, string>();
  const add = (role: string, part: JsonObject): void => {
    const last = messages.at(-1);
    if (last?.role === role && typeof last.content !== "string") last.content.push(part);
    else messages.push({ role, content: [part] });
  };
  for (const block of blocks) {
    const { kind, callId, name } = block;
    if (kind === "tool_call" && callId !== null) names.set(callId, name ?? "");
    if (kind === "system")
      for (const part of block.parts) messages.push({ role: "system", content: textOrEmpty(part["text"]) });
    else if (kind === "user") messages.push({ role: "user", content: block.parts.map(userPart) });
    else if (kind === "tool_result") add("tool", resultPart(block, names.get(callId ?? "") ?? ""));
    else for (const part of assistantParts(block)) add("assistant", part);
  }
  return messages;
}

/** Why a prompt cannot have the block; null if it can. */
export function refusalOf({ kind, type, payload, parts, arguments: given }: Block): string | null {
  switch (kind) {
    case "reasoning":
      return null;
    case "tool_call":
      if (type !== "function") return `the AI SDK has no call of type ${type}`;
      return jsonOf(given) === undefined && given !== ""
        ? "the AI SDK takes arguments that are JSON, and no others"
        : null;
    case "tool_result":
      // A list with other values is sent as JSON.
      return firstRefusal(resultParts(payload["output"]) ?? [], kind);
    case "other":
      return isReadAgain(payload) && isWhole(payload) ? null : `the AI SDK takes no ${type} back`;
    default: {
      return firstRefusal(parts, kind);
    }
  }
}

/** A text or thought that came without its text has nothing for a model to read. */
const isWhole = ({ type, text }: JsonObject): boolean =>
  (type !== "text" && type !== "reasoning") || typeof text === "string";

const firstRefusal = (parts: readonly JsonObject[], kind: Block["kind"]): string | null =>
  parts.map((part) => partRefusal(part, { kind })).find((reason) => reason !== null) ?? null;

/** Why a prompt cannot have the part of a block; null if it can. */
export function partRefusal(part: JsonObject, { kind }: Pick<Block, "kind">): string | null {
  if (kind === "tool_result")
    return isUserPart(part) ? null : "a tool's result has a part that the AI SDK has no form for";
  const isKnown = kind === "user" ? isUserPart(part) : isText(part);
  return isKnown ? null : `a message of ${kind} cannot carry a part of type ${textOrEmpty(part["type"])}`;
}

const isText = ({ type }: JsonObject): boolean => type === "text";

function isUserPart(part: JsonObject): boolean {
  return isText(part) || filePart(part) !== null;
}

const userPart = (part: JsonObject): JsonObject =>
  isText(part) ? { type: "text", text: part["text"] } : (filePart(part) ?? part);

/** An image, file or audio as a file; null if only another server has it. */
function filePart({ type, url, data, name, audio }: JsonObject): JsonObject | null {
  const named = typeof name === "string" ? { filename: name } : {};
  if (type === "audio" && isJsonObject(audio) && typeof audio["data"] === "string") {
    const format = textOrEmpty(audio["format"]);
    return { type: "file", mediaType: `audio/${format === "mp3" ? "mpeg" : format}`, data: inline(audio["data"]) };
  }
  if (type !== "image" && type !== "file") return null;
  const source = [url, data].find((each) => typeof each === "string");
  if (typeof source !== "string") return null;
  const [, inlineType, content] = /^data:([^;,]*);base64,(.*)$/s.exec(source) ?? [];
  const unknownType = type === "image" ? "image/*" : "application/octet-stream";
  if (content !== undefined)
    return { type: "file", ...named, mediaType: inlineType || unknownType, data: inline(content) };
  if (URL.canParse(source))
    return { type: "file", ...named, mediaType: unknownType, data: { type: "url", url: source } };
  return { type: "file", ...named, mediaType: unknownType, data: inline(source) };
}

const inline = (data: string): JsonObject => ({ type: "data", data });

function assistantParts(block: Block): readonly JsonObject[] {
  const { kind, payload, parts, name, callId, arguments: given } = block;
  const options = optionsOf(metadataOf(block));
  switch (kind) {
    case "reasoning":
      return [{ type: "reasoning", text: block.text, ...options }];
    case "tool_call":
      return [{ type: "tool-call", toolCallId: callId, toolName: name, input: inputOf(given), ...options }];
    case "other":
      return [returnedPart(payload)];
    default:
      return parts.map(({ text, refusal }) => ({ type: "text", text: textOrEmpty(text ?? refusal), ...options }));
  }
}

/** The provider's metadata of a part is sent back with it. */
const optionsOf = (metadata: JsonValue | undefined): JsonObject =>
  metadata === undefined ? {} : { providerOptions: metadata };

const inputOf = (given: string): JsonValue => (given === "" ? {} : (jsonOf(given) ?? given));

/** A part of an answer that was kept unchanged, in the form of a prompt. */
function returnedPart({ providerMetadata, ...part }: JsonObject): JsonObject {
  const { type, toolCallId, toolName, input, result, isError } = part;
  const options = optionsOf(providerMetadata);
  if (type === "tool-call")
    return { type, toolCallId, toolName, input: inputOf(textOrEmpty(input)), providerExecuted: true, ...options };
  if (type !== "tool-result") return { ...part, ...options };
  const output = { type: isError === true ? "error-json" : "json", value: result };
  return { type, toolCallId, toolName, output, ...options };
}

function resultPart({ callId, payload: { output = "" } }: Block, toolName: string): JsonObject {
  return { type: "tool-result", toolCallId: callId, toolName, output: outputOf(output) };
}

function outputOf(output: JsonValue): JsonObject {
  if (typeof output === "string") return { type: "text", value: output };
  const parts = resultParts(output);
  return parts === null ? { type: "json", value: output } : { type: "content", value: parts.map(userPart) };
}
