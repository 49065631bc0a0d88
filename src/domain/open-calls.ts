import type { Block } from "./block.ts";

/**
 * The calls among these blocks that no result among them answers: a result answers the nearest call of its id before it,
 * for call ids may repeat. A call whose item did not complete is none: nobody may run it.
 */
export function openCalls(blocks: readonly Block[]): readonly Block[] {
  const open: Block[] = [];
  for (const block of blocks) {
    if (block.kind === "tool_call" && block.wire?.partial !== true) open.push(block);
    if (block.kind !== "tool_result") continue;
    const answered = open.findLastIndex(({ callId }) => callId === block.callId);
    if (answered >= 0) open.splice(answered, 1);
  }
  return open;
}
