import * as z from "zod";
import { messageOf } from "../../base/error-message.ts";
import { type ConversationId, conversationIdSchema } from "../../domain/ids.ts";
import { decodeData } from "../codec/data.ts";
import type { EventLog } from "../codec/event-log.ts";
import type { EventStore } from "../ports/event-store.ts";
import { appendRecord } from "./append-record.ts";
import { erasureStream, readErasureOrder } from "./erasures.ts";

/** The stream that records exports of the store. */
const exportsStream = "exports";

/**
 * Conversations left the store: as a bundle, as a copy in another store, or in a backup. An erasure does not reach them, so its receipt
 * names them. It holds no path, because a path may name people.
 */
export const exportMadeSchema = z.strictObject({
  kind: z.enum(["bundle", "copy", "backup"]),
  /** Null for all conversations at that time. */
  conversations: z.array(conversationIdSchema).nullable(),
  isRedacted: z.boolean(),
  /** For a bundle, the SHA-256 in its last line, which identifies the file. Null for a redacted page, and for spans. */
  sha256: z.string().nullable(),
  /** For a copy, the id of the other store. */
  storeId: z.string().nullable(),
});
export type ExportMade = z.infer<typeof exportMadeSchema>;

/** The same, with the time of its event. */
export type RecordedExport = ExportMade & { readonly at: string };

/**
 * Records that conversations left the store. If that cannot be written (a store that may only be read), the export is still valid, and
 * the reason is returned.
 */
export async function recordExport(log: EventLog, made: ExportMade): Promise<string | null> {
  try {
    await appendRecord(log, exportsStream, { type: "ExportMade", version: 1, data: made }, { kind: "operator" });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** The streams of all erasure orders of a store. */
export async function orderStreams(store: EventStore): Promise<ReadonlySet<string>> {
  const streams = new Set<string>();
  for await (const { stream } of store.heads(erasureStream(""))) streams.add(stream);
  return streams;
}

/** An erasure that was ordered since there were only these orders, and concerns an export; null if there is none. */
export async function orderedSince(
  store: EventStore,
  before: ReadonlySet<string>,
  conversations: readonly ConversationId[] | null,
): Promise<string | null> {
  for (const stream of await orderStreams(store)) {
    const order = before.has(stream) ? null : await readErasureOrder(store, stream.slice(erasureStream("").length));
    if (order?.conversations.some(({ id }) => conversations === null || conversations.includes(id)) === true)
      return order.orderId;
  }
  return null;
}

/** The exports that included these conversations, or all; oldest first. */
export async function exportsOf(
  store: EventStore,
  conversations: ReadonlySet<ConversationId>,
): Promise<readonly RecordedExport[]> {
  const found: RecordedExport[] = [];
  for await (const envelope of store.readStream(exportsStream)) {
    const { type, version, at } = envelope;
    if (type !== "ExportMade" || version !== 1) continue;
    const made = exportMadeSchema.safeParse(decodeData(envelope).data);
    if (!made.success) continue;
    const { conversations: named } = made.data;
    if (named === null || named.some((id) => conversations.has(id))) found.push({ ...made.data, at });
  }
  return found;
}
