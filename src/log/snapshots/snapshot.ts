import * as z from "zod";
import { canonicalJson } from "../../base/canonical-json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { originSchema } from "../../domain/events/conversation-events.ts";
import type { CompletedRun } from "../../projections/answers.ts";
import { type EventStore, envelopeAt } from "../ports/event-store.ts";
import { savedAt, snapshotKey } from "./lists.ts";

const chunkRefSchema = z.tuple([z.string(), z.number().int(), z.string()]).readonly();
const completedRunSchema: z.ZodType<CompletedRun> = z.strictObject({
  runId: z.string(),
  stream: z.string(),
  from: z.number().int(),
  to: z.number().int(),
  brought: z.number().int(),
});

/**
 * A saved fold without payloads, taken where no run is open (rule: Past revisions): the Turn as lists of blocks, what became true at
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
  origin: originSchema.nullable(),
  lastAt: z.string().nullable(),
  answeredBy: completedRunSchema.nullable(),
  cameBackTo: z.string().nullable(),
  answeredLength: z.number().int(),
  interrupted: z.strictObject({ runId: z.string(), how: z.enum(["cancelled", "failed"]) }).nullable(),
  /** How far each ancestor's events go into it. */
  ancestors: z.array(z.tuple([z.string(), z.number().int()])),
  /** Damaged events that it goes without: the stream, the revision, and that of the event that skips it. */
  skipped: z.array(z.tuple([z.string(), z.number().int(), z.number().int()])),
  /** Tokens that the conversation itself has used. */
  spent: z.strictObject({
    inputTokens: z.number(),
    cachedInputTokens: z.number(),
    outputTokens: z.number(),
    reasoningTokens: z.number(),
  }),
  /** Endpoints that lost all they held, and were not asked since. */
  lostScopes: z.array(z.string()),
});
export type SnapshotData = z.infer<typeof snapshotSchema>;

export type ReadSnapshot = { readonly revision: number; readonly digest: string; readonly data: SnapshotData };

/** What is kept: the seal ties it to the event after which it was taken, and so to all before. */
const storedSchema = snapshotSchema.extend({ seal: z.string() });

/** The text that is kept of a snapshot that was taken right after the event of this digest. */
export const snapshotText = (data: SnapshotData, eventDigest: string): string =>
  JSON.stringify({ ...data, seal: sealOf(data, eventDigest) });

const sealOf = (data: SnapshotData, eventDigest: string): string => sha256Hex(`${eventDigest}\n${canonicalJson(data)}`);

/**
 * The newest snapshot at or before a revision; null when there is none. One that was changed, or stands at another event than
 * it was taken after, is as good as none: what is read never depends on it (rule: The log is the truth).
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

/** What a snapshot says that was taken right after the event of this digest; null where it was changed, or taken after another. */
export function sealedData(text: string, eventDigest: string): SnapshotData | null {
  try {
    const { seal, ...data } = storedSchema.parse(JSON.parse(text));
    return seal === sealOf(data, eventDigest) ? data : null;
  } catch {
    return null;
  }
}
