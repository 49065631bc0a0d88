import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Draft, Settings } from "../../engine/ports/codec.ts";
import { blockKindOf } from "./content-blocks.ts";

/** Models that accept system messages within the conversation, after a user's message and before the answer (Anthropic's API reference). */
const takesSystemMessages = /^claude-(opus-4-8|(opus|fable|mythos)-5)/;

/**
 * The blocks from the first message on in a form that can be sent: system messages stay where the API accepts them, and become tagged user
 * text elsewhere.
 */
export function withSystemMessages(blocks: readonly Block[], { model }: Settings): readonly Draft[] {
  const isTaken = typeof model === "string" && takesSystemMessages.test(model);
  return blocks.map((block, place) => {
    const mayStay = block.kind !== "system" || (isTaken && isInPlace(blocks, place)) || !isPlain(block);
    return mayStay ? block : { kind: "user", payload: { role: "user", content: block.parts.map(tagged) } };
  });
}

/** After a user message, a tool's result or a server tool's result, and last or before the model's output. */
function isInPlace(blocks: readonly Block[], place: number): boolean {
  const before = blocks.slice(0, place).findLast(({ kind }) => kind !== "system");
  const after = blocks.slice(place).find(({ kind }) => kind !== "system");
  const isBehind = before?.kind === "user" || before?.kind === "tool_result" || isServersResult(before);
  return isBehind && after?.kind !== "user" && after?.kind !== "tool_result";
}

const isServersResult = (block: Block | undefined): boolean =>
  block?.kind === "other" && blockKindOf(block.payload) === "other" && block.type.endsWith("_tool_result");

const isPlain = ({ parts }: Block): boolean => parts.every(({ type }) => type === "text");

const tagged = (part: JsonObject): JsonObject =>
  typeof part["text"] === "string" ? { ...part, text: `<system>\n${part["text"]}\n</system>` } : part;

/** Why a block may be sent in another form, as a system message within the conversation; null if it is sent as it is. */
export function restated({ kind, role }: Block, before: Block | null): string | null {
  if (kind !== "system") return null;
  if (before !== null && before.kind !== "system") return "system-message";
  return role === "developer" ? "role" : null;
}
