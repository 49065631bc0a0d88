import type { ScriptedAnswer } from "../answers.ts";
import { chunks } from "../frames.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";

/** The members of a response except its parts. */
export interface ResponseHead {
  readonly id: string;
  readonly model: string;
  readonly usage: JsonObject;
}

/**
 * The parts of scripted items, signed as Gemini signs: the first call or, without calls, the last part after reasoning.
 * Throws for an item that no model of Google's could produce.
 */
export function partsFor({ output }: ScriptedAnswer, sign: () => string): readonly JsonObject[] {
  const parts = output.flatMap(({ item }): readonly JsonObject[] => {
    switch (item["type"]) {
      case "reasoning":
        return [...textsIn(item["summary"]), ...textsIn(item["content"])].map((text) => ({ text, thought: true }));
      case "message":
        return objectsOf(item["content"]).map(({ text, refusal }) => ({ text: text ?? refusal ?? "" }));
      case "function_call":
        return [{ functionCall: callOf(item) }];
      default:
        throw new Error(`a model of Google's does not say ${stringOf(item["type"]) ?? "this"}`);
    }
  });
  const call = parts.findIndex((part) => "functionCall" in part);
  const hasThought = parts.some(({ thought }) => thought === true);
  const signed = call >= 0 ? call : hasThought ? parts.length - 1 : -1;
  return parts.map((part, place) => (place === signed ? { ...part, thoughtSignature: sign() } : part));
}

export const textsIn = (parts: Json | undefined): readonly string[] =>
  (isArray(parts) ? objectsOf(parts) : []).flatMap(({ text }) => (typeof text === "string" ? [text] : []));

export function callOf(item: JsonObject): JsonObject {
  // JSON.parse returns only JSON values.
  const args = JSON.parse(stringOf(item["arguments"]) ?? "{}") as Json;
  if (!isObject(args)) throw new Error("a model of Google's gives a call its arguments as an object");
  const { call_id: id, name = "" } = item;
  return { name, args, ...(id === undefined ? {} : { id }) };
}

export const finishOf = ({ status, incompleteDetails }: ScriptedAnswer): string =>
  status !== "incomplete" ? "STOP" : incompleteDetails?.reason === "content_filter" ? "SAFETY" : "MAX_TOKENS";

/** The response as one JSON object. */
export const responseBody = (head: ResponseHead, parts: readonly JsonObject[], finishReason: string): JsonObject =>
  withHead(head, { content: { parts, role: "model" }, finishReason, index: 0 });

/** The same as the chunks of a stream: texts in pieces, with the signature on an empty text, and calls as a whole. */
export function responseChunks(
  head: ResponseHead,
  parts: readonly JsonObject[],
  { finishReason, deltaLength }: { readonly finishReason: string; readonly deltaLength: number },
): readonly JsonObject[] {
  const pieces = parts.flatMap((part): readonly JsonObject[] => {
    const { text, thoughtSignature, ...others } = part;
    if (typeof text !== "string") return [part];
    const said = chunks(text, deltaLength).map((piece) => ({ ...others, text: piece }));
    return thoughtSignature === undefined ? said : [...said, { ...others, text: "", thoughtSignature }];
  });
  const all = pieces.length === 0 ? [{ text: "" }] : pieces;
  return all.map((part, n) =>
    withHead(head, {
      content: { parts: [part], role: "model" },
      ...(n === all.length - 1 ? { finishReason } : {}),
      index: 0,
    }),
  );
}

const withHead = ({ id, model, usage }: ResponseHead, candidate: JsonObject): JsonObject => ({
  candidates: [candidate],
  ...{ usageMetadata: usage, modelVersion: model, responseId: id },
});
