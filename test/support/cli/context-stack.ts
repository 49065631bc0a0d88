import { createEngine } from "../../../src/engine/stack/create-engine.ts";
import { defineMiddleware, type LayerContext } from "../../../src/engine/stack/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

/** What the app gives its runs; the environment can take it away. */
export const context = () => (process.env["WITHOUT_CONTEXT"] === "1" ? undefined : { user: "Ann" });

const greet = defineMiddleware(
  { name: "greet", version: "1.0.0" },
  (next) => (turn, ctx: LayerContext<{ user: string }>) => {
    ctx.instructions(`You talk to ${ctx.context.user}.`);
    return next(turn);
  },
);

export const engine = createEngine({ provider: scripted(["Hello Ann."]), middleware: [greet] });
