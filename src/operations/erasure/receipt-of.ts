import { counted } from "../../base/counted.ts";
import { countLines } from "../../domain/events/erased-places.ts";
import { conversationStream } from "../../domain/ids.ts";
import { type ErasureResult, type EventStore, envelopeAt } from "../../log/ports/event-store.ts";
import type { ErasureOrder } from "../../log/system-streams/erasures.ts";
import { exportsOf, type RecordedExport } from "../../log/system-streams/exports.ts";
import { type ErasureReceipt, erasureReceiptSchema } from "./receipt.ts";

/** The outcome of the steps of an erasure, for its receipt. */
export type Outcome = {
  readonly done: ErasureReceipt["done"];
  readonly search: ErasureReceipt["search"];
  /** What servers deleted first; null if none was asked. */
  readonly provider: NonNullable<ErasureReceipt["provider"]> | null;
  /** Projections of others, whose rows may contain words of it. */
  readonly others: readonly string[];
};

export async function receiptOf(store: EventStore, order: ErasureOrder, outcome: Outcome): Promise<ErasureReceipt> {
  const ids = new Set(order.conversations.map(({ id }) => id));
  const conversations = [];
  for (const { id, head, places, blockIds = [] } of order.conversations) {
    // A conversation that has lost lines goes on.
    const after = await envelopeAt(store, conversationStream(id), head.revision + 1);
    if (after === null) continue;
    const { revision, digest } = after;
    conversations.push({
      ...{ id, before: head, after: { revision, digest } },
      ...(places === undefined ? {} : { places, blockIds }),
    });
  }
  const exports = (await exportsOf(store, ids)).filter(({ at }) => at <= order.orderedAt);
  const { done, search, provider } = outcome;
  const leftOver = leftOf(order, {
    ...outcome,
    exports: exports.filter((each) => mayContain(each, order.conversations)).length,
  });
  return {
    finished: leftOver.length === 0,
    ...{ format: "turnlog-erasure-receipt", version: 1, orderId: order.orderId, storeId: store.storeId },
    ordered: { at: order.orderedAt, by: order.by, ground: order.ground, ticket: order.ticket },
    ...{ kept: order.kept, conversations, done },
    ...(provider === null ? {} : { provider }),
    ...{ search, leftOver },
    exports: exports.map((each) => ({ ...each, conversations: each.conversations && [...each.conversations] })),
  };
}

/** An export, as recorded or as a document says it. */
type Export = Pick<RecordedExport, "kind" | "isRedacted" | "sha256"> & {
  readonly conversations: readonly string[] | null;
};

/**
 * Whether an export may contain something of what an order erases: conversations, or their lines at `places` (decision 0123). Of lines, a
 * redacted bundle has the commitments only. Of a conversation that is erased as a whole it has the facts as well, and of one in `json` digests.
 */
export function mayContain(
  { kind, isRedacted, sha256, conversations }: Export,
  erased: readonly { readonly id: string; readonly places?: unknown }[],
): boolean {
  // A page is no bundle: its masks say how long a text was.
  if (kind !== "bundle" || !isRedacted || sha256 === null) return true;
  return erased.some(
    ({ id, places }) => places === undefined && (conversations === null || conversations.includes(id)),
  );
}

function leftOf(
  order: ErasureOrder,
  { done, search, others, exports }: Outcome & { readonly exports: number },
): ErasureReceipt["leftOver"] {
  const left: ErasureReceipt["leftOver"] = [];
  const add = (place: ErasureReceipt["leftOver"][number]["place"], reason: string): void => {
    left.push({ place, reason });
  };
  if (done.scrub?.status === "busy")
    add("file", "another process reads an older state of the file: continue the order when it has ended");
  if (typeof search === "object" && search.found > 0)
    add("file", `${counted(search.found, "piece")} of the erased texts are still in the store's files`);
  for (const { id, stored } of order.keepStored === true ? [] : order.conversations) {
    if (stored === 0) continue;
    const what =
      stored === null
        ? "what servers hold of it is not known"
        : `servers may hold ${counted(stored, "thing")} that they stored for it`;
    add("provider", `${id}: ${what}; delete them there`);
  }
  if (others.length > 0) add("rows", `rows of ${others.join(", ")} may contain words of it: rebuild them`);
  if (exports > 0)
    add("copies", `${counted(exports, "export")} left the store before and may contain it: tell who holds them`);
  return left;
}

/** What earlier attempts of an order did, by its newest receipt; null if it has none. */
function doneBefore({ receipt }: ErasureOrder): ErasureReceipt["done"] | null {
  const before = receipt === null ? null : erasureReceiptSchema.safeParse(receipt);
  return before?.success === true ? before.data.done : null;
}

/** Whether an earlier attempt rewrote the store's files as a whole. */
export const wasRewritten = (order: ErasureOrder): boolean => doneBefore(order)?.scrub?.isRewritten === true;

/** The counts of a continued order include all its attempts, because what was emptied before stays empty. */
export function countsOf(
  { removedEvents, snapshots, rows }: Extract<ErasureResult, { status: "erased" }>,
  order: ErasureOrder,
) {
  const earlier = doneBefore(order) ?? { blobEvents: 0, snapshots: 0, rows: 0 };
  let [events, lines] = [0, 0];
  for (const { head, places } of order.conversations) {
    if (places === undefined) events += head.revision + 1;
    else lines += countLines(places);
  }
  return {
    ...{ events, lines },
    blobEvents: earlier.blobEvents + removedEvents,
    snapshots: earlier.snapshots + snapshots,
    rows: earlier.rows + rows,
  };
}
