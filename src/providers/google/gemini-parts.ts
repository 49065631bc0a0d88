import {
  definedMembers,
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectOf,
  objectsOf,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Block, BlockKind } from "../../domain/block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Draft } from "../../engine/ports/codec.ts";
import { argumentsObject, callDraft } from "../answers/server-said.ts";
import { mediaFor, mediaIn, mediaRefusal } from "./media-parts.ts";

/** A block that parts are made of: recorded, or a draft. */
export type Said = Pick<Block, "kind" | "payload"> & { readonly wire?: Draft["wire"] };

/** The parts of a block. A block from Gemini has the signatures and unknown members in its residue. */
export function partsOf(block: Said, named: Naming = {}): readonly JsonObject[] {
  const { google, googleMore: more } = residueOf(block);
  const parts = applyDifference(plainParts(block, named), google);
  return [parts, more].flatMap(objectsOf);
}

/** The parts as the server sent them, even where a request has to send them differently. */
export const partsAsSaid = (block: Said): readonly JsonObject[] =>
  objectsOf(applyDifference(partsOf(block), residueOf(block)["googleCame"]));

/** The name of the function that a result answers, which only its call has. */
export type Naming = { readonly name?: string };

/** The residue in this dialect, if the block has one; the residues of other dialects are ignored. */
const residueOf = ({ wire }: Said): JsonObject => objectOf(wire?.residue);

/** The parts of a candidate's content. */
export const partsIn = (candidate: JsonValue | undefined): readonly JsonObject[] =>
  objectsOf(objectOf(objectOf(candidate)["content"])["parts"]);

/** Makes a block from which its parts can be restored exactly. */
export function keepParts(draft: Draft, parts: readonly JsonObject[], named: Naming = {}): Draft {
  const plain = plainParts(draft, named);
  const length = plain.length === 0 ? parts.length : plain.length;
  const google = jsonDifference(plain, parts.slice(0, length));
  const more = parts.slice(length);
  if (google === undefined && more.length === 0) return draft;
  const residue = { ...(google === undefined ? {} : { google }), ...(more.length === 0 ? {} : { googleMore: more }) };
  return { ...draft, wire: { ...draft.wire, residue } };
}

/** The parts that a payload makes without its residue. */
function plainParts({ kind, payload }: Said, { name = "" }: Naming): readonly JsonObject[] {
  switch (kind) {
    case "reasoning":
      return [payload["summary"], payload["content"]].flatMap(textsIn).map((text) => ({ text, thought: true }));
    case "tool_call": {
      const { callId, name: called, arguments: given } = payload;
      const args = typeof given === "string" ? (jsonOf(given) ?? {}) : {};
      return [{ functionCall: { ...idFor(callId), name: called, args } }];
    }
    case "tool_result": {
      const { callId, output } = payload;
      return [{ functionResponse: { ...idFor(callId), name, ...responseFor(output ?? null) } }];
    }
    case "other": {
      const { type: _, ...part } = payload;
      return [part];
    }
    default:
      return contentOf(payload).flatMap(messagePart);
  }
}

const messagePart = (part: JsonObject): readonly JsonObject[] => {
  const { type, text = part["refusal"] } = part;
  if (type !== "text" && type !== "refusal") return each(part, mediaFor);
  return text === "" ? [] : [{ text }];
};

const each = (part: JsonObject, read: (part: JsonObject) => JsonObject | null): readonly JsonObject[] => {
  const found = read(part);
  return found === null ? [] : [found];
};

const contentOf = ({ content }: JsonObject): readonly JsonObject[] => objectsOf(content);

function textsIn(parts: JsonValue | undefined): readonly string[] {
  if (!isJsonList(parts)) return [];
  return parts.flatMap((part) => (isJsonObject(part) && typeof part["text"] === "string" ? [part["text"]] : []));
}

/** A text, or a value without a form of its own, goes under `output`; images and files go beside it. */
function responseFor(output: JsonValue): JsonObject {
  if (!isPartList(output)) return { response: { output } };
  const texts = textsIn(output);
  const media = output.flatMap((part) => each(part, mediaFor));
  const response = texts.length === 0 ? {} : { output: texts.join("\n\n") };
  return media.length === 0 ? { response } : { response, parts: media };
}

/** Whether a tool's output is a list of parts, not other JSON. */
export const isPartList = (output: JsonValue): output is readonly JsonObject[] =>
  (resultParts(output) ?? []).length > 0;

const partTypes: ReadonlySet<string> = new Set(["text", "image", "file", "audio"]);

/** Ids of calls are optional: turnlog marks an id that it makes, and does not send it. */
const madeId = "turnlog_";
const idMadeFor = (tag: string, n: number): string => `${madeId}${tag.replace(/[^a-zA-Z0-9_]/g, "_")}_${n}`;
const idFor = (callId: JsonValue | undefined): JsonObject =>
  typeof callId !== "string" || callId.startsWith(madeId) ? {} : { id: callId };

/** Each part of the model's content as a block; an empty text with a signature belongs to the part before it. */
export function draftsOf(parts: readonly JsonObject[], tag: string): readonly Draft[] {
  const drafts: Draft[] = [];
  for (let place = 0; place < parts.length; ) {
    const part = parts[place] ?? {};
    let end = place + 1;
    while (isCarrier(parts[end])) end += 1;
    const said = parts.slice(place, end);
    const sent = said.map(sendable);
    const draft = keepParts(plainDraft(part, idMadeFor(tag, place)), sent);
    const came = jsonDifference(sent, said);
    const residue = { ...objectOf(draft.wire?.residue), ...(came === undefined ? {} : { googleCame: came }) };
    drafts.push(came === undefined ? draft : { ...draft, wire: { ...draft.wire, residue } });
    place = end;
  }
  return drafts;
}

/** A part as a request may send it: the arguments of a call are an object, and its id is not empty. */
function sendable(part: JsonObject): JsonObject {
  const { functionCall: call } = part;
  if (!isJsonObject(call)) return part;
  const { id, args, ...others } = call;
  const given = args === undefined || isJsonObject(args) ? args : (argumentsObject(args) ?? {});
  return { ...part, functionCall: definedMembers({ ...others, id: isFilledText(id) ? id : undefined, args: given }) };
}

/** The parts of an answer that are calls, but unreadable ones. */
export const unreadCalls = (parts: readonly JsonObject[]): readonly JsonObject[] =>
  parts.filter((part) => (part["functionCall"] ?? null) !== null && plainDraft(part, madeId).kind !== "tool_call");

const isCarrier = (part: JsonObject | undefined): boolean =>
  part?.["text"] === "" && typeof part["thoughtSignature"] === "string";

function plainDraft(part: JsonObject, ownId: string): Draft {
  const { text, thought, functionCall: call } = part;
  const { id, name, args } = objectOf(call);
  const called = isJsonObject(call) ? callDraft({ name, arguments: args }, isFilledText(id) ? id : ownId) : null;
  if (called !== null) return called;
  if (typeof text === "string" && thought === true)
    return { kind: "reasoning", payload: { type: "reasoning", summary: [{ type: "text", text }] } };
  const said = typeof text === "string" ? { type: "text", text } : thought === true ? null : mediaIn(part);
  return said === null ? verbatim(part) : { kind: "assistant", payload: { role: "assistant", content: [said] } };
}

/** A part that only Gemini understands, named by its first member. */
export function verbatim(part: JsonObject): Draft {
  const { type: _, ...members } = part;
  return { kind: "other", payload: { type: Object.keys(members)[0] ?? "part", ...members } };
}

/** A part of the user's as a message part; null for other parts. */
export const userPart = (part: JsonObject): JsonObject | null =>
  typeof part["text"] === "string" ? { type: "text", text: part["text"] } : mediaIn(part);

/** A function's result as a block, for the call with this id. */
export function resultDraft(part: JsonObject, callId: string): Draft {
  const { name, response, parts } = objectOf(part["functionResponse"]);
  const told = objectOf(response);
  const { output, ...others } = told;
  const isPlain = typeof output === "string" && Object.keys(others).length === 0;
  const text = isPlain ? output : Object.keys(told).length === 0 ? null : JSON.stringify(told);
  const media = objectsOf(parts).flatMap((part) => each(part, mediaIn));
  const said = text === null ? [] : [{ type: "text", text }];
  const payload = { type: "function", callId, output: media.length === 0 ? (text ?? "") : [...said, ...media] };
  return keepParts({ kind: "tool_result", payload }, [part], typeof name === "string" ? { name } : {});
}

/** Why a request cannot send the block, in words for people; null if it can. */
export function refusalOf({ kind, payload, type, wire, name }: Block): string | null {
  switch (kind) {
    case "tool_call": {
      if (type !== "function") return `Gemini has no call of type ${type}`;
      return argumentsObject(payload["arguments"]) !== null
        ? null
        : `Gemini takes a JSON object as arguments; those of ${name ?? "the call"} are none`;
    }
    case "tool_result": {
      const { output = null } = payload;
      return isPartList(output) ? firstRefusal(output) : null;
    }
    case "system":
    case "user":
    case "assistant": {
      const refused = firstRefusal(contentOf(payload));
      const isEmpty = partsOf({ kind, payload, wire }).every(
        ({ text, thoughtSignature: signed }) => text === "" && !signed,
      );
      return refused ?? (isEmpty ? "Gemini takes no message that says nothing" : null);
    }
    default:
      return null;
  }
}

const firstRefusal = (parts: readonly JsonObject[]): string | null =>
  parts.map(partRefusal).find((reason) => reason !== null) ?? null;

/** Why a request cannot send such a part; null if it can. */
export function partRefusal(part: JsonObject): string | null {
  const { type } = part;
  if (type === "text" || type === "refusal") return null;
  if (typeof type === "string" && partTypes.has(type)) return mediaRefusal(part);
  return `Gemini has no part of type ${typeof type === "string" ? type : "unknown"}`;
}

/** Why a block is sent in another form: instructions within a conversation become the user's text, and a refusal becomes the model's. */
export function restatedRule({ kind, payload }: Block): string | null {
  if (kind === "system") return "system-as-user";
  return kind === "assistant" && contentOf(payload).some(({ type }) => type === "refusal") ? "refusal-as-text" : null;
}

/** Whether the block came with a signature. */
export const isSigned = (block: Said): boolean =>
  partsOf(block).some(({ thoughtSignature }) => typeof thoughtSignature === "string");

export const kindOfSpeaker = (kind: BlockKind): "model" | "user" =>
  kind === "user" || kind === "tool_result" || kind === "system" ? "user" : "model";
