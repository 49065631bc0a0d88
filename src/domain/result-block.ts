import type { Block } from "./block.ts";
import { toolResult } from "./make-block.ts";

/** The block that answers a call with a text, as a draft. */
export function resultBlock(call: Block, output: string): Block {
  const type = call.type === "custom" ? "custom" : "function";
  return toolResult({ callId: call.callId ?? "", output, type });
}
