import * as z from "zod";
import type { Block } from "../../../src/domain/block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, rejectionOf, type Workshop } from "../workshop.ts";

/** An answer that thinks and calls a tool. */
export const call = (name: string, callId: string): ScriptedAnswer => ({
  reasoning: `thinking of ${callId}`,
  calls: [{ name, arguments: {}, callId }],
});

/** A tool that says which call it answers. */
export const echo = tool({
  name: "echo",
  description: "Answers.",
  inputSchema: z.object({}),
  execute: (_, { callId }) => `result of ${callId}`,
});

/** `kind text`, which says all of a block that a Turn is compared by here. */
export const told = (turn: Turn): readonly string[] => turn.blocks.map(say);
const say = (block: Block): string => `${block.kind} ${block.kind === "tool_call" ? (block.callId ?? "") : block.text}`;

type Run = { readonly workshop: Workshop; readonly outcome: unknown };

/** A run of one message, and the error that it ends with. */
export async function runInto(config: EngineConfig, signal = new AbortController().signal): Promise<Run> {
  const workshop = createWorkshop();
  await workshop.conversation.append("hello");
  const outcome = await rejectionOf(workshop.conversation.run(workshop.engine(config), { signal }));
  return { workshop, outcome };
}
