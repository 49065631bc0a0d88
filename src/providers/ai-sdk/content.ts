import { isJsonObject, type JsonObject, type JsonValue, jsonOf, listOf, textOrEmpty } from "../../base/json.ts";
import type { Draft } from "../../engine/ports/codec.ts";
import { callDraft } from "../answers/server-said.ts";
import { applyResidue, keepResidue } from "../codec/residue.ts";

/**
 * Whether a part of an answer also has a form in prompts: such parts become blocks. Models never read the others, such as sources, again;
 * they are kept beside the blocks.
 */
export const isReadAgain = ({ type }: JsonObject): boolean => typeof type === "string" && readAgain.has(type);

const readAgain: ReadonlySet<string> = new Set([
  ...["text", "reasoning", "reasoning-file", "file", "custom", "tool-call", "tool-result"],
]);

/** A part of an answer (`LanguageModelV4Content`) as a block. An unknown part is kept as it came. */
export function draftOf(part: JsonObject, callId: string): Draft {
  const draft = plainDraft(part, callId);
  return keepResidue(draft, plainPart(draft), part);
}

/** Restores the part that a block was made of. */
export const partOf = (draft: Draft): JsonObject => applyResidue(draft, plainPart(draft));

/** Whether a part calls a tool of the engine; one that the provider executed is kept as it came. */
export const isCall = ({ type, providerExecuted }: JsonObject): boolean =>
  type === "tool-call" && providerExecuted !== true;

function plainDraft(part: JsonObject, callId: string): Draft {
  const { type, text, toolName: name, input, providerMetadata } = part;
  if (type === "text" && typeof text === "string")
    return { kind: "assistant", payload: { role: "assistant", content: [{ type: "text", text }] } };
  if (type === "reasoning" && typeof text === "string") {
    const summary = text === "" ? [] : [{ type: "text", text }];
    const sealed = providerMetadata === undefined ? {} : { wire: { ciphertext: JSON.stringify(providerMetadata) } };
    return { kind: "reasoning", payload: { type: "reasoning", summary }, ...sealed };
  }
  const called = isCall(part) ? callDraft({ name, arguments: input }, callId) : null;
  return called ?? { kind: "other", payload: part };
}

/** The part that a block makes without its residue. */
function plainPart({ kind, payload, wire }: Draft): JsonObject {
  const { content, callId, name, arguments: given, summary } = payload;
  switch (kind) {
    case "assistant":
      return { type: "text", text: textsIn(content) };
    case "reasoning": {
      const sealed = wire?.ciphertext === undefined ? undefined : jsonOf(wire.ciphertext);
      return {
        type: "reasoning",
        text: textsIn(summary),
        ...(sealed === undefined ? {} : { providerMetadata: sealed }),
      };
    }
    case "tool_call":
      return { type: "tool-call", toolCallId: callId, toolName: name, input: given };
    default:
      return payload;
  }
}

const textsIn = (parts: JsonValue | undefined): string =>
  listOf(parts)
    .map((part) => (isJsonObject(part) ? textOrEmpty(part["text"]) : ""))
    .join("");

/** The provider's metadata of a block's part (`providerMetadata`); an edited block has none. */
export function metadataOf({ kind, wire }: Pick<Draft, "kind" | "wire">): JsonValue | undefined {
  if (kind === "reasoning") return wire?.ciphertext === undefined ? undefined : metadataIn(jsonOf(wire.ciphertext));
  const set = isJsonObject(wire?.residue) ? wire.residue["set"] : undefined;
  return isJsonObject(set) ? metadataIn(set["providerMetadata"]) : undefined;
}

/** Metadata has a member for each provider; residues of other codecs do not. */
const metadataIn = (value: JsonValue | undefined): JsonObject | undefined =>
  isJsonObject(value) && Object.values(value).every(isJsonObject) ? value : undefined;
