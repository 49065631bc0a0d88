import { anything, checkFlag, choiceOf, kindOf, optionsOf, required, type ValueCheck } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { groupPlaces } from "../../domain/events/erased-places.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { randomId } from "../../log/codec/ids.ts";
import { forgetNames } from "../../log/codec/stream-names.ts";
import type { EventStore, Head } from "../../log/ports/event-store.ts";
import { StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { appendMade, appendRecord } from "../../log/system-streams/append-record.ts";
import {
  type ErasureOrder,
  type ErasureOrdered,
  erasureCodeSchema,
  erasureStream,
  readErasureOrder,
} from "../../log/system-streams/erasures.ts";
import { fencesFor, isFenced, operatorOf } from "./fences.ts";
import { bereftForkIn, blobStreamsIn, type ErasurePlan, mustErase } from "./plan.ts";
import type { ErasureReceipt } from "./receipt.ts";
import { countsOf, type Outcome, receiptOf, wasRewritten } from "./receipt-of.ts";
import { refused } from "./refused.ts";
import { searchFiles, textsOf } from "./search-files.ts";

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
  /** The provider, or several, that are asked to delete what they stored for the conversations. Without it, that is left over. */
  readonly provider?: Provider | readonly Provider[];
  /** What servers stored for the conversations is left there on purpose, so the receipt does not list it as left over. */
  readonly keepStored?: boolean;
  /** Rewrites the store's files as a whole afterwards, even if nothing requires it. */
  readonly vacuum?: boolean;
  /** Called while the store's files are searched for the erased texts, with the bytes so far. */
  readonly onSearch?: (bytes: number) => void;
};

const code: ValueCheck<string> = (what, given) => {
  const checked = erasureCodeSchema.safeParse(given);
  if (checked.success) return checked.data;
  throw new TypeError(`${what} is ${kindOf(given)}: ${checked.error.issues[0]?.message ?? "give a code"}`);
};

const reasonOptions = optionsOf<ErasureReason>({
  ...{ by: required(code), ground: required(code), ticket: code, kept: choiceOf("skeleton", "digests") },
  ...{ provider: anything, keepStored: checkFlag, vacuum: checkFlag, onSearch: anything },
});

type Deleted = NonNullable<Outcome["provider"]>;

export type Erasing = {
  readonly clock: () => number;
  /** The keys of a conversation's rows in the store's own projections, and the names of these projections. */
  readonly rowsOf: (id: ConversationId, events: number) => readonly string[];
  readonly projections: ReadonlySet<string>;
  /** Deletes what servers stored for a conversation, and says how much they may still hold; null if no provider was given. */
  readonly deleteStored: ((id: ConversationId) => Promise<Deleted & { readonly left: number }>) | null;
};

/**
 * Erases what a plan lists. The order is recorded first, so that `resumeErasure` can continue an interrupted erasure.
 *
 * @throws {TurnlogError} `erasure-refused` if a conversation has changed since it was planned, and `access-denied` if `mayErase` does not allow
 *   it; nothing was erased then.
 * @throws {StoreUnavailableError} if the store fails. Once the order is recorded, the message names it and how to continue it.
 * @throws {TypeError} if a reason is not a code.
 */
export async function erase(
  log: EventLog,
  plan: ErasurePlan,
  { reason, ...erasing }: Erasing & { readonly reason: ErasureReason },
): Promise<ErasureReceipt> {
  const { store } = log;
  mustErase(store);
  if (plan.storeId !== store.storeId) throw refused("the plan was made of another store: plan again");
  reasonOptions.check("erase", reason);
  for (const { id, head } of [...plan.conversations, ...plan.lines])
    if (!(await isAt(store, id, head)))
      throw refused(`${id} is not what it was when the erasure was planned: plan again`);
  await checkAllowed(store, plan);
  const { keepStored = false, onSearch } = reason;
  const { deleteStored } = erasing;
  const provider = deleteStored === null || keepStored ? null : await deleteAll(store, plan, deleteStored);
  const order = orderOf(provider?.plan ?? plan, reason);
  await appendRecord(
    log,
    erasureStream(order.orderId),
    { type: "ErasureOrdered", version: 1, data: order },
    operatorOf(order),
  );
  return toContinue(order.orderId, async () => {
    const texts = store.files === undefined ? null : await textsOf(store, order);
    const search = async (): Promise<Outcome["search"]> =>
      (texts && (await searchFiles(store, texts, onSearch))) ?? "no-files";
    const about = { provider: provider?.deleted ?? null, search };
    return finish(log, await mustRead(store, order.orderId), { ...erasing, ...about });
  });
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
  const notSearched = log.store.files === undefined ? "no-files" : "not-searched";
  const about = { provider: null, search: async () => notSearched };
  return toContinue(orderId, () => finish(log, order, { ...erasing, ...about }));
}

/** Says how to continue an order that the store has kept from being finished, such as on a full disk. */
async function toContinue<T>(orderId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const advice = `the erasure ${orderId} is not finished: continue it with \`turnlog erase --resume ${orderId}\``;
    throw new StoreUnavailableError(`${error.message}; ${advice}`, { cause: error });
  }
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

const checkAllowed = async (store: EventStore, { conversations, lines }: ErasurePlan): Promise<void> =>
  store.checkErasure?.([
    ...conversations.map(({ id, head }) => ({
      ...{ stream: conversationStream(id), places: [{ from: 0, to: head.revision }] },
    })),
    ...lines.map(({ id, places }) => ({
      ...{ stream: conversationStream(id), places: places.map(({ revision }) => ({ from: revision, to: revision })) },
    })),
  ]);

/** What a deletion at a server appends. Other events that came meanwhile were not planned, and may contain what is to be erased. */
const eventsOfDeletion: ReadonlySet<string> = new Set([
  "AnchorInvalidated",
  "ResponseDeleted",
  "ServerConversationDeleted",
]);

/** @throws {TurnlogError} `erasure-refused` if something else than the deletion was appended after `planned`. */
async function headAfterDeletion(store: EventStore, id: ConversationId, planned: Head): Promise<Head> {
  let head = planned;
  for await (const { type, revision, digest } of store.readStream(conversationStream(id), {
    from: planned.revision + 1,
  })) {
    if (!eventsOfDeletion.has(type))
      throw refused(`${id} was written to while a server deleted what it stored; nothing was erased here: plan again`);
    head = { revision, digest };
  }
  return head;
}

/** What servers stored is deleted first, because the log of a whole conversation says afterwards no more what that was. */
async function deleteAll(store: EventStore, plan: ErasurePlan, deleteStored: NonNullable<Erasing["deleteStored"]>) {
  const deleted = { deleted: 0, missing: 0, failed: 0 };
  const withoutStored = async <Planned extends ErasurePlan["conversations" | "lines"][number]>(planned: Planned) => {
    const { id, stored, head } = planned;
    if (stored === 0) return planned;
    const { left, ...counts } = await deleteStored(id);
    for (const name of ["deleted", "missing", "failed"] as const) deleted[name] += counts[name];
    return { ...planned, head: await headAfterDeletion(store, id, head), stored: left };
  };
  const conversations = [];
  for (const each of plan.conversations) conversations.push(await withoutStored(each));
  const lines = [];
  for (const each of plan.lines) lines.push(await withoutStored(each));
  return { plan: { ...plan, conversations, lines }, deleted };
}

function orderOf(
  plan: ErasurePlan,
  { by, ground, ticket, kept = "skeleton", vacuum = false, keepStored = false }: ErasureReason,
): ErasureOrdered {
  return {
    ...{ orderId: randomId("era"), by, ground, ticket: ticket ?? null, kept },
    ...(vacuum ? { vacuum } : {}),
    ...(keepStored ? { keepStored } : {}),
    conversations: [
      ...plan.conversations.map(({ id, head, stored }) => ({ id, head: { ...head }, stored })),
      ...plan.lines.map(({ id, head, stored, places, blockIds, blobs }) => ({
        ...{ id, head: { ...head }, stored, places: groupPlaces(places) },
        ...{ blockIds: [...blockIds], blobs: [...blobs] },
      })),
    ],
  };
}

/** Ends an order that has erased nothing: one transaction erases all its conversations, or none. */
async function refuse(log: EventLog, order: ErasureOrder, reason: string): Promise<TurnlogError> {
  const refusal = { type: "ErasureRefused", version: 1, data: { reason } };
  if (!order.isRefused) await appendRecord(log, erasureStream(order.orderId), refusal, operatorOf(order));
  return refused(`${reason}: plan again`);
}

type Finishing = Erasing &
  Pick<Outcome, "provider"> & {
    readonly search: () => Promise<Outcome["search"]>;
  };

async function finish(log: EventLog, order: ErasureOrder, finishing: Finishing): Promise<ErasureReceipt> {
  const { store } = log;
  mustErase(store);
  const { clock, provider } = finishing;
  const left = [];
  for (const conversation of order.conversations) {
    if (await isFenced(store, order, conversation)) continue;
    if (!(await isAt(store, conversation.id, conversation.head)))
      return stop(log, order, {
        reason: `${conversation.id} is not what it was when the erasure was planned`,
        finishing,
      });
    left.push(conversation);
  }
  const whole = new Set(order.conversations.flatMap(({ id, places }) => (places === undefined ? [id] : [])));
  const bereft = left.length === 0 ? null : await bereftForkIn(store, whole);
  if (bereft !== null) return stop(log, order, { reason: bereft, finishing });
  const { orderId, kept } = order;
  // Of conversations that go on, later events may have made rows and long texts again.
  const again = [...left, ...order.conversations.filter(({ id }) => whole.has(id))];
  const result = await store.erase({
    ...{ orderId, kept, ...(await fencesFor(store, order, { left, clock })) },
    removed: [...(await blobStreamsIn(store, whole)).values(), ...left.map(({ blobs = [] }) => blobs)].flat(),
    rows: again.flatMap(({ id, head }) => finishing.rowsOf(id, head.revision + 1)),
  });
  for (const { id } of left) forgetNames(store, conversationStream(id));
  if (result.status === "conflict")
    return stop(log, order, { reason: `${result.stream} was written to meanwhile`, finishing });
  const scrubbed = (await store.scrub?.({ force: order.vacuum === true && !wasRewritten(order) })) ?? null;
  const search = await finishing.search();
  const others = result.projections.filter((name) => !finishing.projections.has(name));
  const finished = await appendMade(log, erasureStream(orderId), {
    async make() {
      // Another process may have continued the order meanwhile, and the counts include what it did.
      const newest = await mustRead(store, orderId);
      const scrub = scrubbed && { ...scrubbed, isRewritten: scrubbed.isRewritten || wasRewritten(newest) };
      const done = { at: new Date(clock()).toISOString(), ...countsOf(result, newest), scrub };
      const receipt = await receiptOf(store, newest, { done, search, provider, others });
      return { type: "ErasureFinished", version: 1, data: { receipt } };
    },
    actor: operatorOf(order),
  });
  return finished.data.receipt;
}

/** Ends an order that cannot be carried out, unless another process has just carried it out: then this one continues it. */
async function stop(
  log: EventLog,
  order: ErasureOrder,
  { reason, finishing }: { readonly reason: string; readonly finishing: Finishing },
): Promise<ErasureReceipt> {
  for (const each of order.conversations)
    if (!(await isFenced(log.store, order, each))) throw await refuse(log, order, reason);
  return finish(log, order, finishing);
}
