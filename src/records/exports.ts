import * as z from "zod";
import { messageOf } from "../base/error-message.ts";
import { type ConversationId, conversationIdSchema } from "../domain/ids.ts";
import { decodeData } from "../log/codec/data.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { appendRecord } from "./append-record.ts";

/** The stream of a store that says what was given away of it. */
const exportsStream = "exports";

/**
 * Conversations left the store: as a bundle, as a copy in another store, or in a backup. An erasure does not reach them, so its receipt names
 * them. No path stands here: it may name people.
 */
export const exportMadeSchema = z.strictObject({
  kind: z.enum(["bundle", "copy", "backup"]),
  /** Null for all that there were. */
  conversations: z.array(conversationIdSchema).nullable(),
  isRedacted: z.boolean(),
  /** Of a bundle, the SHA-256 that its last line has: by it a file is found to be this one. */
  sha256: z.string().nullable(),
  /** Of a copy, the id of the other store. */
  storeId: z.string().nullable(),
});
export type ExportMade = z.infer<typeof exportMadeSchema>;

/** The same, with the time of its event. */
export type RecordedExport = ExportMade & { readonly at: string };

/**
 * Records that conversations left the store. Where that cannot be written (a store that may only be read), the export is as good, and
 * the reason is given.
 */
export async function recordExport(log: EventLog, made: ExportMade): Promise<string | null> {
  try {
    await appendRecord(log, exportsStream, { type: "ExportMade", version: 1, data: made }, { kind: "operator" });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** What left the store of these conversations, and where it was all of them; the oldest first. */
export async function exportsOf(
  store: EventStore,
  conversations: ReadonlySet<ConversationId>,
): Promise<readonly RecordedExport[]> {
  const found: RecordedExport[] = [];
  for await (const { type, version, data, at } of store.readStream(exportsStream)) {
    if (type !== "ExportMade" || version !== 1) continue;
    const made = exportMadeSchema.safeParse(decodeData(data).data);
    if (!made.success) continue;
    const { conversations: named } = made.data;
    if (named === null || named.some((id) => conversations.has(id))) found.push({ ...made.data, at });
  }
  return found;
}
