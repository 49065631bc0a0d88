import * as z from "zod";
import { erasedPlacesSchema } from "../../domain/events/erased-places.ts";
import { conversationIdSchema } from "../../domain/ids.ts";
import { exportMadeSchema } from "../../log/system-streams/exports.ts";

const headSchema = z.strictObject({ revision: z.int().nonnegative(), digest: z.string() });
const count = z.int().nonnegative();

/**
 * What an erasure did. Signed, it proves that the holder of the key stated it. It does not prove that no copy exists elsewhere, nor what
 * a provider or a disk did (docs/TRUST.md).
 */
export const erasureReceiptSchema = z.strictObject({
  /** Whether nothing is left over. */
  finished: z.boolean(),
  format: z.literal("turnlog-erasure-receipt"),
  version: z.literal(1),
  orderId: z.string(),
  storeId: z.string(),
  ordered: z.strictObject({ at: z.string(), by: z.string(), ground: z.string(), ticket: z.string().nullable() }),
  /** What stays of each event beside its digest: its type, version and time (`skeleton`), or nothing (`digests`). */
  kept: z.enum(["skeleton", "digests"]),
  /** `after` is the event that marks all events before it as erased: its digest follows from `before`. */
  conversations: z.array(
    z.strictObject({
      id: conversationIdSchema,
      before: headSchema,
      after: headSchema,
      /** Of a conversation that goes on: the lines that were emptied; none if it only shares a naming key. */
      places: z.exactOptional(erasedPlacesSchema),
      blockIds: z.exactOptional(z.array(z.string())),
    }),
  ),
  /** The counts of what was done at each place. */
  done: z.strictObject({
    at: z.string(),
    /** Emptied events, emptied lines of events that stay, and events that stored long texts. */
    events: count,
    lines: count,
    blobEvents: count,
    snapshots: count,
    rows: count,
    /** Whether the log of the file was truncated, and whether the file was rewritten; null if there is no file. */
    scrub: z.strictObject({ status: z.enum(["done", "busy"]), isRewritten: z.boolean() }).nullable(),
  }),
  /** What servers were asked to delete first, by the number of responses and objects; absent if none was asked. */
  provider: z.exactOptional(z.strictObject({ deleted: count, missing: count, failed: count })),
  /**
   * The search of the store's files for the erased texts: pieces of 16 bytes that are still there (`found`), and those that content that stays has
   * as well (`shared`). `no-files` for a store in memory; `not-searched` if the erasure was continued, because the texts are then gone.
   */
  search: z.union([
    z.enum(["not-searched", "no-files"]),
    z.strictObject({ files: count, bytes: count, texts: count, tooShort: count, found: count, shared: count }),
  ]),
  /** What the erasure did not reach. */
  leftOver: z.array(
    z.strictObject({ place: z.enum(["provider", "rows", "file", "copies", "blobs"]), reason: z.string() }),
  ),
  /** Copies that left the store before: notify their holders. */
  exports: z.array(exportMadeSchema.extend({ at: z.string() })),
});
export type ErasureReceipt = z.infer<typeof erasureReceiptSchema>;

/** How every receipt begins. */
export const receiptBegin = '{ "finished": ';

/** A receipt as the text that is stored and signed: its first line says whether it is finished. */
export const receiptText = (receipt: ErasureReceipt): string =>
  `${JSON.stringify(receipt, null, 2).replace("{\n  ", "{ ")}\n`;
