import * as z from "zod";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { logging } from "../../../src/middleware/logging.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

const charge = tool({
  name: "charge",
  description: "Takes money.",
  inputSchema: z.object({ euros: z.number() }),
  execute: ({ euros }) => `took ${euros} euros`,
});

/** An agent that takes money once, and says so; the environment can take its tool away, or give it another stack. */
export const engine = (): Engine =>
  createEngine({
    provider: scripted(({ context }) => {
      const result = context.find(({ type }) => type === "function_call_output");
      const tail = "!".repeat(Number(process.env["TAIL"] ?? 0));
      if (result !== undefined) return `Done: ${JSON.stringify(result["output"])}${tail}`;
      return { calls: [{ name: "charge", arguments: { euros: 5 }, callId: "call_charge" }] };
    }),
    tools: process.env["WITHOUT_TOOL"] === "1" ? [tool({ ...look, name: "look" })] : [charge],
    middleware: process.env["WITH_LAYER"] === "1" ? [logging({ write: () => undefined })] : [],
  });

const look = { description: "Looks.", inputSchema: z.object({}), execute: () => "nothing" };
