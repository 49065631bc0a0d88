import * as z from "zod";
import { functionCall, message } from "../../../packages/reference-server/src/server.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { toy } from "../toy/dialect/provider.ts";
import { fetchFrom, ToyFront } from "../toy/front.ts";

const front = new ToyFront(({ results, lines }) => ({
  output: results === 0 ? [functionCall("look-up", "{}")] : [message(`I read ${lines.length} lines.`)],
}));

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({}),
  execute: () => "found",
});

/** An engine on a codec that is not turnlog's own, and a model that needs no network. */
export const engine = createEngine({ provider: toy("toy:", { fetch: fetchFrom(front) }), tools: [lookUp] });
