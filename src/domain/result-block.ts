import type { Block } from "./block.ts";
import { toolResult } from "./make-block.ts";

/** The block that answers a call with a text, as a draft. */
export function resultBlock(call: Block, output: string): Block {
  const isCustom = call.itemType === "custom_tool_call";
  const type = isCustom ? "custom_tool_call_output" : "function_call_output";
  return toolResult({ callId: call.callId ?? "", output, type });
}
