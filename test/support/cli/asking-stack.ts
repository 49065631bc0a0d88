import * as z from "zod";
import { defineConfig } from "../../../src/apps/config/config.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type LayerContext } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { externalTool, tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { calling } from "../run/tool-runs.ts";

const refund = tool({
  name: "refund",
  description: "Refunds an amount",
  inputSchema: z.object({ amount: z.number().max(500) }),
  needsApproval: "refunds are checked",
  execute: ({ amount }) => `refunded ${amount}`,
});
const locate = externalTool({ name: "locate", description: "Locates the user", inputSchema: z.object({}) });

const greet = defineMiddleware(
  { name: "greet", version: "1.0.0" },
  (next) => (turn, ctx: LayerContext<{ user: string }>) => {
    ctx.instructions(`You talk to ${ctx.context.user}.`);
    return next(turn);
  },
);

/** Begins its first answer, and waits there until the request is aborted; answers later requests at once. */
function slow(): Provider {
  const quick = scripted(["Quick."]);
  let requests = 0;
  return {
    ...quick,
    infer(request) {
      requests += 1;
      if (requests > 1) return quick.infer(request);
      request.onDelta({ type: "text-delta", outputIndex: 0, text: "Once upon" });
      return new Promise((_, fail) => {
        request.signal.addEventListener("abort", () => {
          fail(new Error("aborted", { cause: request.signal.reason }));
        });
      });
    },
  };
}

/** A configuration in code: engines on scripted models, made anew for each command. */
export default defineConfig({
  engine: "plain",
  providers: { made: scripted(["Hello Ann."]) },
  engines: {
    settings: { provider: "made", tools: [refund], middleware: [greet], maxSteps: 3, context: () => ({ user: "Ann" }) },
    plain: () => createEngine({ provider: scripted(["Hello.", "You are welcome."]) }),
    colourful: () => createEngine({ provider: scripted(["red \u001b[31m and\r gone"]) }),
    refund: () =>
      createEngine({ provider: scripted([calling(["refund", '{"amount":250}']), "Done."]), tools: [refund] }),
    external: () => createEngine({ provider: scripted([calling(["locate", "{}"]), "Here."]), tools: [locate] }),
    slow: () => createEngine({ provider: slow() }),
    none: () => createEngine({ provider: scripted([]) }),
  },
});
