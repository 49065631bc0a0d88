import type { ContextOf } from "../../../src/engine/options/context-of-run.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type LayerContext } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

/** What the app gives a run: its user, by a label of the conversation. The environment can take it away. */
export const context: ContextOf = ({ conversation, labels, runId }) => {
  if (process.env["WITHOUT_CONTEXT"] === "1") return undefined;
  if (!conversation.startsWith("cnv_") || !runId.startsWith("run_")) throw new Error("this is no run");
  const { user } = labels;
  if (user === undefined) throw new Error("it has no user");
  return { user };
};

const greet = defineMiddleware(
  { name: "greet", version: "1.0.0" },
  (next) => (turn, ctx: LayerContext<{ user: string }>) => {
    ctx.instructions(`You talk to ${ctx.context.user}.`);
    return next(turn);
  },
);

const answers = Array.from({ length: 9 }, () => "Hello.");

export const engine = createEngine({ provider: scripted(answers), middleware: [greet] });
