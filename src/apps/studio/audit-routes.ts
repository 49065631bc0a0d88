import { Hono } from "hono/tiny";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { Audit } from "./audit.ts";
import { pageOf } from "./query.ts";

type Store = { readonly events: EventStore; readonly codecs: Codecs };

/** Whether the store is what was written, and what was erased of it. */
export function auditRoutes(
  { events, codecs }: Store,
  about: { readonly isRedacted: boolean; readonly address: string },
): Hono {
  const routes = new Hono();
  let known: Promise<Audit> | null = null;
  const audit = (): Promise<Audit> => {
    // A page without a server loads this when it is asked for.
    known ??= import("./audit.ts").then((module) => new module.Audit(events, { codecs, ...about }));
    return known;
  };
  routes.get("/", async (context) => {
    const checked = await audit();
    if (context.req.query("now") === "1") await checked.start();
    return context.json(await checked.document());
  });
  routes.get("/heads", async (context) => context.json(await (await audit()).heads(pageOf(context, 100))));
  routes.get("/report", async (context) => context.json(await (await audit()).report()));
  return routes;
}
