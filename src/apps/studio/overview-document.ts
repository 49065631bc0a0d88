import { cacheSum } from "../../analysis/costs/prices/cache-sum.ts";
import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import { worstOf } from "./chains.ts";
import {
  type CacheVerdict,
  groupStates,
  type OverviewDocument,
  type PackedGroup,
  type PackedRequest,
  type Part,
  type RequestsPage,
  type StripRequest,
  type Totals,
  verdicts,
} from "./page-documents.ts";
import type { Reel } from "./reel.ts";
import { moneyOf } from "./request-costs.ts";
import { msOf, type Step, shownVerdict } from "./step.ts";
import { firstFrom } from "./step-at.ts";

/** Groups and requests come in pages, so that an answer stays small however long the conversation is. */
const pageSizes = { groups: 400, requests: 400 } as const;

/** The first group and the first request that the page asks for; null for the newest. */
export type Wanted = { readonly groups: number | null; readonly requests: number | null };

/** What the page of a conversation needs first: its totals, and the newest of its strip and its log. */
export function overviewDocument(reel: Reel, wanted: Wanted, prices: PriceFile | null): OverviewDocument {
  const { view, rows, layers, head, damage, runs } = reel;
  const rewritten = rows.lastRevision(changesEarlier);
  return {
    conversation: reel.id,
    title: view.title,
    begins: reel.groups[0]?.words ?? "",
    labels: view.labels,
    parent: parentOf(view.origin),
    events: rows.length,
    digest: head?.digest ?? "",
    rewritten: rewritten < 0 ? null : rewritten,
    runs,
    isOpen: view.client.run !== null,
    layers: [...layers].map(([name, isOwn]) => ({ name, isOwn })),
    totals: totalsOf(reel, prices),
    groups: groupsPage(reel, wanted.groups),
    requests: requestsPage(reel, wanted.requests, prices),
    damage,
  };
}

/** A page of the groups of the log. */
export function groupsPage({ groups, steps }: Reel, wanted: number | null): Part<PackedGroup> {
  return part(groups, { wanted, size: pageSizes.groups }, ({ from, to, words, state }) => {
    const own = steps.slice(firstFrom(steps, from), firstFrom(steps, to + 1));
    const worst = worstOf(own.map(shownVerdict));
    return [from, to, words, groupStates.indexOf(state), worst === null ? -1 : verdicts.indexOf(worst)];
  });
}

/** A page of the strip. */
export function requestsPage({ steps }: Reel, wanted: number | null, prices: PriceFile | null): RequestsPage {
  const places = new Map<string, number>();
  const caches: CacheVerdict[] = [];
  const placeOf = (cache: CacheVerdict | null): number => {
    if (cache === null) return -1;
    const key = JSON.stringify(cache);
    const place = places.get(key) ?? caches.push(cache) - 1;
    places.set(key, place);
    return place;
  };
  return {
    ...part(steps, { wanted, size: pageSizes.requests }, (step): PackedRequest => {
      const { revision, verdict, bytes, heldBytes, ms, tokens, cache, money, missMoney } = stripRequest(step, prices);
      return [
        ...([revision, verdicts.indexOf(verdict), bytes, heldBytes, ms ?? -1] as const),
        ...([tokens?.input ?? -1, tokens?.output ?? -1, tokens?.read ?? -1, tokens?.written ?? -1] as const),
        ...([tokens?.again ?? -1, placeOf(cache)] as const),
        ...(prices === null ? [] : [money, missMoney]),
      ];
    }),
    caches,
  };
}

function part<Item, Packed>(
  items: readonly Item[],
  { wanted, size }: { readonly wanted: number | null; readonly size: number },
  pack: (item: Item) => Packed,
): Part<Packed> {
  const total = items.length;
  const from = Math.min(total, wanted ?? Math.max(0, total - size));
  return { from, total, items: items.slice(from, from + size).map(pack) };
}

/** A request as the strip shows it. */
function stripRequest(step: Step, prices: PriceFile | null): StripRequest {
  const { revision, data, heldBytes, outcome } = step;
  const { cells = [], miss = null } = outcome?.cost ?? {};
  const money = prices === null ? null : moneyOf(cells, prices);
  return {
    ...{ revision, heldBytes, bytes: data.requestBytes, verdict: shownVerdict(step), ms: msOf(step) },
    tokens: outcome?.tokens ?? null,
    cache: miss === null ? null : { cause: miss.cause, author: miss.author },
    money: money?.total ?? null,
    missMoney: money?.misses ?? null,
  };
}

/** The conversation that another one began from. */
function parentOf(origin: ConversationOrigin | null): OverviewDocument["parent"] {
  if (origin?.type === "fork") return { conversation: origin.conversationId, revision: origin.revision };
  return origin?.type === "child" ? { conversation: origin.conversationId, revision: null } : null;
}

/** What all requests come to: bytes as `turnlog ls` estimates them, tokens and money as `turnlog cache` and `turnlog bill` add them up. */
function totalsOf({ steps, costs }: Reel, prices: PriceFile | null): Totals {
  const { requests, tokens, money: missMoney } = cacheSum(costs.all, prices);
  const sum = { chained: 0, bytes: 0, heldBytes: 0, ms: 0, mostBytes: 0, mostTokens: 0 };
  for (const step of steps) {
    sum.chained += step.verdict === "chained" ? 1 : 0;
    sum.bytes += step.data.requestBytes;
    sum.heldBytes += step.heldBytes;
    sum.ms += msOf(step) ?? 0;
    sum.mostBytes = Math.max(sum.mostBytes, step.data.requestBytes + step.heldBytes);
    sum.mostTokens = Math.max(sum.mostTokens, step.outcome?.tokens?.input ?? 0);
  }
  const written = costs.all.flatMap((cell) => Object.values(cell.written)).reduce((all, each) => all + each, 0);
  return {
    untold: costs.all.reduce((all, { untold }) => all + untold, 0),
    ...{ ...sum, written, missMoney, cache: { requests, ...tokens } },
    money: prices === null ? null : moneyOf(costs.all, prices).total,
  };
}
