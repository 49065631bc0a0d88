import { counted } from "../../base/counted.ts";
import { messageOf } from "../../base/error-message.ts";
import { anything, optionsOf } from "../../base/options.ts";
import { type ConversationId, conversationOfBlob, conversationOfStream, conversationStream } from "../../domain/ids.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { foundDigest } from "../../log/codec/envelope.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import { isOfTheStore } from "../../log/codec/recorded.ts";
import { type ForkPoint, statedFork } from "../../log/history/lineage.ts";
import { type RecordedSkip, SkippedEvents, skipsOf } from "../../log/history/skipped-events.ts";
import { type EventStore, envelopeAt, type Head } from "../../log/ports/event-store.ts";
import type { RowProjector } from "../../log/read-models/row-projector.ts";
import type { ErasureOrder } from "../../log/system-streams/erasures.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { orderedConversations, removedBlobs } from "./erasure-check.ts";
import { StreamCheck, type StreamOptions, type StreamProblem } from "./stream-check.ts";

export type StreamReport = {
  readonly stream: string;
  /** Null for a blob's stream, and for events without a stream. */
  readonly conversation: ConversationId | null;
  /** Events and requests found to be right. */
  readonly events: number;
  readonly requests: number;
  /** The newest event found to be right. */
  readonly head: Head | null;
  readonly problem: StreamProblem | null;
  /** Damaged events that an operator skipped and that are unchanged since. */
  readonly skipped: readonly SkippedEvent[];
};

export type SkippedEvent = {
  readonly revision: number;
  /** What is wrong with it. */
  readonly problem: string;
  /** The operator's reason. */
  readonly reason: string;
};

/** The options for verifying a store, or a conversation of it. */
export type StoreVerifyOptions = {
  /** By stream: the `heads` of an earlier verification, kept where the writers of the store cannot write. */
  readonly savedHeads?: ReadonlyMap<string, Head>;
  /** Called for every event checked. */
  readonly onEvent?: () => void;
};

export const storeVerifyOptions = optionsOf<StoreVerifyOptions>({ savedHeads: anything, onEvent: anything });

export type VerifyOptions = {
  readonly codecs: Codecs;
  /** Only these conversations, with their blobs and the events they inherit. Default: all streams. */
  readonly conversations?: readonly ConversationId[];
  /**
   * Heads kept elsewhere, in addition to those that the store keeps itself: only such heads reveal that the end of a stream was cut off,
   * or that a stream is gone.
   */
  readonly savedHeads?: ReadonlyMap<string, Head>;
  /** Called for every event checked, of any stream. */
  readonly onEvent?: () => void;
  /** Read models whose rows are compared with the events, as far as the rows have come. */
  readonly readModels?: readonly ReadModel[];
};

export type ReadModel = Pick<RowProjector<unknown>, "name" | "mismatchedRow" | "orphanRows">;

/**
 * Checks a store's streams one by one: hash chains, heads, schemas, blobs, both folds, the digests of blocks, settings and contexts,
 * the rows of read models, and every request, whose body is built again and compared with the one that was sent.
 * If a whole store is sound, its heads are saved for the next verification.
 *
 * @throws {StoreUnavailableError} if the store cannot be read, which says nothing about its content.
 */
export async function* verifyStore(store: EventStore, options: VerifyOptions): AsyncIterable<StreamReport> {
  let isSound = true;
  for await (const report of reports(store, options)) {
    isSound &&= report.problem === null;
    yield report;
  }
  if (isSound && options.conversations === undefined) await store.saveHeads?.();
}

/** The result of verifying all selected streams. */
export type Verification = {
  readonly isSound: boolean;
  /** How many streams were checked, and how many events and requests in them are right. */
  readonly streams: number;
  readonly events: number;
  readonly requests: number;
  /** The first problem of each damaged stream. */
  readonly problems: readonly (StreamProblem & VerifiedStreamName)[];
  /** Damaged events that an operator has skipped. */
  readonly skipped: readonly (SkippedEvent & VerifiedStreamName)[];
  /** The newest sound event of each stream: keep these heads elsewhere, and compare them the next time. */
  readonly heads: ReadonlyMap<string, Head>;
};

export type VerifiedStreamName = Pick<StreamReport, "stream" | "conversation">;

/** `verifyStore`, summed up. */
export async function verification(store: EventStore, options: VerifyOptions): Promise<Verification> {
  const counts = { streams: 0, events: 0, requests: 0 };
  const problems: Verification["problems"][number][] = [];
  const skipped: Verification["skipped"][number][] = [];
  const heads = new Map<string, Head>();
  for await (const { stream, conversation, problem, head, ...report } of verifyStore(store, options)) {
    counts.streams += 1;
    counts.events += report.events;
    counts.requests += report.requests;
    if (problem !== null) problems.push({ stream, conversation, ...problem });
    skipped.push(...report.skipped.map((event) => ({ stream, conversation, ...event })));
    if (head !== null) heads.set(stream, head);
  }
  return { isSound: problems.length === 0, ...counts, problems, skipped, heads };
}

async function* reports(store: EventStore, options: VerifyOptions): AsyncIterable<StreamReport> {
  const { codecs, readModels = [], onEvent = () => undefined } = options;
  const saved = [options.savedHeads, await store.savedHeads?.()].filter((heads) => heads !== undefined);
  const lastOf = await verifiedStreams({ store }, options.conversations);
  const missing = new Set(saved.flatMap((heads) => [...heads.keys()]).filter((stream) => lastOf(stream) !== null));
  const erased = await orderedConversations(store);
  const orderOfBlob = (stream: string): ErasureOrder | undefined => {
    const id = conversationOfBlob(stream);
    return id === null ? undefined : erased.get(id);
  };
  for await (const { stream } of store.heads()) {
    const last = lastOf(stream);
    if (last === null) continue;
    missing.delete(stream);
    const order = orderOfBlob(stream);
    if (order !== undefined) {
      const message = `it holds a long text of a conversation that was erased: continue with \`turnlog erase --resume ${order.orderId}\``;
      yield nothingRight(stream, { revision: 0, kind: "hole", message });
      continue;
    }
    const savedHeads = saved.map((heads) => heads.get(stream)).filter((head) => head !== undefined);
    const report = await verifyStream(store, stream, { codecs, savedHeads, last, onEvent });
    // A damaged stream has no defined rows, and the rows of an ancestor show more than was checked.
    const isShown = report.problem === null && report.conversation !== null && last === Number.POSITIVE_INFINITY;
    yield isShown ? { ...report, problem: await viewProblem(readModels, stream) } : report;
  }
  const removed = missing.size === 0 ? new Set<string>() : await removedBlobs(store);
  for (const stream of missing) {
    // Blobs of what was erased are removed together with their names.
    if (orderOfBlob(stream) !== undefined || removed.has(stream)) continue;
    const message = "the stream is missing, but its head was saved before";
    yield nothingRight(stream, { revision: 0, kind: "head", message });
  }
  if (options.conversations !== undefined) return;
  yield* orphanReports(store);
  yield* orphanRowReports(readModels);
}

/** Events that belong to no conversation. */
async function* orphanReports(store: EventStore): AsyncIterable<StreamReport> {
  for (const { place, revision, events } of (await store.orphanEvents?.()) ?? []) {
    const message = `${counted(events, "event")} from here on stand in no stream: its name and its head are gone`;
    yield nothingRight(place, { revision, kind: "head", message });
  }
}

async function viewProblem(readModels: readonly ReadModel[], stream: string): Promise<StreamProblem | null> {
  for (const model of readModels) {
    try {
      const wrong = await model.mismatchedRow(stream);
      if (wrong === null) continue;
      const message = `the events are right, but ${model.name} differs from them: rebuild that projection`;
      return { revision: wrong.revision, kind: "view", message };
    } catch (error) {
      return { revision: 0, kind: "view", message: unreadableRows(model, error) };
    }
  }
  return null;
}

/** @throws if the store cannot be read now, which says nothing about its rows. */
function unreadableRows({ name }: ReadModel, error: unknown): string {
  if (isOfTheStore(error)) throw error;
  return `the events are right, but rows of ${name} cannot be read (${messageOf(error)}): rebuild that projection`;
}

async function* orphanRowReports(readModels: readonly ReadModel[]): AsyncIterable<StreamReport> {
  for (const model of readModels) {
    try {
      for await (const { key, revision } of model.orphanRows()) {
        yield nothingRight(key, {
          revision,
          kind: "view",
          message: `${model.name} has a row for it, but it does not exist`,
        });
      }
    } catch (error) {
      yield nothingRight(model.name, { revision: 0, kind: "view", message: unreadableRows(model, error) });
    }
  }
}

const nothingRight = (stream: string, problem: StreamProblem): StreamReport => ({
  ...{ stream, conversation: conversationOfStream(stream), events: 0, requests: 0, head: null, skipped: [], problem },
});

/** Reports skipped damage as such, and checks the events after it. */
async function verifyStream(store: EventStore, stream: string, options: StreamOptions): Promise<StreamReport> {
  const lookedAt = { skipped: new SkippedEvents(), changed: new SkippedEvents() };
  const skips = new Map<number, SkippedEvent>();
  const reader: EventReader = { store };
  for (;;) {
    const check = new StreamCheck(reader, stream, { ...options, ...lookedAt });
    await check.run();
    const { head, requests, problem } = check;
    const around = problem?.kind === "chain" ? lookedAt.changed : lookedAt.skipped;
    const isKnown = problem === null || around.has(stream, problem.revision);
    const skip = isKnown ? undefined : await skipOf(reader, stream, problem);
    if (problem === null || skip === undefined) {
      const events = head === null ? 0 : head.revision + 1;
      const skipped = [...skips.values()];
      return { stream, conversation: conversationOfStream(stream), events, requests, head, problem, skipped };
    }
    const { revision, message } = problem;
    around.add(stream, revision, skip.skippedAt);
    skips.set(revision, { problem: message, ...skips.get(revision), revision, reason: skip.reason });
  }
}

/**
 * The skip of an event with this problem. An event that differs from what was written must be as the operator found it:
 * the skip does not cover a later change.
 */
async function skipOf(reader: EventReader, stream: string, problem: StreamProblem): Promise<RecordedSkip | undefined> {
  try {
    return await statedSkip(reader, stream, problem);
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    // Nothing in the stream can be read, and no skip either.
    return undefined;
  }
}

async function statedSkip(
  reader: EventReader,
  stream: string,
  { kind, revision }: StreamProblem,
): Promise<RecordedSkip | undefined> {
  if (kind !== "chain")
    return kind === "fold" || kind === "unreadable" ? (await skipsOf(reader, stream, revision)).at(-1) : undefined;
  const envelope = await envelopeAt(reader.store, stream, revision);
  if (envelope === null) return undefined;
  const found = foundDigest(envelope);
  return (await skipsOf(reader, stream, revision)).findLast((skip) => skip.found === found);
}

/** The last revision of a stream to verify; null if the stream is not verified. */
type VerifiedStreams = (stream: string) => number | null;

/**
 * What to verify for the given conversations: their streams and blobs, and of each ancestor the inherited events, because a fork
 * shows them as its own. Without conversations: everything.
 */
async function verifiedStreams(
  reader: EventReader,
  conversations: readonly ConversationId[] | undefined,
): Promise<VerifiedStreams> {
  if (conversations === undefined) return () => Number.POSITIVE_INFINITY;
  const lastByStream = new Map<string, number>();
  for (const id of conversations) {
    const stream = conversationStream(id);
    lastByStream.set(stream, Number.POSITIVE_INFINITY);
    for (let fork = await forkOf(reader, stream); fork !== null; fork = await forkOf(reader, fork.stream)) {
      // Already covered to this point, with its own ancestors; damaged forks may even refer to each other.
      if ((lastByStream.get(fork.stream) ?? -1) >= fork.revision) break;
      lastByStream.set(fork.stream, fork.revision);
    }
  }
  const named = new Set(conversations);
  return (stream) => {
    const ofBlob = conversationOfBlob(stream);
    const isBlob = ofBlob !== null && named.has(ofBlob);
    return lastByStream.get(stream) ?? (isBlob ? Number.POSITIVE_INFINITY : null);
  };
}

async function forkOf(reader: EventReader, stream: string): Promise<ForkPoint | null> {
  try {
    return await statedFork(reader, stream);
  } catch (error) {
    // The check of the stream itself reports that its first event cannot be read.
    if (error instanceof ConversationDamagedError) return null;
    throw error;
  }
}
