import { Hono } from "hono/tiny";
import { isBillBy } from "../../analysis/costs/prices/bill-by.ts";
import { listConversations } from "../../analysis/lists/list.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { conversationIdSchema, conversationOfStream, conversationStream } from "../../domain/ids.ts";
import { comparePositions, type EventStore } from "../../log/ports/event-store.ts";
import { countJson } from "../documents/ls-document.ts";
import { chainOf } from "./chains.ts";
import { RefusedError } from "./failures.ts";
import type { Misses } from "./misses.ts";
import type { ChainsDocument, ChangesDocument } from "./page-documents.ts";
import { pricesFrom } from "./prices.ts";
import { listIn, wholeOf } from "./query.ts";

type Store = Pick<TurnlogStore, "events" | "log" | "bill" | "cache" | "search">;

/** The most conversations whose chains are read at once. */
const mostChains = 40;

/** What the page asks about the whole store: the documents of `ls`, `search` and `bill`, and what is new. */
export function storeRoutes(store: Store, { prices }: { readonly prices: string | undefined }): Hono {
  const { events } = store;
  const chains = new Chains(events);
  let misses: Misses | null = null;
  const pricesOfStudio = pricesFrom(prices);
  const routes = new Hono();
  routes.get("/conversations", async (context) => {
    const { cursor, sort, order, state, losses, label } = context.req.query();
    const [name, value] = (label ?? "").split("=", 2);
    const page = await listConversations(events, {
      ...{ limit: Math.min(500, wholeOf(context.req.query("n"), "n", 100)), withTotal: true },
      ...(cursor === undefined ? {} : { after: cursor }),
      ...(sort === "startedAt" ? { sort } : {}),
      ...(order === "ascending" ? { order } : {}),
      ...(isState(state) ? { state } : {}),
      ...(losses === "1" ? { losses: true } : {}),
      ...(name === undefined || name === "" ? {} : { labels: { [name]: value ?? "" } }),
    });
    const { conversations, total, hidden, next } = page;
    const asJson = await countJson(events, conversations);
    return context.json({ conversations, total: total ?? 0, hidden: hidden ?? 0, asJson, next });
  });
  routes.get("/chains", async (context) => {
    const found: Record<string, string> = {};
    for (const text of listIn(context, "ids").slice(0, mostChains)) {
      const id = conversationIdSchema.safeParse(text);
      if (id.success) found[id.data] = await chains.of(id.data);
    }
    return context.json({ chains: found } satisfies ChainsDocument);
  });
  routes.get("/search", async (context) => {
    const text = context.req.query("q") ?? "";
    if (!/[^\s"]/u.test(text)) throw new RefusedError(400, "input", { message: "give words to search for" });
    const { hits, hasMore } = await store.search(text, {
      limit: Math.min(200, wholeOf(context.req.query("n"), "n", 50)),
    });
    const told = hits.map(({ block, ...hit }) => ({ ...hit, blockId: block?.id ?? null, kind: block?.kind ?? null }));
    return context.json({ text, hits: told, hasMore });
  });
  routes.get("/bill", async (context) => {
    const { by = "model", since } = context.req.query();
    if (!isBillBy(by)) throw new RefusedError(400, "input", { message: `there is no bill by '${by.slice(0, 40)}'` });
    const ids = listIn(context, "conversations");
    return context.json(
      await store.bill({
        by,
        ...(since === undefined ? {} : { since }),
        ...(ids.length === 0 ? {} : { conversations: ids }),
        ...(prices === undefined ? {} : { prices }),
      }),
    );
  });
  routes.get("/cache", async (context) => {
    const { since } = context.req.query();
    return context.json(
      await store.cache({ ...(since === undefined ? {} : { since }), ...(prices === undefined ? {} : { prices }) }),
    );
  });
  routes.get("/misses", async (context) => {
    const { since } = context.req.query();
    // A page without a server loads this when it is asked for.
    misses ??= new (await import("./misses.ts")).Misses(events);
    return context.json(await misses.document(since === undefined ? null : since, await pricesOfStudio()));
  });
  routes.get("/changes", async (context) => context.json(await changesAfter(events, context.req.query("after"))));
  return routes;
}

const states = ["open", "running", "cut-off", "elsewhere", "parked"] as const;
const isState = (state: string | undefined): state is (typeof states)[number] => states.some((each) => each === state);

/** The chains of conversations, read again once they have grown. */
class Chains {
  readonly #events: EventStore;
  readonly #known = new Map<string, { readonly digest: string; readonly chain: string }>();

  constructor(events: EventStore) {
    this.#events = events;
  }

  async of(id: Parameters<typeof chainOf>[1]): Promise<string> {
    const digest = (await this.#events.head(conversationStream(id)))?.digest ?? "";
    const known = this.#known.get(id);
    if (known?.digest === digest) return known.chain;
    const chain = await chainOf(this.#events, id);
    if (this.#known.size > 5_000) this.#known.clear();
    this.#known.set(id, { digest, chain });
    return chain;
  }
}

/** The most events of one answer: the page asks again at once. */
const mostEvents = 1_000;

/** What was recorded after a position; without one, only the position of the newest event. */
async function changesAfter(events: EventStore, after: string | undefined): Promise<ChangesDocument> {
  if (after === undefined) {
    const end = await events.end?.();
    if (end !== undefined) return { after: end ?? "", changed: [], hasOrders: false };
  }
  const changed = new Map<string, number>();
  let last = after ?? "";
  const range = { limit: mostEvents, ...(last === "" ? {} : { after: last }) };
  // First these: whatever a conversation recorded before them is there when conversations are read.
  let ordered: string | null = null;
  for await (const { position } of events.readLog({ ...range, streamPrefix: "erasure-" })) ordered = position;
  let read = 0;
  for await (const { stream, revision, position } of events.readLog({ ...range, streamPrefix: "conversation-" })) {
    last = position;
    read += 1;
    const id = conversationOfStream(stream);
    if (id !== null) changed.set(id, revision);
  }
  if (ordered !== null && read < mostEvents && (last === "" || comparePositions(ordered, last) > 0)) last = ordered;
  return {
    after: last,
    changed: [...changed].map(([conversation, revision]) => ({ conversation, revision })),
    hasOrders: ordered !== null,
  };
}
