import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Draft, Settings } from "../../engine/stack/codec.ts";
import { blockKindOf } from "./content-blocks.ts";

/** Models that take system messages among the others, behind what a user said and before what they answer (Anthropic's API reference). */
const takesSystemMessages = /^claude-(opus-4-8|(opus|fable|mythos)-5)/;

/**
 * Blocks behind the first message as they can be sent: system messages stay what they are where the API takes them, and are a text
 * of the user in tags elsewhere.
 */
export function withSystemMessages(blocks: readonly Block[], { model }: Settings): readonly Draft[] {
  const isTaken = typeof model === "string" && takesSystemMessages.test(model);
  return blocks.map((block, place) => {
    const mayStay = block.kind !== "system" || (isTaken && isInPlace(blocks, place)) || !isPlain(block);
    return mayStay ? block : { kind: "user", payload: { role: "user", content: block.parts.map(tagged) } };
  });
}

/** Behind a user's message, a tool's results or the result of a server's tool, and last or before what the model said. */
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

/** Why a block is said otherwise than it stands; null where it is not. A system message among others may be. */
export function restated({ kind, role }: Block, before: Block | null): string | null {
  if (kind !== "system") return null;
  if (before !== null && before.kind !== "system") return "system-message";
  return role === "developer" ? "role" : null;
}
