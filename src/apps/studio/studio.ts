import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import type { Audit } from "./audit.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { failureAnswer, RefusedError } from "./failures.ts";
import { HeldConversations } from "./held-conversations.ts";
import type { Inbox } from "./inbox-list.ts";
import type { LabReport } from "./lab-report.ts";
import type { StoreDocument } from "./page-documents.ts";
import { pricesFrom } from "./prices.ts";
import { pageOf, wholeOf } from "./query.ts";
import { storeRoutes } from "./store-routes.ts";
import type { WhatIf } from "./what-if.ts";
import type { Writing } from "./writing.ts";

/** A file of the page. */
export type PageFile = { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string };

/** What the studio reads of a store. */
export type StudioStore = Pick<TurnlogStore, "events" | "log" | "codecs" | "bill" | "cache" | "search">;

export type StudioOptions = {
  readonly store: StudioStore;
  /** Asked before every request: return true, or a promise of it, to allow; any other value denies. Without it, all is denied. */
  readonly access?: (request: Request) => boolean | Promise<boolean>;
  /** What the page calls the store: an address without credentials. */
  readonly address?: string;
  /** The path of a price file, as for `turnlog bill --prices`. */
  readonly prices?: string;
};

/** What a command adds; a page in one file has none of it. */
export type StudioParts = {
  readonly file?: (path: string) => Promise<PageFile | null>;
  readonly version?: string;
  /** Whether the texts are masked, so that neither digests nor bodies can be checked. */
  readonly isRedacted?: boolean;
  /** Without it, the studio only reads. */
  readonly writing?: Writing;
  /** Other stacks, to ask what would have been. */
  readonly whatIf?: WhatIf;
  /** What the regression lab found. */
  readonly report?: LabReport;
};

/** A handler of Web-standard requests. */
export type Studio = { readonly fetch: (request: Request) => Promise<Response> };

/** The routes of the studio over a store. */
export function studioOver(
  { store, access, address = "a store", prices }: StudioOptions,
  { file = async () => null, version = "", isRedacted = false, writing, whatIf, report }: StudioParts,
): Studio {
  const held = new HeldConversations(store.log, { isRedacted });
  const about: StoreDocument = {
    ...{ address, isRedacted, version, prices: prices ?? null, isWritable: writing !== undefined },
    writing: writing === undefined ? null : { as: writing.as, stack: writing.stack },
    whatIf: whatIf?.choices ?? null,
    report: report?.file ?? null,
  };
  const app = new Hono();
  app.use(async (context, next) => {
    // Callers may have no types.
    const said: unknown = await access?.(context.req.raw);
    if (said !== true)
      throw new RefusedError(403, "access-denied", {
        message: "the program that serves this page denies this request",
      });
    await next();
  });
  app.get("/api/store", (context) => context.json(about));
  app.route("/api", storeRoutes(store, { prices }));
  app.route("/api", inboxRoutes(store, { conversations: held, writing: writing ?? null }));
  const asking = { conversations: held, whatIf: whatIf ?? null, report: report ?? null };
  app.route("/api", whatIfRoutes(asking));
  const { log, codecs } = store;
  app.route("/api/audit", auditRoutes(store, { isRedacted, address }));
  app.route("/api/c/:id", conversationRoutes({ log, codecs, conversations: held, prices: pricesFrom(prices) }));
  app.all("/api/*", () => {
    throw new RefusedError(404, "not-found", { message: "there is no such part of the studio" });
  });
  app.get("*", async (context) => {
    const { path } = context.req;
    // Every page of the studio is one file; it reads the address itself.
    const found = (await file(path)) ?? (path.includes(".") ? null : await file("/index.html"));
    if (found === null) throw new RefusedError(404, "not-found", { message: "there is no such page" });
    return context.body(found.bytes, 200, { "content-type": found.type });
  });
  app.onError((error) => {
    const { status, document } = failureAnswer(error);
    return Response.json(document, { status });
  });
  return {
    async fetch(request) {
      const answer = await app.fetch(request);
      for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
      return answer;
    },
  };
}

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
];

/** Nothing is loaded from elsewhere, and nothing is kept by a browser or a proxy. */
const headers = {
  "content-security-policy": policy.join("; "),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** Whether the store is what was written, and what was erased of it. */
function auditRoutes(
  { events, codecs }: Pick<StudioStore, "events" | "codecs">,
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

type Answering = { readonly conversations: HeldConversations; readonly writing: Writing | null };

/** What waits for a person, and how it is answered. */
function inboxRoutes({ events }: Pick<StudioStore, "events">, { conversations, writing }: Answering): Hono {
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

type WhatIfParts = {
  readonly conversations: HeldConversations;
  readonly whatIf: WhatIf | null;
  readonly report: LabReport | null;
};

/** What would have been with another stack, and what the regression lab found. */
function whatIfRoutes({ conversations, whatIf, report }: WhatIfParts): Hono {
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
