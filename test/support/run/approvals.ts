import * as z from "zod";
import type { Actor } from "../../../src/domain/actor.ts";
import { type Tool, type ToolDefinition, tool } from "../../../src/engine/ports/tool.ts";

export const ann: Actor = { kind: "user", name: "ann" };
export const bob: Actor = { kind: "operator", name: "bob" };

/** A tool that records the amounts that it really refunded. */
export function refunds(options: Partial<ToolDefinition<{ readonly amount: number }, string>> = {}) {
  const runs: number[] = [];
  const made: Tool = tool({
    ...{ name: "refund", description: "Refunds an amount.", inputSchema: z.object({ amount: z.number().max(500) }) },
    needsApproval: true,
    execute: ({ amount }) => {
      runs.push(amount);
      return `refunded ${amount}`;
    },
    ...options,
  });
  return { tool: made, runs };
}
