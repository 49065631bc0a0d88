import { Hono } from "hono/tiny";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { conversationStream } from "../../domain/ids.ts";
import { sentRequest } from "../../engine/recorded/recorded-request.ts";
import { storedEventDocument } from "../documents/stored-event.ts";
import { whyDocumentOf } from "../documents/why-document.ts";
import { bodyDocument } from "./body-document.ts";
import { fitting } from "./by-bytes.ts";
import { RefusedError } from "./failures.ts";
import { findable, findRevision } from "./find-revision.ts";
import type { HeldConversation, HeldConversations } from "./held-conversations.ts";
import { groupsPage, overviewDocument, requestsPage } from "./overview-document.ts";
import type { FindDocument, LogPage, VerifiedDocument } from "./page-documents.ts";
import type { Prices } from "./prices.ts";
import { listIn, pageOf, placeIn, revisionIn, wholeOf } from "./query.ts";
import { stepAt } from "./step-at.ts";
import { Verifications } from "./verifications.ts";
import type { WhyPage } from "./why-page.ts";

type Store = Pick<TurnlogStore, "log" | "codecs"> & {
  readonly conversations: HeldConversations;
  readonly prices: Prices;
};

/** What the page asks about one conversation: the documents of commands, and the studio's own. */
export function conversationRoutes(store: Store): Hono {
  const { conversations, prices } = store;
  const { log, codecs } = store;
  const verified = new Verifications(store);
  const routes = new Hono();
  const held = (context: { readonly req: { param: (name: "id") => string | undefined } }): Promise<HeldConversation> =>
    conversations.get(context.req.param("id") ?? "");

  routes.get("/", async (context) => {
    const { reel } = await held(context);
    const wanted = { groups: placeIn(context, "groups"), requests: placeIn(context, "requests") };
    return context.json(overviewDocument(reel, wanted, await prices()));
  });

  routes.get("/groups", async (context) => {
    const { reel } = await held(context);
    return context.json(groupsPage(reel, placeIn(context, "from")));
  });

  routes.get("/requests", async (context) => {
    const { reel } = await held(context);
    return context.json(requestsPage(reel, placeIn(context, "from"), await prices()));
  });

  routes.get("/log", async (context) => {
    const { reel } = await held(context);
    const { from, n } = pageOf(context, 200);
    const { total, rows } = reel.rows.filtered(context.req.query("f") ?? "", { from, n });
    return context.json({ from, total, rows: fitting(rows) } satisfies LogPage);
  });

  routes.get("/stack/:revision", async (context) => {
    const { reel } = await held(context);
    const opened = new Set(listIn(context, "open").map((text) => wholeOf(text, "open", 0)));
    // A page without a server loads what a view needs when it is opened.
    const { stackDocument } = await import("./stack-document.ts");
    return context.json(stackDocument(reel, revisionIn(context, reel.rows.length), { ...pageOf(context, 80), opened }));
  });

  routes.get("/time/:revision", async (context) => {
    const { reel } = await held(context);
    const { timeDocument } = await import("./time-document.ts");
    return context.json(timeDocument(reel, revisionIn(context, reel.rows.length)));
  });

  routes.get("/block/:block", async (context) => {
    const { reel } = await held(context);
    const id = context.req.param("block");
    const { biographyDocument } = await import("./biography-document.ts");
    const story = await biographyDocument(log, reel, id);
    if (story !== null) return context.json(story);
    throw new RefusedError(404, "not-found", { message: `no block of ${reel.id} has the id ${id.slice(0, 80)}` });
  });

  routes.get("/forks", async (context) => {
    const { id } = await held(context);
    const { forksDocument } = await import("./forks-document.ts");
    return context.json(await forksDocument(log.store, id));
  });

  routes.get("/find/:revision", async (context) => {
    const { reel } = await held(context);
    const what = findable.find((each) => each === context.req.query("what"));
    if (what === undefined) throw new RefusedError(400, "input", { message: `what is one of ${findable.join(", ")}` });
    const direction = context.req.query("direction") === "-1" ? -1 : 1;
    const from = revisionIn(context, reel.rows.length);
    return context.json({ what, revision: findRevision(reel, from, { what, direction }) } satisfies FindDocument);
  });

  routes.get("/verified", async (context) => {
    const { reel } = await held(context);
    if (reel.isRedacted) return context.json({ isPossible: false, last: null } satisfies VerifiedDocument);
    const last = context.req.query("now") === "1" ? await verified.check(reel.id) : verified.last(reel.id);
    return context.json({ isPossible: true, last } satisfies VerifiedDocument);
  });

  routes.get("/show/:revision", async (context) => {
    const { reel, fold } = await held(context);
    return context.json(
      await fold.at(revisionIn(context, reel.rows.length), (place, show) => show.documentOf(place, null)),
    );
  });

  routes.get("/blame/:revision", async (context) => {
    const { reel, fold } = await held(context);
    const page = context.req.query("from") === undefined ? null : pageOf(context, 100);
    const only = context.req.query("block") ?? null;
    const { blameReport } = await import("../../analysis/explain/blame-report.ts");
    const [{ blameDocumentOf }, { blamePage }] = await Promise.all([
      import("../documents/blame-document.ts"),
      import("./blame-page.ts"),
    ]);
    const document = await fold.at(revisionIn(context, reel.rows.length), async (place) => {
      const report = await blameReport(log, place, { only, part: page });
      return page === null ? blameDocumentOf(place, report) : blamePage(place, report, { ...page, only });
    });
    return context.json(document);
  });

  routes.get("/diff", async (context) => {
    const { reel, fold } = await held(context);
    const last = reel.rows.length - 1;
    const to = Math.min(last, wholeOf(context.req.query("to"), "to", last));
    const from = Math.min(last, wholeOf(context.req.query("base"), "base", Math.max(0, to - 1)));
    const { diffDocument } = await import("./diff-document.ts");
    return context.json(
      await diffDocument({ reel, fold, log }, { from, to, withTexts: context.req.query("texts") === "1" }),
    );
  });

  routes.get("/why/:revision", async (context) => {
    const { reel, fold } = await held(context);
    const request = requestOf(reel, revisionIn(context, reel.rows.length));
    // A page without a server loads this when it is asked for.
    const { explainRequest } = await import("../../analysis/explain/explain.ts");
    const part = context.req.query("from") === undefined ? null : pageOf(context, 40);
    const [explained, candidates] = await fold.request(request, codecs, async (found, about) => {
      const asked = { ...about, prices: await prices(), rules: {}, candidates: part };
      return [await explainRequest(log, found, asked), found.view.server.contexts.length] as const;
    });
    const document = whyDocumentOf(reel, explained);
    if (part === null) return context.json(document);
    // The whole of it names every context that a server was ever known to hold.
    const { from, n } = part;
    const all = { candidates, sent: document.sent.length };
    return context.json({ ...document, sent: document.sent.slice(from, from + n), from, all } satisfies WhyPage);
  });

  routes.get("/request/:revision", async (context) => {
    const { reel, fold } = await held(context);
    const request = requestOf(reel, revisionIn(context, reel.rows.length));
    const sent = await fold.request(request, codecs, ({ view, recorded }) => sentRequest(view, recorded, codecs));
    return context.json({ conversation: reel.id, ...sent });
  });

  routes.get("/body/:revision", async (context) => {
    const { reel, fold } = await held(context);
    const request = requestOf(reel, revisionIn(context, reel.rows.length));
    const sent = await fold.request(request, codecs, ({ view, recorded }) => sentRequest(view, recorded, codecs));
    return context.json(bodyDocument(reel.id, sent, pageOf(context, 400)));
  });

  routes.get("/cat/:revision", async (context) => {
    const { reel } = await held(context);
    const revision = revisionIn(context, reel.rows.length);
    const document = await storedEventDocument(
      log.store,
      { id: reel.id, stream: conversationStream(reel.id), revision },
      { full: false },
    );
    if (document !== null) return context.json(document);
    throw new RefusedError(404, "not-found", {
      message: `the store no longer holds revision ${revision} of ${reel.id}`,
    });
  });

  return routes;
}

/** The request that a revision belongs to. */
function requestOf(reel: HeldConversation["reel"], revision: number): number {
  if (reel.isRedacted)
    throw new RefusedError(422, "redacted", {
      message: "the texts of this page are redacted, so no body can be made of them",
      hint: "Export it without --redact.",
    });
  const step = stepAt(reel, revision);
  if (step !== null) return step.revision;
  const message = `${reel.id} has no request that revision ${revision} belongs to`;
  throw new RefusedError(404, "request-not-found", { message, hint: "Choose a request on the strip." });
}
