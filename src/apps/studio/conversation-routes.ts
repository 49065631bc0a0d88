import { Hono } from "hono/tiny";
import { printableJson } from "../../base/printable.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { type SentRequest, sentRequest } from "../../engine/recorded/recorded-request.ts";
import { storedEventDocument } from "../documents/stored-event.ts";
import { whyDocumentOf } from "../documents/why-document.ts";
import { fitting } from "./by-bytes.ts";
import { RefusedError } from "./failures.ts";
import type { HeldConversation, HeldConversations } from "./held-conversations.ts";
import { groupsPage, overviewDocument, requestsPage } from "./overview-document.ts";
import type { BodyDocument, FindDocument, LogPage, VerifiedDocument } from "./page-documents.ts";
import type { Prices } from "./prices.ts";
import { listIn, pageOf, placeIn, revisionIn, wholeOf } from "./query.ts";
import type { Reel } from "./reel.ts";
import { stepAt } from "./step-at.ts";
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

/** A longer line of a body is cut: the whole of it is in the document of `turnlog request`. */
const mostCharacters = 4_000;

/** A page of a body, indented. */
function bodyDocument(
  conversation: string,
  { revision, sha256, bytes, encoder, transport, bodyText }: SentRequest,
  { from, n }: { readonly from: number; readonly n: number },
): BodyDocument {
  const lines = printableJson(indented(bodyText)).split("\n");
  const shown = fitting(
    lines
      .slice(from, from + n)
      .map((line) => (line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line)),
  );
  return { conversation, revision, sha256, bytes, encoder, transport, from, total: lines.length, lines: shown };
}

function indented(text: string): string {
  const body: unknown = JSON.parse(text);
  return JSON.stringify(body, null, 2);
}

const findable = ["edit", "answer", "break", "turn", "miss"] as const satisfies readonly FindDocument["what"][];

/** The next event of a kind behind a revision, or the one before it; null if there is none. */
function findRevision(
  { rows, groups, steps }: Reel,
  from: number,
  { what, direction }: { readonly what: FindDocument["what"]; readonly direction: 1 | -1 },
): number | null {
  if (what === "miss") {
    const misses = steps.filter(({ revision, outcome }) => (outcome?.tokens?.again ?? 0) > 0 && revision !== from);
    const found =
      direction === 1
        ? misses.find(({ revision }) => revision > from)
        : misses.findLast(({ revision }) => revision < from);
    return found?.revision ?? null;
  }
  const begins = new Set(what === "turn" ? groups.map((group) => group.from) : []);
  for (let revision = from + direction; revision >= 0 && revision < rows.length; revision += direction) {
    const mark = rows.mark(revision);
    if (mark === undefined) continue;
    if (what === "edit" && mark.editor !== null && mark.sign === "layer") return revision;
    if (what === "answer" && mark.type === "ResponseReceived") return revision;
    if (what === "break" && (mark.verdict === "rebased" || mark.verdict === "full")) return revision;
    if (begins.has(revision)) return revision;
  }
  return null;
}

type Last = VerifiedDocument["last"];

/** What this studio verified, and when: it says nothing about what it did not check. */
class Verifications {
  readonly #store: Pick<TurnlogStore, "log" | "codecs">;
  readonly #clock: () => number;
  readonly #last = new Map<ConversationId, NonNullable<Last>>();

  constructor(store: Pick<TurnlogStore, "log" | "codecs">, clock: () => number = Date.now) {
    this.#store = store;
    this.#clock = clock;
  }

  last(id: ConversationId): Last {
    return this.#last.get(id) ?? null;
  }

  async check(id: ConversationId): Promise<Last> {
    const { verification } = await import("../../operations/audit/verify.ts");
    const { isSound, problems, heads } = await verification(this.#store.log.store, {
      codecs: this.#store.codecs,
      conversations: [id],
    });
    const at = new Date(this.#clock()).toISOString();
    const problem = problems.find(({ conversation }) => conversation === id) ?? problems[0];
    const head = heads.get(conversationStream(id))?.revision ?? 0;
    const last = { at, isSound, revision: problem?.revision ?? head, problem: problem?.message ?? null };
    this.#last.set(id, last);
    return last;
  }
}
