import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { RefusedError } from "./failures.ts";
import type { HeldConversations } from "./held-conversations.ts";
import type { LabReport } from "./lab-report.ts";
import { pageOf, wholeOf } from "./query.ts";
import type { WhatIf } from "./what-if.ts";

type Parts = {
  readonly conversations: HeldConversations;
  readonly whatIf: WhatIf | null;
  readonly report: LabReport | null;
};

/** What would have been with another stack, and what the regression lab found. */
export function whatIfRoutes({ conversations, whatIf, report }: Parts): Hono {
  const routes = new Hono();
  const asked = (context: Context) => {
    const without = context.req.query("without") ?? "";
    return { without: without === "" ? null : without };
  };
  const made = (): WhatIf => {
    if (whatIf !== null) return whatIf;
    throw new RefusedError(422, "no-stack", {
      message: "this studio has no stack to ask what would have been",
      hint: "Start it with turnlog studio --stack FILE, or --with FILE.",
    });
  };
  routes.get("/c/:id/what-if", async (context) => {
    const known = made();
    const held = await conversations.get(context.req.param("id"));
    return context.json(known.document(held, asked(context)));
  });
  routes.get("/c/:id/what-if/:step", async (context) => {
    const known = made();
    const held = await conversations.get(context.req.param("id"));
    const step = wholeOf(context.req.param("step"), "the step", 0);
    return context.json(await known.step(held, asked(context), step));
  });
  routes.get("/report", (context) => {
    if (report !== null) return context.json(report.page(pageOf(context, 20)));
    throw new RefusedError(404, "not-found", {
      message: "this studio was started without a report",
      hint: "Start it with turnlog studio --report FILE.",
    });
  });
  return routes;
}
