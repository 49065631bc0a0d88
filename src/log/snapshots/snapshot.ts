import * as z from "zod";
import { canonicalJson } from "../../base/canonical-json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { originSchema } from "../../domain/events/conversation-events.ts";
import { blockIdSchema } from "../../domain/ids.ts";
import { type EventStore, envelopeAt } from "../ports/event-store.ts";
import { savedAt, snapshotKey } from "./lists.ts";

const chunkRefSchema = z.tuple([z.string(), z.number().int(), z.string()]).readonly();
/**
 * A saved fold without payloads, taken when no run is open (rule: Past revisions): the Turn as lists of blocks, facts about the servers
 * as lists of rows, each written once, and the newest context of each scope as what it has beyond the Turn.
 */
const snapshotSchema = z.strictObject({
  turn: z.array(chunkRefSchema),
  newest: z.array(
    z.strictObject({
      scope: z.string(),
      inferenceId: z.string(),
      /** The number of leading blocks that it shares with the Turn. */
      shared: z.number().int(),
      rest: z.array(chunkRefSchema),
      /** It is the newest answer. Absent for a warm-up, an import, an answer before one without an id, and where it is not known. */
      isLatest: z.exactOptional(z.literal(true)),
    }),
  ),
  /** The newest list of facts, which refers to the one before it. */
  facts: z.string().nullable(),
  title: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  origin: originSchema.nullable(),
  lastAt: z.string().nullable(),
  answeredLength: z.number().int(),
  notes: z.array(blockIdSchema).readonly(),
  interrupted: z.strictObject({ runId: z.string(), how: z.enum(["cancelled", "failed"]) }).nullable(),
  /** The last revision of each ancestor that it includes. */
  ancestors: z.array(z.tuple([z.string(), z.number().int()])),
  /** Damaged events that it leaves out: the stream, the revision, and the revision of the event that skips it. */
  skipped: z.array(z.tuple([z.string(), z.number().int(), z.number().int()])),
  /** Tokens that the conversation itself has used, without its ancestors. */
  spent: z.strictObject({
    inputTokens: z.number(),
    cachedInputTokens: z.number(),
    outputTokens: z.number(),
    reasoningTokens: z.number(),
  }),
  /** Endpoints that lost everything they held and have had no request since. */
  lostScopes: z.array(z.string()),
});
export type SnapshotData = z.infer<typeof snapshotSchema>;

export type ReadSnapshot = { readonly revision: number; readonly digest: string; readonly data: SnapshotData };

/** The stored form. The seal ties it to the event after which it was taken, and so to all earlier events. */
const storedSchema = snapshotSchema.extend({ seal: z.string() });

/** The stored text of a snapshot taken right after the event with this digest. */
export const snapshotText = (data: SnapshotData, eventDigest: string): string =>
  JSON.stringify({ ...data, seal: sealOf(data, eventDigest) });

const sealOf = (data: SnapshotData, eventDigest: string): string => sha256Hex(`${eventDigest}\n${canonicalJson(data)}`);

/**
 * The newest snapshot at or before a revision; null if there is none. A snapshot that was changed, or taken after a different event,
 * counts as a miss: results never depend on snapshots (rule: The log is the truth).
 */
export async function readSnapshot(events: EventStore, stream: string, atMost: number): Promise<ReadSnapshot | null> {
  const { snapshots } = events;
  if (snapshots === undefined) return null;
  for (let last = atMost; ; ) {
    const saved = await savedAt(snapshots, snapshotKey(stream), last);
    if (saved === undefined) return null;
    const digest = (await envelopeAt(events, stream, saved.revision))?.digest;
    const data = digest === undefined ? null : sealedData(saved.data, digest);
    if (digest !== undefined && data !== null) return { revision: saved.revision, digest, data };
    last = saved.revision - 1;
  }
}

/** The content of a snapshot taken right after the event with this digest; null if it was changed, or taken after another event. */
export function sealedData(text: string, eventDigest: string): SnapshotData | null {
  try {
    const { seal, ...data } = storedSchema.parse(JSON.parse(text));
    return seal === sealOf(data, eventDigest) ? data : null;
  } catch {
    return null;
  }
}
