import { TurnlogError } from "../../base/turnlog-error.ts";
import { type ConversationId, conversationOfStream, conversationStream } from "../../domain/ids.ts";
import { isErased } from "../../log/codec/erased.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { foldStreamNow } from "../../log/read-models/key-fold.ts";
import type { CatchUpOptions, RowProjector } from "../../log/read-models/row-projector.ts";
import { erasureOrders } from "../../log/system-streams/erasures.ts";
import type { Projection } from "../../projections/projection.ts";
import { withRows } from "../lists/rows.ts";
import type { Billed } from "./bill-names.ts";
import { answerCounts } from "./rows/answer-counts.ts";
import { type BillDetail, type BillView, billOf, cellsOf, childrenOf } from "./rows/bill.ts";

/** The rows of conversations; how many were erased is null if this caller may not read that. */
type Found = { readonly billed: readonly Billed[]; readonly erased: number | null };

/** Reads rows. A caller who may not read them gets the named conversations from their events. */
export async function readBilled(
  events: EventStore,
  wanted: readonly ConversationId[] | null,
  { projection, ...progress }: CatchUpOptions & { readonly projection: Projection<BillView> },
): Promise<Found> {
  try {
    return await withRows(
      events,
      projection,
      async (rows) => (wanted === null ? allIn(events, rows) : namedIn(events, rows, wanted)),
      progress,
    );
  } catch (error) {
    if (wanted === null || !isDenied(error)) throw error;
    return folded(events, wanted, projection);
  }
}

const isDenied = (error: unknown): boolean => error instanceof TurnlogError && error.code === "access-denied";

async function allIn(events: EventStore, rows: RowProjector<BillView>): Promise<Found> {
  const billed: Billed[] = [];
  for await (const { key, view, quarantine } of rows.readAll()) {
    const id = conversationOfStream(key);
    if (id !== null) billed.push({ id, view, isDamaged: quarantine !== null });
  }
  return { billed, erased: await countErased(events) };
}

async function countErased(events: EventStore): Promise<number | null> {
  const erased = new Set<string>();
  try {
    for await (const { conversations, isRefused } of erasureOrders(events))
      for (const { id } of isRefused ? [] : conversations)
        for await (const first of events.readStream(conversationStream(id), { limit: 1 }))
          if (isErased(first)) erased.add(id);
    return erased.size;
  } catch (error) {
    if (isDenied(error)) return null;
    throw error;
  }
}

/** The named conversations, and those of their subagents. */
async function namedIn(
  events: EventStore,
  rows: RowProjector<BillView>,
  wanted: readonly ConversationId[],
): Promise<Found> {
  const billed = new Map<ConversationId, Billed>();
  let erased = 0;
  const open = [...wanted];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (billed.has(id)) continue;
    const row = await rows.read(conversationStream(id));
    if (row === null) {
      if ((await events.head(conversationStream(id))) === null) throw notFound(id);
      erased += 1;
      continue;
    }
    billed.set(id, { id, view: row.view, isDamaged: row.quarantine !== null });
    for await (const child of childrenIn(rows, id)) open.push(child);
  }
  return { billed: [...billed.values()], erased };
}

const pageSize = 1_000;

async function* childrenIn(rows: RowProjector<BillView>, parent: ConversationId): AsyncIterable<ConversationId> {
  const range = { lists: [childrenOf(parent)], from: null, until: null, order: "ascending", limit: pageSize } as const;
  for (let after: { readonly at: string; readonly key: string } | null = null; ; ) {
    const page = await rows.readListed({ ...range, after });
    for (const { key } of page) {
      const id = conversationOfStream(key);
      if (id !== null) yield id;
    }
    after = page.at(-1) ?? null;
    if (page.length < pageSize) return;
  }
}

async function folded(
  events: EventStore,
  wanted: readonly ConversationId[],
  projection: Projection<BillView>,
): Promise<Found> {
  const billed: Billed[] = [];
  let erased = 0;
  for (const id of wanted) {
    const state = await foldStreamNow(events, projection, conversationStream(id));
    if (state === null) throw notFound(id);
    if (state === "erased") erased += 1;
    else billed.push({ id, view: state.view, isDamaged: state.quarantine !== null });
  }
  return { billed, erased };
}

const notFound = (id: string): TurnlogError => new TurnlogError("not-found", `there is no conversation ${id}`);

/** Counts what a bill reads: the events that its rows have not seen, and after them those that are read for what rows do not tell apart. */
export function countReads(onProgress: (events: number) => void = () => undefined) {
  let read = 0;
  return {
    onProgress: (events: number): void => {
      read = events;
      onProgress(read);
    },
    onEvent: (): void => {
      read += 1;
      if (read % 1_000 === 0) onProgress(read);
    },
  };
}

type InDetail = BillDetail & {
  readonly runs: boolean;
  readonly since: string | null;
  /** Called after each event that is read. */
  readonly onEvent: () => void;
};

/** The same conversation with what its row lacks, read from its events: its runs, and a day of which only a part counts. */
export async function inDetail(
  events: EventStore,
  billed: Billed,
  { runs, since, onEvent, ...detail }: InDetail,
): Promise<Billed> {
  const day = since === null || since.endsWith("T00:00:00.000Z") ? null : since.slice(0, 10);
  const isPartial = day !== null && cellsOf(billed.view).some((cell) => cell.day === day);
  if (!runs && !isPartial) return billed;
  const projection = billOf(answerCounts, { ...detail, runs, since: isPartial ? since : null });
  const state = await foldStreamNow(events, projection, conversationStream(billed.id), onEvent);
  return state === null || state === "erased" ? billed : { ...billed, view: state.view };
}
