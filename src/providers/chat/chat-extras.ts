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
import type { Draft } from "../../engine/stack/codec.ts";

/** What a server wants back as it gave it: the extras of a call (a thought's signature, of Gemini), and reasoning in details (OpenRouter). */
type Extras = { readonly call?: JsonObject; readonly hasDetails?: true };

type Said = Pick<Block, "kind"> & { readonly wire?: Draft["wire"] };

const extrasOf = ({ wire }: Said): Extras => objectOf(objectOf(wire?.residue)["chat"]);

/** A call with its `extra_content`, where the server gave one. */
export const withExtras = (draft: Draft, { extra_content: extras }: JsonObject): Draft =>
  isJsonObject(extras) ? { ...draft, wire: { residue: { chat: { call: extras } } } } : draft;

/** What stands beside a call in a message; nothing where the server said nothing, and where another one said it. */
export function callExtras(block: Said): JsonObject {
  const { call } = extrasOf(block);
  return call === undefined ? {} : { extra_content: call };
}

/** Reasoning that came in details: its text is what they show, where the message has none beside them; null where there are no details. */
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

/** The details of a message's reasoning, as they came. */
export function detailsIn(thoughts: readonly Said[]): JsonObject {
  const details = thoughts.filter(hasDetails).flatMap(({ wire }) => objectsOf(jsonOf(wire?.ciphertext ?? "")));
  return details.length === 0 ? {} : { reasoning_details: details };
}

/** Whether a block has what only the server that gave it can use. */
export const isSigned = (block: Said): boolean => extrasOf(block).call !== undefined;

/** The block without it. */
export const unsigned = (block: Block): Block =>
  block.wire === null ? block : block.withWire({ ...block.wire, residue: {} });
