import { isJsonList } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { GroupPlace } from "../../engine/ports/codec.ts";

/** Planning and shaping, 2 for the Responses API: the server accepts reasoning only whole, and with what the model said after it. */
export function brokenGroupRule(block: Block, { withId, isBroken, next }: GroupPlace): string | null {
  if (block.kind !== "reasoning") return null;
  if (block.wire === null) return "edited-reasoning";
  if (isBroken) return "broken-group";
  if (next === undefined || !isModelsOwn(next)) return "no-follower";
  return withId || block.wire.ciphertext !== undefined || isInTheClear(block) ? null : "unreadable";
}

/** Servers of open models return reasoning as text, and read that text when it is sent back. */
const isInTheClear = ({ payload: { content } }: Block): boolean => isJsonList(content) && content.length > 0;

/** What a model outputs after reasoning. */
const isModelsOwn = ({ kind, type }: Block): boolean =>
  kind === "assistant" || kind === "reasoning" || kind === "tool_call" || (kind === "other" && !isStateItem(type));

/** Whether items of a type hold state and no content. */
export const isStateItem = (type: unknown): boolean => typeof type === "string" && stateTypes.has(type);

const stateTypes: ReadonlySet<string> = new Set(["additional_tools", "configuration_update", "compaction_trigger"]);
