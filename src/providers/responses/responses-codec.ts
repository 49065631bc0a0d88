import {
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  setMember,
  textOrNull,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import { Block, type BlockKind } from "../../domain/block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Wire } from "../../domain/wire.ts";
import type { AnswerContext, Codec, Draft, RecordedAnswer, RequestParts } from "../../engine/ports/codec.ts";
import { callDraft } from "../answers/server-said.ts";
import { markedMessages } from "../caching/cache-breakpoints.ts";
import { offeredTools } from "../codec/define-codec.ts";
import { keptByGoogle } from "../codec/google-files.ts";
import { writingItems } from "../codec/item-text.ts";
import { applyResidue } from "../codec/residue.ts";
import { breakpoint, detailsOf, withCacheMembers } from "./cache-members.ts";
import { responsesPairs } from "./call-pairs.ts";
import { callIn, idRequired, kindOfItem, membersOf, statusRequired, typesOf } from "./item-kinds.ts";
import { contentFor, partRefusal, partsOf, thoughtsFor, thoughtsOf } from "./message-parts.ts";
import { brokenGroupRule } from "./reasoning-groups.ts";
import { encodeBody, encodeFrame } from "./request-body.ts";
import { countsIn, itemsOf, readAnswer, writeAnswer } from "./responses-answer.ts";
import { adjust, anchors, capable, instruct, lessonOf, offer, readsReasoning, unstored } from "./responses-settings.ts";

/**
 * Converts the items of the Responses API (OpenAI's API reference) to blocks and back. A block's payload is the item, normalised and with
 * turnlog's names. The residue is the difference between the item that the payload alone makes and the item received, so that every item
 * can be rebuilt exactly.
 */
export const responsesCodec = writingItems(
  {
    name: "openai-responses/1",
    family: "openai-responses",
    ...{ instruct, adjust, capable, offer, offeredTools, anchors, lessonOf, readsReasoning, unstored },
    pairs: responsesPairs,
    unsendableReason: refusal,
    unsendablePart: (part: JsonObject, { kind }: Block) =>
      keptByGoogle(part) ?? (isMessage(kind) ? partRefusal(kind, part) : null),
    brokenGroupRule,
    restated: (block: Block) => (isSaidAsJson(block) ? "result-as-json" : null),
    standsLast: ({ type }: Block) => type === "compaction_trigger",
    ...{ countsIn, detailsOf },
    readAnswer: (response: JsonObject, asked: AnswerContext) => readAnswer(response, asked, { draftOf }),
    writeAnswer: (answer: RecordedAnswer) => writeAnswer(answer, { encodeItem }),
    ...{ encodeRequest, itemsOf, decodeItem, encodeItem, requestItem },
  } satisfies Codec & Record<"decodeItem" | "encodeItem" | "requestItem", unknown>,
  requestItem,
);

function encodeRequest({ settings: given, input, anchor, transport, details = {} }: RequestParts): string {
  const plain = input.map(({ block, withId }, at) => ({ message: requestItem(block, { withId }), end: at + 1 }));
  const items = markedMessages(plain, { settings: given, details, form: breakpoint });
  const named = anchor?.id ?? null;
  const isInside = anchor?.kind === "conversation";
  const from = isInside ? { previousResponseId: null, conversation: named } : { previousResponseId: named };
  const { settings, lane } = withCacheMembers(given, details);
  const body = { settings, input: items, ...from };
  return transport === "websocket" ? encodeFrame(lane, body) : encodeBody({ ...body, stream: transport === "sse" });
}

function draftOf(item: JsonObject, callId?: string): Draft {
  const kind = kindOfItem(item);
  const payload = withCall(payloadOf(kind, item), item, callId);
  const { id, encrypted_content: ciphertext } = item;
  const wire: Partial<Wire> = {
    ...(isFilledText(id) && payload["id"] === undefined ? { itemId: id } : {}),
    ...(isSealed(kind) && typeof ciphertext === "string" ? { ciphertext } : {}),
    ...(item["status"] === "incomplete" ? { incomplete: true } : {}),
    ...(item["type"] === "compaction" ? { compacts: true } : {}),
  };
  const residue = residueOf({ kind, payload, wire }, item);
  return { kind, payload, wire: residue === undefined ? wire : { ...wire, residue } };
}

function decodeItem(item: JsonObject, given: Wire): Block {
  const { kind, payload, wire } = draftOf(item);
  return new Block({ id: null, kind, payload, wire: { ...given, ...wire } });
}

function encodeItem(draft: Draft): JsonObject {
  const residue = draft.wire?.residue;
  const item = applyResidue(draft, plainItem(draft));
  return isJsonObject(residue) && isJsonList(residue["order"]) ? inOrder(item, residue["order"]) : item;
}

function requestItem(block: Block, { withId }: { readonly withId: boolean }): JsonObject {
  const { type, ...members } = plainItem({ kind: block.kind, payload: block.payload, wire: null });
  const itemType = typeof type === "string" ? type : block.type;
  const item: Record<string, JsonValue> = type === undefined ? {} : { type };
  if (withId && block.wire?.itemId !== undefined) item["id"] = block.wire.itemId;
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined && value !== null && !isBookkeeping(itemType, name)) setMember(item, name, value);
  }
  if (isMessage(block.kind) && block.kind !== "assistant") delete item["phase"];
  if (isSaidAsJson(block)) item["output"] = JSON.stringify(block.payload["output"]);
  if (statusRequired.has(itemType)) item["status"] = receivedStatus(block) ?? "completed";
  if (block.wire?.ciphertext !== undefined) item["encrypted_content"] = block.wire.ciphertext;
  return item;
}

function refusal(block: Block, { withId }: { readonly withId: boolean }): string | null {
  const { type, kind, payload } = block;
  const isSentWithId = withId && block.wire?.itemId !== undefined;
  const isReference = kind === "other" && payload["type"] === undefined;
  if (!isSentWithId && (isReference || idRequired.has(type))) return `${type} cannot be sent without its id`;
  if (type === "compaction" && requestItem(block, { withId })["encrypted_content"] === undefined) {
    return "compaction cannot be sent without its encrypted content";
  }
  if (typesOf(kind).isForeign(type)) return `a block of kind ${kind} calls ${type} '${typesOf(kind).own(type)}'`;
  const names = membersOf(kind, typesOf(kind).wire(type));
  const foreign = Object.keys(payload).find(names.isForeign);
  if (foreign !== undefined) return `a block of kind ${kind} calls ${foreign} '${names.own(foreign)}'`;
  if (!isMessage(kind)) return null;
  const refusals = block.parts.map((part) => partRefusal(kind, part));
  return refusals.find((reason) => reason !== null) ?? null;
}

function payloadOf(kind: BlockKind, item: JsonObject): JsonObject {
  const payload: Record<string, JsonValue> = {};
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  const names = membersOf(kind, type);
  for (const [name, value] of Object.entries(item)) {
    if (value === undefined || value === null || isBookkeeping(type, name) || isNoContent(kind, name, value)) continue;
    setMember(payload, names.own(name), ownValue(kind, { type, name, value }));
  }
  return payload;
}

/**
 * Adds the id and the normalised arguments to the payload of a function's or a custom tool's call. The payload of an unreadable call stays
 * as it came.
 */
function withCall(payload: JsonObject, item: JsonObject, made: string | undefined): JsonObject {
  const call = callIn(item);
  if (call === null) return payload;
  const draft = callDraft(call, textOrNull(payload["callId"]) || (made ?? ""));
  if (draft === null) return payload;
  const { callId, arguments: given } = draft.payload;
  return { ...payload, ...(callId === "" ? {} : { callId }), arguments: given };
}

type Member = { readonly type: string; readonly name: string; readonly value: JsonValue };

function ownValue(kind: BlockKind, { type, name, value }: Member): JsonValue {
  if (name === "type") return typesOf(kind).own(type);
  if (isMessage(kind) && name === "content") return partsOf(value);
  if (isPartOutput(type, name) && isJsonList(value)) return partsOf(value);
  const thought = kind === "reasoning" ? thoughtTypes.get(name) : undefined;
  return thought === undefined ? value : thoughtsOf(value, thought);
}

/** The item that a payload makes without its residue, with the provider's id and what only the provider can read. */
function plainItem({ kind, payload, wire }: Draft): JsonObject {
  const issued = {
    ...(wire?.itemId === undefined ? {} : { id: wire.itemId }),
    ...(wire?.ciphertext === undefined ? {} : { encrypted_content: wire.ciphertext }),
  };
  if (isMessage(kind)) {
    const { role, content, ...rest } = payload;
    const said = content === undefined ? {} : { content: contentFor(role, content) };
    return { type: "message", role, ...said, ...rest, ...issued };
  }
  const given: JsonObject = kind === "reasoning" ? { type: "reasoning", summary: [], ...payload } : payload;
  const type = typeof given["type"] === "string" ? typesOf(kind).wire(given["type"]) : "";
  const names = membersOf(kind, type);
  const item: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) setMember(item, names.wire(name), wireValue(kind, { type, name, value }));
  return { ...item, ...issued };
}

function wireValue(kind: BlockKind, { type, name, value }: Member): JsonValue {
  if (name === "type" && typeof value === "string") return type;
  if (isPartOutput(type, name) && isJsonList(value)) return contentFor("tool", value);
  const thought = kind === "reasoning" ? thoughtTypes.get(name) : undefined;
  return thought === undefined ? value : thoughtsFor(value, thought);
}

/** The type of a reasoning's parts, by the member that holds them. */
const thoughtTypes: ReadonlyMap<string, string> = new Map([
  ["summary", "summary_text"],
  ["content", "reasoning_text"],
]);

function residueOf(content: Draft, item: JsonObject): JsonValue | undefined {
  const plain = plainItem(content);
  const difference = jsonDifference(plain, item);
  if (content.kind !== "other") return difference;
  // Items that turnlog does not understand keep the order of their members too.
  const rebuilt = applyDifference(plain, difference);
  const order = Object.keys(item);
  if (isJsonObject(rebuilt) && Object.keys(rebuilt).every((name, index) => name === order[index])) return difference;
  return isJsonObject(difference) ? { ...difference, order } : { order };
}

function inOrder(item: JsonObject, order: readonly JsonValue[]): JsonObject {
  const ordered: Record<string, JsonValue> = {};
  for (const name of order) {
    if (typeof name !== "string" || !Object.hasOwn(item, name)) continue;
    const value = item[name];
    if (value !== undefined) setMember(ordered, name, value);
  }
  return ordered;
}

/** The output of a function is a text or a list of parts, like the content of a message. */
const isPartOutput = (type: string, name: string): boolean =>
  name === "output" && (type === "function_call_output" || type === "custom_tool_call_output");

/** Whether a result is sent as JSON text, because its output is neither a text nor a list of parts. A received item is sent back as it came. */
function isSaidAsJson({ kind, type, wire, payload: { output } }: Block): boolean {
  if (wire !== null || kind !== "tool_result" || (type !== "function" && type !== "custom")) return false;
  return typeof output !== "string" && output !== undefined && resultParts(output) === null;
}

/** Members that describe an item's processing, not its content. */
function isBookkeeping(type: string, name: string): boolean {
  // Here the id names the call that is answered, and the status says whether the patch was applied. The model reads both.
  if (type === "local_shell_call_output" && name === "id") return false;
  if (type === "apply_patch_call_output" && name === "status") return false;
  return name === "id" || name === "status" || name === "created_by";
}

/** Members that a payload of this kind leaves out. */
function isNoContent(kind: BlockKind, name: string, value: JsonValue): boolean {
  // Only assistant messages may have a phase: the API answers 400 for others (as seen).
  if (isMessage(kind)) return name === "type" || (name === "phase" && kind !== "assistant");
  if (name === "encrypted_content") return isSealed(kind);
  return kind === "reasoning" && (name === "summary" || name === "content") && isJsonList(value) && value.length === 0;
}

/** The status that the item came with, if it is not that of a complete item. */
function receivedStatus({ wire }: Block): string | null {
  return textOrNull(objectOf(objectOf(wire?.residue)["set"])["status"]);
}

/** Kinds whose content the provider may encrypt. */
const isSealed = (kind: BlockKind): boolean => kind === "reasoning" || kind === "other";

const isMessage = (kind: BlockKind): boolean => kind === "user" || kind === "assistant" || kind === "system";
