import type { JsonValue } from "../base/json.ts";
import type { Block } from "./block.ts";
import { toolResult } from "./make-block.ts";

/** How to pair calls with the blocks that answer them. `Call` is what the caller keeps of an open call. */
type Pairing<Call> = {
  readonly callOf: (block: Block, index: number) => Call | null;
  /** The open call that a block answers. */
  readonly answered: (block: Block, open: readonly Call[]) => Call | undefined;
};

/** The calls that are still unanswered after some blocks. */
export function openAfter<Call>(
  blocks: readonly Block[],
  { callOf, answered }: Pairing<Call>,
  before: readonly Call[] = [],
): readonly Call[] {
  const open = [...before];
  for (const [index, block] of blocks.entries()) {
    const call = callOf(block, index);
    if (call !== null) open.push(call);
    const closed = answered(block, open);
    if (closed !== undefined) open.splice(open.lastIndexOf(closed), 1);
  }
  return open;
}

/**
 * The calls among these blocks that no result among them answers. A result answers the nearest call with its id before it, because
 * call ids may repeat. A call whose item did not complete is not open: it must not be executed.
 */
export const openCalls = (blocks: readonly Block[]): readonly Block[] =>
  openAfter(blocks, {
    callOf: (block) => (block.kind === "tool_call" && block.wire?.partial !== true ? block : null),
    answered: ({ kind, callId }, open) =>
      kind === "tool_result" ? open.findLast((call) => call.callId === callId) : undefined,
  });

/** The block that answers a call with a text or with parts, as a draft. */
export function resultBlock(call: Block, output: JsonValue): Block {
  const type = call.type === "custom" ? "custom" : "function";
  return toolResult({ callId: call.callId ?? "", output, type });
}
