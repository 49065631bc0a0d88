import * as z from "zod";
import { canonicalJson } from "../../base/canonical-json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { Turn } from "../../domain/turn.ts";
import { type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import { type Envelope, type EventStore, envelopeAt } from "../ports/event-store.ts";
import type { SnapshotKey, SnapshotStore } from "../ports/snapshot-store.ts";
import { chunkName, SnapshotDamagedError, turnOfChunks } from "./chunks.ts";
import { restoreFacts, type ServerContextRows, type SettingsPlaces } from "./server-context-rows.ts";

const chunkRefSchema = z.tuple([z.string(), z.number().int(), z.string()]).readonly();

/**
 * A saved fold without payloads, taken where no run is open (MODEL 12): the Turn as lists of blocks, what became true at
 * the servers as lists of rows, each written once, and the newest context of each scope by what it has beyond the Turn.
 */
const snapshotSchema = z.strictObject({
  turn: z.array(chunkRefSchema),
  newest: z.array(
    z.strictObject({
      scope: z.string(),
      inferenceId: z.string(),
      /** How many blocks of the Turn it begins with. */
      shared: z.number().int(),
      rest: z.array(chunkRefSchema),
    }),
  ),
  /** The newest list of facts, which names the one before it. */
  facts: z.string().nullable(),
  title: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
});
export type SnapshotData = z.infer<typeof snapshotSchema>;

export type Snapshot = { readonly revision: number; readonly data: SnapshotData };

/** What is kept: the seal ties it to the event after which it was taken, and so to all before. */
const storedSchema = snapshotSchema.extend({ seal: z.string() });

/** The text that is kept of a snapshot that was taken right after the event of this digest. */
export const snapshotText = (data: SnapshotData, eventDigest: string): string =>
  JSON.stringify({ ...data, seal: sealOf(data, eventDigest) });

const sealOf = (data: SnapshotData, eventDigest: string): string => sha256Hex(`${eventDigest}\n${canonicalJson(data)}`);

/** A fold as a snapshot gives it back: blocks as outlines, settings by place, and no blame. */
export type Restored = {
  readonly view: ConversationView;
  readonly settingsPlaces: SettingsPlaces;
};

/** Where the snapshots of a stream are kept. A change of the fold's version, or of this format, leaves the old ones aside. */
export const snapshotKey = (stream: string): SnapshotKey => ({
  stream,
  projection: `${conversationView.name}/4`,
  version: conversationView.version,
});

/** Where a list is kept that snapshots of a stream name. */
export const listKey = (stream: string, name: string): SnapshotKey => ({
  ...snapshotKey(stream),
  projection: `${conversationView.name}/4/${name}`,
});

/**
 * The newest snapshot at or before a revision; null when there is none. One that was changed, or stands at another event than
 * it was taken after, is as good as none: what is read never depends on it (law 2).
 */
export async function readSnapshot(events: EventStore, stream: string, atMost: number): Promise<Snapshot | null> {
  for (let last = atMost; ; ) {
    const saved = await events.snapshots?.get(snapshotKey(stream), last);
    if (saved === undefined || saved === null) return null;
    const data = sealed(saved.data, await envelopeAt(events, stream, saved.revision));
    if (data !== null) return { revision: saved.revision, data };
    last = saved.revision - 1;
  }
}

function sealed(text: string, event: Envelope | null): SnapshotData | null {
  if (event === null) return null;
  try {
    const { seal, ...data } = storedSchema.parse(JSON.parse(text));
    return seal === sealOf(data, event.digest) ? data : null;
  } catch {
    return null;
  }
}

/**
 * The fold that a snapshot saved.
 *
 * @throws {SnapshotDamagedError} when a list that it names is not what was written.
 */
export async function restoreFold(store: SnapshotStore, stream: string, { data }: Snapshot): Promise<Restored> {
  const textByName = new Map<string, string>();
  for (const [name] of [...data.turn, ...data.newest.flatMap(({ rest }) => rest)]) {
    if (!textByName.has(name)) textByName.set(name, await readList(store, stream, name));
  }
  const view = conversationView.initial(stream);
  const settingsPlaces: SettingsPlaces = new Map();
  for (const facts of await readFacts(store, stream, data.facts)) restoreFacts(view.server, settingsPlaces, facts);
  const lists = { stream, textByName };
  view.client.committed = turnOfChunks(Turn.empty, data.turn, lists);
  for (const { scope, inferenceId, shared, rest } of data.newest) {
    const context = view.server.all.findLast((each) => each.inferenceId === inferenceId);
    if (context === undefined) throw new SnapshotDamagedError(`there is no response to ${inferenceId}`);
    view.newest.set(scope, { context, turn: turnOfChunks(view.client.committed.slice(shared), rest, lists) });
  }
  view.title = data.title;
  view.labels = data.labels;
  return { view, settingsPlaces };
}

/** All facts, oldest first. */
async function readFacts(
  store: SnapshotStore,
  stream: string,
  newest: string | null,
): Promise<readonly ServerContextRows[]> {
  const lists: ServerContextRows[] = [];
  for (let name = newest; name !== null; name = lists.at(-1)?.before ?? null) {
    // The name is the digest of what this code wrote.
    lists.push(JSON.parse(await readList(store, stream, name)) as ServerContextRows);
  }
  return lists.reverse();
}

async function readList(store: SnapshotStore, stream: string, name: string): Promise<string> {
  const saved = await store.get(listKey(stream, name), 0);
  if (saved === null || chunkName(saved.data) !== name) throw new SnapshotDamagedError(`the list ${name} is not there`);
  return saved.data;
}
