import { TurnlogError } from "../../base/turnlog-error.ts";
import { isEndedBySkip } from "../../domain/decider/ended-by-skip.ts";
import { blobStreamsOf, type ConversationId, conversationOfBlob, conversationStream } from "../../domain/ids.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { ConversationErasedError, isErased } from "../../log/codec/erased.ts";
import { isOfTheStore } from "../../log/codec/recorded.ts";
import { type Families, readFamilies } from "../../log/history/families.ts";
import { type EventStore, envelopeAt, type Head, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { exportsOf, type RecordedExport } from "../../log/system-streams/exports.ts";
import { type FoundLines, findLines, type LineTarget } from "./find-lines.ts";
import { refused } from "./refused.ts";

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

/** Lines of one conversation that would be erased; the conversation goes on. */
export type PlannedLines = Pick<PlannedConversation, "id" | "head" | "blobs" | "stored"> & {
  /** Empty if it only shares its naming key, or inherits events, with a conversation that loses lines. */
  readonly places: readonly { readonly revision: number; readonly type: string; readonly lines: readonly number[] }[];
  /** The blocks whose content is erased, in every version. */
  readonly blockIds: readonly string[];
};

/** What an erasure would do. Nothing has been done yet. */
export type ErasurePlan = {
  readonly storeId: string;
  /** The conversations that are erased as a whole. */
  readonly conversations: readonly PlannedConversation[];
  /** The conversations that lose lines, and those that share their naming keys. */
  readonly lines: readonly PlannedLines[];
  /** Lines that share long stretches with what is erased. They stay, unless you name them as well. */
  readonly proposed: FoundLines["proposed"];
  /** Conversations that left the store before; an erasure does not reach them. */
  readonly exports: readonly RecordedExport[];
};

/** What to erase. Several members are several targets of one erasure. */
type ErasureTarget = LineTarget & {
  /** Whole conversations. */
  readonly conversations?: readonly ConversationId[];
};

export type ErasurePlanOptions = ErasureTarget & {
  /** Encode recorded requests again, to see which of them carried what. */
  readonly codecs: Codecs;
  /** How many responses and objects servers may still hold of a conversation. */
  readonly stored: (id: ConversationId) => Promise<number>;
};

/** Maximum number of conversations in one order: its receipt has to fit into an event. */
const maxErasedAtOnce = 500;

/**
 * Plans an erasure. Of whole conversations it decodes only what it has to, so that damaged ones can be erased.
 *
 * @throws {TurnlogError} `store-cannot-erase` if the store cannot erase, `not-found`, and `erasure-refused` if a run is open, if forks inherit
 *   events of a conversation that would be erased and are not part of the plan, or if lines cannot be erased alone.
 * @throws {ConversationErasedError} for a conversation that was erased.
 */
export async function planErasure(
  store: EventStore,
  { stored, codecs, conversations: named = [], ...target }: ErasurePlanOptions,
): Promise<ErasurePlan> {
  mustErase(store);
  const families = await readFamilies(store);
  const found = await findLines(store, families, { ...target, codecs, named });
  const asked = new Set(found.conversations);
  if (asked.size === 0 && found.lines.size === 0) throw nothingFound(target);
  const touched = new Set([...asked, ...found.lines.keys()]);
  if (touched.size > maxErasedAtOnce)
    throw refused(
      `${touched.size} conversations are concerned, and one order takes ${maxErasedAtOnce}: erase them in several`,
    );
  const bereft = bereftFork(families, asked);
  if (bereft !== null) throw refused(bereft);
  const blobs = await blobStreamsIn(store, asked);
  const conversations: PlannedConversation[] = [];
  for (const id of asked) {
    const about = { blobs: blobs.get(id) ?? [], stored: await storedOf(id, stored) };
    const { size, ...head } = await held(store, id);
    conversations.push({ ...head, size, ...about, children: families.childrenOf(id) });
  }
  const lines: PlannedLines[] = [];
  for (const [id, { places, blockIds, blobs: removed }] of found.lines) {
    if (asked.has(id)) continue;
    const { head } = await held(store, id);
    lines.push({ id, head, places, blockIds, blobs: removed, stored: await storedOf(id, stored) });
  }
  return {
    storeId: store.storeId,
    conversations,
    lines,
    proposed: found.proposed,
    exports: await exportsOf(store, touched),
  };
}

function nothingFound(target: LineTarget): TurnlogError {
  const { all: _, in: within, ...named } = target;
  if (Object.keys(named).length === 0 && within === undefined)
    return refused("nothing is named: name a conversation, a revision, a block, a text or a subject");
  return new TurnlogError(
    "not-found",
    "nothing to erase was found: it is not in this store, says nothing, or was erased before",
  );
}

/** Which forks would lose the events that they inherit, in words; null if there are none. A fork may begin after the plan was made. */
export async function bereftForkIn(store: EventStore, asked: ReadonlySet<ConversationId>): Promise<string | null> {
  return asked.size === 0 ? null : bereftFork(await readFamilies(store), asked);
}

function bereftFork(families: Families, asked: ReadonlySet<ConversationId>): string | null {
  for (const id of asked) {
    const left = families.withForks(id).filter((fork) => !asked.has(fork));
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
    "this store cannot take anything out of its events (Postgres keeps old versions of rows in its pages, log and replicas; EventStoreDB keeps whole files), or this handle is not allowed to: open a memory or sqlite store itself",
  );
}

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
      `run ${run} of ${id} has not ended: finish it with \`turnlog resume\`, or end it with \`turnlog cancel\`, then plan again`,
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

/** What servers hold of a conversation that cannot be read is unknown. */
async function storedOf(id: ConversationId, stored: ErasurePlanOptions["stored"]): Promise<number | null> {
  try {
    return await stored(id);
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return null;
  }
}
