import { TurnlogError } from "../base/turnlog-error.ts";
import { isEndedBySkip } from "../domain/ended-by-skip.ts";
import {
  blobStreamsOf,
  type ConversationId,
  conversationOfBlob,
  conversationOfStream,
  conversationStream,
} from "../domain/ids.ts";
import { decodeData } from "../log/codec/data.ts";
import { ConversationErasedError, isErased } from "../log/codec/erased.ts";
import { isOfTheStore } from "../log/codec/recorded.ts";
import { parentOf } from "../log/history/parent.ts";
import { type EventStore, envelopeAt, type Head, type StoredEnvelope } from "../log/ports/event-store.ts";
import { exportsOf, type RecordedExport } from "../records/exports.ts";

/** The contents of one conversation that would be erased. */
export type PlannedConversation = {
  readonly id: ConversationId;
  /** The erasure is refused if the head has changed by then. */
  readonly head: Head;
  readonly events: number;
  /** UTF-16 units of its events' texts, without its long texts. */
  readonly size: number;
  /** Streams of its long texts. */
  readonly blobs: readonly string[];
  /** Responses and objects of it that servers may still hold; null if unknown. */
  readonly stored: number | null;
  /** Conversations that began from it and do not inherit its events: children, whose own text is not erased. */
  readonly children: readonly ConversationId[];
};

/** What an erasure would do. Nothing has been done yet. */
export type ErasurePlan = {
  readonly storeId: string;
  readonly conversations: readonly PlannedConversation[];
  /** Conversations that left the store before; an erasure does not reach them. */
  readonly exports: readonly RecordedExport[];
};

export type ErasurePlanOptions = {
  readonly conversations: readonly ConversationId[];
  /** How many responses and objects servers may still hold of a conversation. */
  readonly stored: (id: ConversationId) => Promise<number>;
};

/** Maximum number of conversations in one order: its receipt has to fit into an event. */
const maxErasedAtOnce = 500;

/**
 * Plans the erasure of whole conversations. Decodes only what it has to, so that damaged conversations can be erased.
 *
 * @throws {TurnlogError} `store-cannot-erase` if the store cannot erase, `not-found`, and `erasure-refused` if a run is open, or if
 *   forks inherit events that would be erased and are not part of the plan.
 * @throws {ConversationErasedError} for a conversation that was erased.
 */
export async function planErasure(
  store: EventStore,
  { conversations: named, stored }: ErasurePlanOptions,
): Promise<ErasurePlan> {
  mustErase(store);
  const asked = new Set(named);
  if (asked.size === 0) throw refused("no conversation is named: name at least one");
  if (asked.size > maxErasedAtOnce)
    throw refused(
      `${asked.size} conversations are named, and one order takes ${maxErasedAtOnce}: erase them in several`,
    );
  const [beganFrom, blobs] = [await childrenOf(store, asked), await blobStreamsIn(store, asked)];
  const bereft = bereftFork(beganFrom, asked);
  if (bereft !== null) throw refused(bereft);
  const conversations: PlannedConversation[] = [];
  for (const id of asked) {
    const { children = [] } = beganFrom.get(id) ?? {};
    const about = { blobs: blobs.get(id) ?? [], stored: await storedOf(id, stored), children };
    conversations.push({ ...(await held(store, id)), ...about });
  }
  return { storeId: store.storeId, conversations, exports: await exportsOf(store, asked) };
}

/** Which forks would lose the events that they inherit, in words; null if there are none. A fork may begin after the plan was made. */
export async function bereftForkIn(store: EventStore, asked: ReadonlySet<ConversationId>): Promise<string | null> {
  return bereftFork(await childrenOf(store, asked), asked);
}

function bereftFork(beganFrom: Began, asked: ReadonlySet<ConversationId>): string | null {
  for (const [id, { forks }] of beganFrom) {
    const left = forks.filter((fork) => !asked.has(fork));
    const [are, them] = left.length === 1 ? ["is a fork", "it"] : ["are forks", "them"];
    if (left.length > 0)
      return `${left.join(", ")} ${are} of ${id} and would lose what came before: name ${them} as well`;
  }
  return null;
}

/** @throws {TurnlogError} `store-cannot-erase`. */
export function mustErase(store: EventStore): asserts store is EventStore & Required<Pick<EventStore, "erase">> {
  if (store.erase !== undefined) return;
  throw new TurnlogError(
    "store-cannot-erase",
    "this store cannot take anything out of its events (Postgres keeps old versions of rows in its pages, log and replicas; EventStoreDB keeps whole files), or whoever opened it may not: open a memory or sqlite store itself",
  );
}

export const refused = (message: string): TurnlogError => new TurnlogError("erasure-refused", message);

/** @throws {TurnlogError} `erasure-refused` if a run of it is open. */
async function held(
  store: EventStore,
  id: ConversationId,
): Promise<Pick<PlannedConversation, "id" | "head" | "events" | "size">> {
  const stream = conversationStream(id);
  const head = await store.head(stream);
  if (head === null) throw new TurnlogError("not-found", `there is no conversation ${id}`);
  const newest = await envelopeAt(store, stream, head.revision);
  if (newest !== null && isErased(newest)) throw new ConversationErasedError(newest);
  const run = await openRunOf(store, stream);
  if (run !== null)
    throw refused(
      `run ${run} of ${id} has not ended: finish it with \`resume\`, or give it up with \`resume --abandon\`, then plan again`,
    );
  let size = 0;
  for await (const { data } of store.readStream(stream)) size += data.length;
  return { id, head, events: head.revision + 1, size };
}

const runBegins: ReadonlySet<string> = new Set(["RunStarted", "RunResumed"]);
const runEnds: ReadonlySet<string> = new Set(["RunCompleted", "RunFailed", "RunCancelled"]);

/** The run that is open at the end of a stream, by the types of its events alone, because their contents may be damaged. */
async function openRunOf(store: EventStore, stream: string): Promise<string | null> {
  const skips: StoredEnvelope[] = [];
  for await (const envelope of store.readStream(stream, { direction: "backwards" })) {
    const { type, runId = null } = envelope;
    if (type === "ConversationStarted" || runEnds.has(type)) return null;
    if (type === "EventSkipped") skips.push(envelope);
    if (!runBegins.has(type)) continue;
    return skips.some((skip) => isEndedBySkip(skip.runId ?? null, runId)) ? null : runId;
  }
  return null;
}

type Began = ReadonlyMap<
  ConversationId,
  { readonly forks: readonly ConversationId[]; readonly children: readonly ConversationId[] }
>;

/** The conversations that began from each of these: forks, which inherit its events, and children. */
async function childrenOf(store: EventStore, asked: ReadonlySet<ConversationId>): Promise<Began> {
  const began = new Map<ConversationId, { readonly forks: ConversationId[]; readonly children: ConversationId[] }>();
  for await (const { stream } of store.heads("conversation-")) {
    const id = conversationOfStream(stream);
    const parent = id === null ? null : await readable(() => parentOf(store, stream));
    if (id === null || parent === null || !asked.has(parent)) continue;
    const known = began.get(parent) ?? { forks: [], children: [] };
    began.set(parent, known);
    ((await isFork(store, stream)) ? known.forks : known.children).push(id);
  }
  return began;
}

async function isFork(store: EventStore, stream: string): Promise<boolean> {
  const first = await envelopeAt(store, stream, 0);
  const origin: unknown = first === null ? null : decodeData(first).data["origin"];
  return typeof origin === "object" && origin !== null && "type" in origin && origin.type === "fork";
}

/** The origin of a conversation that cannot be read is unknown. */
async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return null;
  }
}

/** The streams of the long texts of each of these. */
export async function blobStreamsIn(
  store: EventStore,
  asked: ReadonlySet<ConversationId>,
): Promise<ReadonlyMap<ConversationId, readonly string[]>> {
  const blobs = new Map<ConversationId, string[]>();
  for (const id of asked)
    for await (const { stream } of store.heads(blobStreamsOf(id)))
      if (conversationOfBlob(stream) === id) blobs.set(id, [...(blobs.get(id) ?? []), stream]);
  return blobs;
}

const storedOf = (id: ConversationId, stored: ErasurePlanOptions["stored"]): Promise<number | null> =>
  readable(() => stored(id));
