import type { JsonValue } from "../base/json.ts";
import type { Block } from "./block.ts";
import { toolResult } from "./make-block.ts";

/** How calls and the blocks that answer them find each other; `Call` is what is kept of an open one. */
type Pairing<Call> = {
  readonly callOf: (block: Block, index: number) => Call | null;
  /** The one of the open calls that a block answers. */
  readonly answered: (block: Block, open: readonly Call[]) => Call | undefined;
};

/** The calls that are open after some blocks: each until a block answers it. */
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
 * The calls among these blocks that no result among them answers: a result answers the nearest call of its id before it,
 * for call ids may repeat. A call whose item did not complete is none: nobody may run it.
 */
export const openCalls = (blocks: readonly Block[]): readonly Block[] =>
  openAfter(blocks, {
    callOf: (block) => (block.kind === "tool_call" && block.wire?.partial !== true ? block : null),
    answered: ({ kind, callId }, open) =>
      kind === "tool_result" ? open.findLast((call) => call.callId === callId) : undefined,
  });

/** The block that answers a call with a text, or with parts, as a draft. */
export function resultBlock(call: Block, output: JsonValue): Block {
  const type = call.type === "custom" ? "custom" : "function";
  return toolResult({ callId: call.callId ?? "", output, type });
}
