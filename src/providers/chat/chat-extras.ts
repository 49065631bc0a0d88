import {
  isFilledText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectOf,
  objectsOf,
} from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { text } from "../../domain/make-block.ts";
import type { Draft } from "../../engine/ports/codec.ts";

/**
 * Members that the server expects back unchanged: the extras of a call (Gemini's signature of a thought), and reasoning in details
 * (OpenRouter).
 */
type Extras = { readonly call?: JsonObject; readonly hasDetails?: true };

type Said = Pick<Block, "kind"> & { readonly wire?: Draft["wire"] };

const extrasOf = ({ wire }: Said): Extras => objectOf(objectOf(wire?.residue)["chat"]);

/** Keeps the `extra_content` of a call, if the server sent one. */
export const withExtras = (draft: Draft, { extra_content: extras }: JsonObject): Draft =>
  isJsonObject(extras) ? { ...draft, wire: { residue: { chat: { call: extras } } } } : draft;

/** The extras of a call in a message; empty if the server sent none, or another server sent them. */
export function callExtras(block: Said): JsonObject {
  const { call } = extrasOf(block);
  return call === undefined ? {} : { extra_content: call };
}

/** Reasoning that came in details. Its text is taken from them if the message has no other; null if there are no details. */
export function detailedReasoning(details: JsonValue | undefined, thought: string | undefined): Draft | null {
  const list = objectsOf(details);
  if (list.length === 0) return null;
  const shown = list.flatMap((detail) => [detail["text"], detail["summary"]].filter(isFilledText)).join("");
  const said = thought ?? shown;
  const payload = { type: "reasoning", summary: said === "" ? [] : [text(said)] };
  return {
    ...{ kind: "reasoning", payload },
    wire: { ciphertext: JSON.stringify(list), residue: { chat: { hasDetails: true } } },
  };
}

/** Whether reasoning came in details. */
export const hasDetails = (block: Said): boolean => block.kind === "reasoning" && extrasOf(block).hasDetails === true;

/** The details of a message's reasoning, unchanged. */
export function detailsIn(thoughts: readonly Said[]): JsonObject {
  const details = thoughts.filter(hasDetails).flatMap(({ wire }) => objectsOf(jsonOf(wire?.ciphertext ?? "")));
  return details.length === 0 ? {} : { reasoning_details: details };
}

/** Whether a block has extras that only the server of their origin can use. */
export const isSigned = (block: Said): boolean => extrasOf(block).call !== undefined;

/** The block without them. */
export const unsigned = (block: Block): Block =>
  block.wire === null ? block : block.withWire({ ...block.wire, residue: {} });
