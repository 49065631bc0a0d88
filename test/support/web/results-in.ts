import type { Block } from "../../../src/domain/block.ts";

/** What calls were answered, by the ids of their blocks: a model that is asked again after a run was given up may repeat the id of a call. */
export function resultsIn(blocks: readonly Block[]): ReadonlyMap<string | null, string> {
  const results = new Map<string | null, string>();
  for (const [index, { kind, callId, text }] of blocks.entries()) {
    if (kind !== "tool_result") continue;
    const isCall = (block: Block): boolean =>
      block.kind === "tool_call" && block.callId === callId && !results.has(block.id);
    const call = blocks.slice(0, index).findLast(isCall);
    if (call !== undefined) results.set(call.id, text);
  }
  return results;
}
