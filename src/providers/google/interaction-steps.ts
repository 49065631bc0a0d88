import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectOf,
  objectsOf,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Draft, SentBlock } from "../../engine/ports/codec.ts";
import { argumentsObject, callDraft } from "../answers/server-said.ts";
import { isPartList, type Said } from "./gemini-parts.ts";
import { mediaFor, mediaIn } from "./media-parts.ts";

/** Blocks as the steps of an interaction, one step each; a result names its call's function. */
export function stepsOf(blocks: readonly SentBlock[]): readonly JsonObject[] {
  const names = new Map<string, string>();
  return blocks.map(({ block, standIn = false, called }) => {
    const { kind, callId, name } = block;
    if (kind === "tool_call" && callId !== null && name !== null) names.set(callId, name);
    const step = stepOf(block, kind === "tool_result" ? (names.get(callId ?? "") ?? called) : undefined);
    return standIn ? unsigned(step) : step;
  });
}

/** The step without another endpoint's signature. */
const unsigned = ({ signature: _, ...step }: JsonObject): JsonObject => step;

/** Whether the step has another endpoint's signature, without which it can be sent anywhere. */
export const isSignedStep = (block: Said): boolean => typeof stepOf(block)["signature"] === "string";

/** The step of a block. A block from an interaction has the signatures and unknown members in its residue. */
function stepOf(block: Said, name?: string): JsonObject {
  const { interactions } = objectOf(block.wire?.residue);
  const step = applyDifference(plainStep(block, name), interactions);
  if (isJsonObject(step)) return step;
  throw new Error("the residue of a block does not reproduce a step");
}

/** The step as the server sent it, even where a request has to send it differently. */
export const stepAsSaid = (block: Said): JsonObject =>
  objectOf(applyDifference(stepOf(block), objectOf(block.wire?.residue)["interactionsCame"]));

/** The step of an answer as a block from which it can be restored exactly. */
export function draftOf(said: JsonObject, callId: string): Draft {
  const draft = plainDraft(said, callId);
  const step = draft.kind === "tool_call" ? sendable(said, draft) : said;
  const interactions = jsonDifference(plainStep(draft), step);
  const interactionsCame = jsonDifference(step, said);
  const residue = definedMembers({ interactions, interactionsCame });
  return Object.keys(residue).length === 0 ? draft : { ...draft, wire: { residue } };
}

/** A call as a request may send it: with an id, and arguments that are an object. */
const sendable = (step: JsonObject, { payload }: Draft): JsonObject => ({
  ...step,
  ...{ id: payload["callId"], arguments: argumentsObject(payload["arguments"]) ?? {} },
});

function plainStep({ kind, payload }: Said, name?: string): JsonObject {
  switch (kind) {
    case "reasoning": {
      const summary = [payload["summary"], payload["content"]].flatMap(objectsOf).flatMap(contentFor);
      return { type: "thought", ...(summary.length === 0 ? {} : { summary }) };
    }
    case "tool_call": {
      const { callId = "", name: called = "", arguments: given } = payload;
      const args = typeof given === "string" ? (jsonOf(given) ?? {}) : {};
      return { type: "function_call", id: callId, name: called, arguments: args };
    }
    case "tool_result": {
      const { callId = "", output = null } = payload;
      return {
        type: "function_result",
        ...(name === undefined ? {} : { name }),
        call_id: callId,
        result: resultFor(output),
      };
    }
    case "other":
      return payload;
    case "assistant":
      return { type: "model_output", content: objectsOf(payload["content"]).flatMap(contentFor) };
    default:
      return { type: "user_input", content: objectsOf(payload["content"]).flatMap(contentFor) };
  }
}

/** Whether a result is sent as JSON text: a number, or a list of other values than parts. */
export const isSaidAsJson = ({ kind, payload: { output = null } }: Said): boolean =>
  kind === "tool_result" && typeof output !== "string" && !isJsonObject(output) && !isPartList(output);

/** A text, an object, or parts; another list becomes its JSON text. */
function resultFor(output: JsonValue): JsonValue {
  if (typeof output === "string" || isJsonObject(output)) return output;
  if (!isPartList(output)) return JSON.stringify(output);
  const content = output.flatMap(contentFor);
  return content.length === 0 ? "" : content;
}

/** A part in the form of interactions; empty for an empty text, and for a part without such a form. */
function contentFor(part: JsonObject): readonly JsonObject[] {
  const { type, text = part["refusal"] } = part;
  if (type === "text" || type === "refusal") return text === "" ? [] : [{ type: "text", text }];
  const { inlineData: inline, fileData: file } = mediaFor(part) ?? {};
  if (isJsonObject(inline)) {
    const { mimeType, data } = inline;
    const [family = ""] = typeof mimeType === "string" ? mimeType.split("/") : [];
    return [{ type: families.has(family) ? family : "document", data: data ?? "", mime_type: mimeType ?? "" }];
  }
  return isJsonObject(file) ? [{ type: type === "image" ? "image" : "document", uri: file["fileUri"] ?? "" }] : [];
}

const families: ReadonlySet<string> = new Set(["image", "audio", "video"]);

/** The content of an interaction as a message part; null if turnlog has no such part. */
function partIn({ type, text, data, mime_type: mimeType, uri }: JsonObject): JsonObject | null {
  if (type === "text" && typeof text === "string") return { type: "text", text };
  if (typeof data === "string" && typeof mimeType === "string") return mediaIn({ inlineData: { mimeType, data } });
  if (typeof uri !== "string" || (type !== "image" && type !== "document")) return null;
  return { type: type === "image" ? "image" : "file", url: uri };
}

function plainDraft(step: JsonObject, callId: string): Draft {
  const { type, name, arguments: given, content } = step;
  if (type === "thought") {
    const summary = objectsOf(step["summary"]).flatMap((part) => {
      const text = part["type"] === "text" ? partIn(part) : null;
      return text === null ? [] : [text];
    });
    return { kind: "reasoning", payload: { type: "reasoning", summary } };
  }
  const called = type === "function_call" ? callDraft({ name, arguments: given }, callId) : null;
  if (called !== null) return called;
  const parts = objectsOf(content).map(partIn);
  const said = parts.filter((part) => part !== null);
  // If the type of one part is unknown, the others are read, and the residue keeps it.
  const isMessage = isJsonList(content) && (said.length > 0 || content.length === 0);
  if (isMessage && type === "model_output") return { kind: "assistant", payload: { role: "assistant", content: said } };
  if (isMessage && type === "user_input") return { kind: "user", payload: { role: "user", content: said } };
  return { kind: "other", payload: typeof type === "string" ? step : { type: "step", ...step } };
}
