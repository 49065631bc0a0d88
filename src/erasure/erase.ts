import { counted } from "../base/counted.ts";
import { choiceOf, kindOf, optionsOf, required, type ValueCheck } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Actor } from "../domain/actor.ts";
import type { ConversationId } from "../domain/ids.ts";
import { conversationStream } from "../domain/ids.ts";
import { contentErased, isErased, orderIdIn } from "../log/codec/erased.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { createEventIds, randomId } from "../log/codec/ids.ts";
import { prepareAppend } from "../log/codec/prepare.ts";
import {
  type ErasureResult,
  type EventStore,
  envelopeAt,
  type Head,
  type PreparedAppend,
} from "../log/ports/event-store.ts";
import { appendRecord } from "../records/append-record.ts";
import {
  type ErasureOrder,
  type ErasureOrdered,
  erasureCodeSchema,
  erasureStream,
  readErasureOrder,
} from "../records/erasures.ts";
import { exportsOf } from "../records/exports.ts";
import { bereftForkIn, blobStreamsIn, type ErasurePlan, mustErase, refused } from "./plan.ts";
import { type ErasureReceipt, erasureReceiptSchema } from "./receipt.ts";

/** Who requests an erasure, and why: codes, which stay in the log. */
export type ErasureReason = {
  /** An alias of the person who erases. */
  readonly by: string;
  /** Such as `gdpr-17`. */
  readonly ground: string;
  /** Where it was requested. */
  readonly ticket?: string;
  /** `skeleton`, by default: types, versions and times of events stay. `digests`: only their digests stay. */
  readonly kept?: "skeleton" | "digests";
};

const code: ValueCheck<string> = (what, given) => {
  const checked = erasureCodeSchema.safeParse(given);
  if (checked.success) return checked.data;
  throw new TypeError(`${what} is ${kindOf(given)}: ${checked.error.issues[0]?.message ?? "give a code"}`);
};

const reasonOptions = optionsOf<ErasureReason>({
  ...{ by: required(code), ground: required(code), ticket: code, kept: choiceOf("skeleton", "digests") },
});

type Erasing = {
  readonly clock: () => number;
  /** The keys of a conversation's rows in the store's own projections, and the names of these projections. */
  readonly rowsOf: (id: ConversationId, events: number) => readonly string[];
  readonly projections: ReadonlySet<string>;
};

/**
 * Erases the conversations of a plan. The order is recorded first, so that `resumeErasure` can continue an interrupted erasure.
 *
 * @throws {TurnlogError} `erasure-refused` if a conversation has changed since it was planned, and `access-denied` if `mayErase` does not allow
 *   it; nothing was erased then.
 * @throws {TypeError} if a reason is not a code.
 */
export async function erase(
  log: EventLog,
  plan: ErasurePlan,
  { reason, ...erasing }: Erasing & { readonly reason: ErasureReason },
): Promise<ErasureReceipt> {
  mustErase(log.store);
  if (plan.storeId !== log.store.storeId) throw refused("the plan was made of another store: plan again");
  reasonOptions.check("erase", reason);
  const { by, ground, ticket, kept = "skeleton" } = reason;
  for (const { id, head } of plan.conversations)
    if (!(await isAt(log.store, id, head)))
      throw refused(`${id} is not what it was when the erasure was planned: plan again`);
  await log.store.checkErasure?.(
    plan.conversations.map(({ id, head }) => ({ stream: conversationStream(id), to: head.revision })),
  );
  const order: ErasureOrdered = {
    ...{ orderId: randomId("era"), by, ground, ticket: ticket ?? null, kept },
    conversations: plan.conversations.map(({ id, head, stored }) => ({ id, head: { ...head }, stored })),
  };
  await appendRecord(
    log,
    erasureStream(order.orderId),
    { type: "ErasureOrdered", version: 1, data: order },
    operatorOf(order),
  );
  return finish(log, await mustRead(log.store, order.orderId), erasing);
}

/**
 * Continues an order: does not repeat what was done already, and retries what was left over.
 *
 * @throws {TurnlogError} `erasure-not-found` if there is no such order.
 */
export async function resumeErasure(log: EventLog, orderId: string, erasing: Erasing): Promise<ErasureReceipt> {
  mustErase(log.store);
  const order = await mustRead(log.store, orderId);
  if (order.isRefused) throw refused(`the order ${orderId} was refused, and nothing was erased: plan again`);
  return finish(log, order, erasing);
}

async function mustRead(store: EventStore, orderId: string): Promise<ErasureOrder> {
  const order = await readErasureOrder(store, orderId);
  if (order !== null) return order;
  throw new TurnlogError("erasure-not-found", `this store has no erasure ${orderId}`);
}

async function isAt(store: EventStore, id: ConversationId, { revision, digest }: Head): Promise<boolean> {
  const now = await store.head(conversationStream(id));
  return now?.revision === revision && now.digest === digest;
}

/** Ends an order that has erased nothing: one transaction erases all its conversations, or none. */
async function refuse(log: EventLog, order: ErasureOrder, reason: string): Promise<TurnlogError> {
  const data = { reason };
  if (!order.isRefused)
    await appendRecord(
      log,
      erasureStream(order.orderId),
      { type: "ErasureRefused", version: 1, data },
      operatorOf(order),
    );
  return refused(`${reason}: plan again`);
}

const operatorOf = ({ by }: Pick<ErasureOrdered, "by">): Actor => ({ kind: "operator", name: by });

async function finish(log: EventLog, order: ErasureOrder, erasing: Erasing): Promise<ErasureReceipt> {
  const { store } = log;
  mustErase(store);
  const ids = new Set(order.conversations.map(({ id }) => id));
  const fences: PreparedAppend[] = [];
  for (const { id, head } of order.conversations) {
    const stream = conversationStream(id);
    const now = await store.head(stream);
    const newest = now === null ? null : await envelopeAt(store, stream, now.revision);
    if (newest !== null && isErased(newest) && orderIdIn(newest.data) === order.orderId) continue;
    if (!(await isAt(store, id, head)))
      throw await refuse(log, order, `${id} is not what it was when the erasure was planned`);
    fences.push(fenceOf(order, { stream, head, lastAt: newest?.at ?? null, clock: erasing.clock }));
  }
  const bereft = fences.length === 0 ? null : await bereftForkIn(store, ids);
  if (bereft !== null) throw await refuse(log, order, bereft);
  const removed = [...(await blobStreamsIn(store, ids)).values()].flat();
  const rows = order.conversations.flatMap(({ id, head }) => erasing.rowsOf(id, head.revision + 1));
  const result = await store.erase({ orderId: order.orderId, fences, kept: order.kept, removed, rows });
  if (result.status === "conflict") throw await refuse(log, order, `${result.stream} was written to meanwhile`);
  const scrub = (await store.scrub?.()) ?? null;
  const done = { at: new Date(erasing.clock()).toISOString(), ...countsOf(result, order), scrub };
  const receipt = await receiptOf(store, order, {
    done,
    others: result.projections.filter((name) => !erasing.projections.has(name)),
  });
  const data = { receipt };
  await appendRecord(
    log,
    erasureStream(order.orderId),
    { type: "ErasureFinished", version: 1, data },
    operatorOf(order),
  );
  return receipt;
}

/** The counts of a continued order include all its attempts, because events emptied before stay empty. */
function countsOf(
  { removedEvents, snapshots, rows }: Extract<ErasureResult, { status: "erased" }>,
  order: ErasureOrder,
) {
  const before = order.receipt === null ? null : erasureReceiptSchema.safeParse(order.receipt);
  const earlier = before?.success === true ? before.data.done : { blobEvents: 0, snapshots: 0, rows: 0 };
  const events = order.conversations.reduce((sum, { head }) => sum + head.revision + 1, 0);
  return {
    events,
    blobEvents: earlier.blobEvents + removedEvents,
    snapshots: earlier.snapshots + snapshots,
    rows: earlier.rows + rows,
  };
}

type Fencing = {
  readonly stream: string;
  readonly head: Head;
  readonly lastAt: string | null;
  readonly clock: () => number;
};

/** The append of the event that marks all events before it as erased. */
function fenceOf(order: ErasureOrder, { stream, head, lastAt, clock }: Fencing): PreparedAppend {
  const data = { orderId: order.orderId, events: head.revision + 1, kept: order.kept };
  const event = { type: contentErased, version: 1, data };
  const { appends } = prepareAppend({
    ...{ stream, head, lastAt, clock, newEventId: createEventIds({ clock }) },
    events: [{ event, actor: operatorOf(order) }],
  });
  const [fence] = appends;
  if (fence === undefined) throw new Error("one event is one append");
  return fence;
}

type Done = { readonly done: ErasureReceipt["done"]; readonly others: readonly string[] };

async function receiptOf(store: EventStore, order: ErasureOrder, { done, others }: Done): Promise<ErasureReceipt> {
  const ids = new Set(order.conversations.map(({ id }) => id));
  const conversations = [];
  for (const { id, head } of order.conversations) {
    const after = await store.head(conversationStream(id));
    if (after !== null) conversations.push({ id, before: head, after: { ...after } });
  }
  const exports = await exportsOf(store, ids);
  const leftOver = leftOf(order, { done, others, exports: exports.length });
  return {
    finished: leftOver.length === 0,
    ...{ format: "turnlog-erasure-receipt", version: 1, orderId: order.orderId, storeId: store.storeId },
    ordered: { at: order.orderedAt, by: order.by, ground: order.ground, ticket: order.ticket },
    ...{ kept: order.kept, conversations, done, search: "not-searched", leftOver },
    exports: exports.map((each) => ({ ...each, conversations: each.conversations && [...each.conversations] })),
  };
}

function leftOf(
  order: ErasureOrder,
  { done, others, exports }: Done & { readonly exports: number },
): ErasureReceipt["leftOver"] {
  const left: ErasureReceipt["leftOver"] = [];
  if (done.scrub?.status === "busy")
    left.push({
      place: "file",
      reason: "another process reads an older state of the file: go on with the order when it has ended",
    });
  for (const { id, stored } of order.conversations) {
    if (stored === 0) continue;
    const what =
      stored === null
        ? "what servers hold of it is not known"
        : `servers may hold ${counted(stored, "thing")} that they stored for it`;
    left.push({ place: "provider", reason: `${id}: ${what}; delete them there` });
  }
  if (others.length > 0)
    left.push({ place: "rows", reason: `rows of ${others.join(", ")} may hold words of it: rebuild them` });
  if (exports > 0)
    left.push({ place: "copies", reason: `${counted(exports, "export")} left the store before: tell who holds them` });
  return left;
}
