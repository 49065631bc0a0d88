import { Hono } from "hono/tiny";
import type { EventStore } from "../../log/ports/event-store.ts";
import { RefusedError } from "./failures.ts";
import type { HeldConversations } from "./held-conversations.ts";
import type { Inbox } from "./inbox-list.ts";
import type { Writing } from "./writing.ts";

type Parts = { readonly conversations: HeldConversations; readonly writing: Writing | null };

/** What waits for a person, and how it is answered. */
export function inboxRoutes({ events }: { readonly events: EventStore }, { conversations, writing }: Parts): Hono {
  const routes = new Hono();
  let inbox: Inbox | null = null;

  routes.get("/inbox", async (context) => {
    // A page without a server loads this when it is asked for.
    inbox ??= new (await import("./inbox-list.ts")).Inbox(events);
    return context.json(await inbox.document());
  });

  routes.get("/inbox/:id", async (context) => {
    const { inboxItemDocument } = await import("./inbox-item.ts");
    const { reel } = await conversations.get(context.req.param("id"));
    const call = context.req.query("call") ?? null;
    const going = writing?.stateOf(reel.id) ?? { isGoing: false, problem: null };
    return context.json(await inboxItemDocument(events, reel, { call, now: new Date().toISOString(), going }));
  });

  routes.post("/inbox/:id", async (context) => {
    if (writing === null)
      throw new RefusedError(403, "read-only", {
        message: "this studio only reads",
        hint: "Start it with turnlog studio --write --stack FILE --as NAME.",
      });
    let asked: unknown;
    try {
      asked = await context.req.json();
    } catch {
      throw new RefusedError(400, "input", { message: "the body is not JSON" });
    }
    return context.json(await writing.act(context.req.param("id"), asked));
  });
  return routes;
}
