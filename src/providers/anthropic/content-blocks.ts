import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectOf,
  objectsOf,
  textOrEmpty,
  textOrNull,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Block, BlockKind } from "../../domain/block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Wire } from "../../domain/wire.ts";
import type { Draft } from "../../engine/ports/codec.ts";
import { contentOf, isEmptyText, partOf, partRefusal, resultContent, resultOutput } from "./content-parts.ts";

/** What a message has besides its content blocks; kept with the first of them. */
export type MessageResidue = {
  /** The content is a text. */
  readonly isText?: true;
  /** A separate message, although the one before has the same role. */
  readonly isNew?: true;
  /** Its other members. */
  readonly set?: JsonObject;
};

/** What content blocks hold beyond their draft, under a key of this codec, because drafts of other codecs have residues too. */
type Residue = {
  readonly content?: JsonValue;
  readonly message?: MessageResidue;
  readonly container?: JsonValue;
  /** What the server sent, if a request has to send the block differently. */
  readonly came?: JsonValue;
};

/** A content block of the model as a draft from which it can be restored exactly. */
export const draftOf = (content: JsonObject): Draft => draftOfAll(blockKindOf(content), [content]);

/** A call without the text of its streamed arguments, which the payload has. */
const withoutText = ({ partial_json: _, ...content }: JsonObject): JsonObject => content;

/** Makes one block from several content blocks: adjacent parts of a message. */
export function draftOfAll(kind: BlockKind, contents: readonly JsonObject[], message?: MessageResidue): Draft {
  const [first = {}] = contents;
  const draft = { kind, payload: payloadOf(kind, contents), wire: wireOf(first) };
  const left = jsonDifference(plainContent(draft), kind === "tool_call" ? contents.map(withoutText) : contents);
  if (left === undefined && message === undefined) return draft;
  const residue = { ...(left === undefined ? {} : { content: left }), ...(message === undefined ? {} : { message }) };
  return { ...draft, wire: { ...draft.wire, residue: { messages: residue } } };
}

/** Restores the content blocks that a block was made of, or makes them for a block from elsewhere. */
export function contentsOf(draft: Draft): readonly JsonObject[] {
  const contents = applyDifference(plainContent(draft), residueOf(draft).content);
  if (!isJsonList(contents) || !contents.every(isJsonObject))
    throw new Error("the residue of a block does not reproduce the content of a message");
  return contents;
}

/** Whether a result is sent as JSON text: its output is data, or a list with parts that the API does not have. */
export function isSaidAsJson(block: Block): boolean {
  if (block.kind !== "tool_result" || typeof block.payload["output"] === "string") return false;
  return contentsOf(block).some(({ content }) => typeof content === "string");
}

/** The draft of a content block that a request has to send differently: `content` is what requests send, `came` what the server sent. */
export function draftAsSaid(content: JsonObject, came: JsonObject): Draft {
  const draft = draftOf(content);
  const difference = jsonDifference(content, came);
  return difference === undefined ? draft : withResidue(draft, { came: difference });
}

/** The content block as the server sent it, made from the one that requests send. */
export const asItCame = (draft: Draft, content: JsonObject): JsonObject =>
  objectOf(applyDifference(content, residueOf(draft).came));

const withResidue = (draft: Draft, more: Residue): Draft => ({
  ...draft,
  wire: { ...draft.wire, residue: { messages: { ...residueOf(draft), ...more } } },
});

/** The residue of the message that begins with this block. */
export const messageResidue = (draft: Draft): MessageResidue => residueOf(draft).message ?? {};

/** The container in which the code of an answer runs, kept with the answer's last block; null if it named none. */
export const containerIn = (draft: Draft): string | null => textOrNull(residueOf(draft).container);

/** Keeps the container that an answer names with its last block, because a request that continues the answer has to name it. */
export function inContainer(drafts: readonly Draft[], container: JsonValue | undefined): readonly Draft[] {
  const id = isJsonObject(container) ? container["id"] : undefined;
  if (typeof id !== "string") return drafts;
  return drafts.map((draft, index) => (index < drafts.length - 1 ? draft : withResidue(draft, { container: id })));
}

function residueOf({ wire }: Draft): Residue {
  const residue = isJsonObject(wire?.residue) ? wire.residue["messages"] : undefined;
  return objectOf(residue);
}

/** The kind of a content block: one that is unknown, or not as the API describes it, is kept verbatim. */
export function blockKindOf({ type, text, id, name, input, tool_use_id: answered, ...rest }: JsonObject): BlockKind {
  switch (type) {
    case "text":
      return typeof text === "string" ? "assistant" : "other";
    case "tool_use":
      return typeof id === "string" && typeof name === "string" && isJsonObject(input) ? "tool_call" : "other";
    case "tool_result":
      return typeof answered === "string" ? "tool_result" : "other";
    case "thinking":
      return typeof rest["thinking"] === "string" && typeof rest["signature"] === "string" ? "reasoning" : "other";
    case "redacted_thinking":
      return typeof rest["data"] === "string" ? "reasoning" : "other";
    default:
      return "other";
  }
}

function payloadOf(kind: BlockKind, contents: readonly JsonObject[]): JsonObject {
  const [content = {}] = contents;
  switch (kind) {
    case "reasoning": {
      const { type, thinking } = content;
      if (type === "redacted_thinking") return { type };
      return { type: "reasoning", ...(thinking === "" ? {} : { content: [{ type: "text", text: thinking }] }) };
    }
    case "tool_call": {
      const { id, name, input, partial_json: streamed } = content;
      const given = typeof streamed === "string" ? streamed : argumentsOf(input);
      return { type: "function", callId: id, name, arguments: given };
    }
    case "tool_result":
      return { type: "function", callId: content["tool_use_id"], output: resultOutput(content["content"] ?? "") };
    case "other":
      return content;
    default:
      return { role: kind, content: contents.map(partOf) };
  }
}

function wireOf({ type, signature, data }: JsonObject): Partial<Wire> {
  const sealed = type === "thinking" ? signature : type === "redacted_thinking" ? data : undefined;
  return typeof sealed === "string" ? { ciphertext: sealed } : {};
}

/** The content that a draft makes without its residue. */
function plainContent({ kind, payload, wire }: Draft): readonly JsonObject[] {
  switch (kind) {
    case "reasoning":
      return payload["type"] === "redacted_thinking"
        ? [{ type: "redacted_thinking", data: wire?.ciphertext ?? "" }]
        : [{ type: "thinking", thinking: thoughtIn(payload), signature: wire?.ciphertext ?? "" }];
    case "tool_call":
      return [{ type: "tool_use", id: payload["callId"], name: payload["name"], input: inputOf(payload["arguments"]) }];
    case "tool_result":
      return [{ type: "tool_result", tool_use_id: payload["callId"], content: resultContent(payload["output"]) }];
    case "other":
      return [payload];
    default:
      return partsIn(payload).map(contentOf);
  }
}

const thoughtIn = ({ content }: JsonObject): string =>
  objectsOf(content)
    .map(({ text }) => textOrEmpty(text))
    .join("");

const partsIn = ({ content }: JsonObject): readonly JsonObject[] => objectsOf(content);

/** Arguments as the object that the API requires; other texts are wrapped as Anthropic's guide to streamed tool calls says. */
export function inputOf(given: JsonValue | undefined): JsonObject {
  const text = textOrEmpty(given);
  const input = jsonOf(text === "" ? "{}" : text);
  return isJsonObject(input) ? input : { INVALID_JSON: text };
}

/** The text of a call's arguments, which are an object here. */
function argumentsOf(input: JsonValue | undefined): string {
  const [name, ...others] = isJsonObject(input) ? Object.keys(input) : [];
  const invalid = isJsonObject(input) && name === "INVALID_JSON" && others.length === 0 ? input[name] : undefined;
  const isInvalid = typeof invalid === "string" && invalid !== "" && !isJsonObject(jsonOf(invalid));
  return isInvalid ? invalid : JSON.stringify(input ?? {});
}

/** Why a request cannot send a block; null if it can. */
export function refusalOf({ kind, payload, wire }: Draft): string | null {
  switch (kind) {
    case "tool_call":
    case "tool_result": {
      const { type, output } = payload;
      if (type !== "function") return `the Messages API has no ${kind} of type ${nameOf(type)}`;
      const parts = kind === "tool_result" ? (resultParts(output) ?? []) : [];
      return parts.map(partRefusal).find((reason) => reason !== null) ?? null;
    }
    case "reasoning":
    case "other":
      return null;
    default: {
      const parts = partsIn(payload);
      // What the model said without a word is left out of its message: nothing that it was answered with goes for that.
      const isModels = kind === "assistant" && wire?.group !== undefined;
      if (!isModels && parts.every(isEmptyText)) return "the Messages API takes no message that says nothing";
      return parts.map((part) => partRefusalIn(kind, part)).find((reason) => reason !== null) ?? null;
    }
  }
}

/** Why a block of this kind cannot have such a part; null if it can. */
export function partRefusalIn(kind: BlockKind, part: JsonObject): string | null {
  if (kind === "tool_result") return partRefusal(part);
  const speaker = kind === "assistant" || kind === "system" ? kind : "user";
  const isTaken = takenFrom[speaker].has(textOrEmpty(part["type"]));
  if (isTaken) return partRefusal(part);
  const who = speaker === "assistant" ? "the assistant" : `a ${speaker}`;
  return `a message of ${who} cannot carry a part of type ${nameOf(part["type"])} to the Messages API`;
}

/** The parts that each role may send: turnlog's that the API has a form for, and the API's own. */
const takenFrom = {
  assistant: new Set(["text"]),
  user: new Set(["text", "image", "file", "document", "search_result", "container_upload"]),
  system: new Set(["text", "tool_addition", "tool_removal"]),
} as const satisfies Readonly<Record<string, ReadonlySet<string>>>;

const nameOf = (type: JsonValue | undefined): string => (typeof type === "string" ? `'${type}'` : "unknown");
