import * as z from "zod";
import { erasureReceiptSchema } from "../../erasure/receipt.ts";
import { exportMadeSchema } from "../../records/exports.ts";
import { conversation, count, list } from "./parts.ts";

/** `turnlog erase` */
export const eraseDocument = z.strictObject({
  /** What was ordered before, the oldest first; null where a conversation or an order was named. */
  orders: list(
    z.strictObject({
      orderId: z.string(),
      at: z.string(),
      by: z.string(),
      ground: z.string(),
      ticket: z.string().nullable(),
      conversations: list(conversation),
      /** `refused`: nothing was erased. `unfinished`: it was broken off, go on with --resume. */
      state: z.enum(["finished", "left-over", "unfinished", "refused"]),
    }),
  ).nullable(),
  /** What would be erased, or was; null with --resume. */
  plan: z
    .strictObject({
      storeId: z.string(),
      conversations: list(
        z.strictObject({
          id: conversation,
          head: z.strictObject({ revision: count, digest: z.string() }),
          events: count,
          /** UTF-16 units of its events, without its long texts. */
          size: count,
          /** Streams of its long texts. */
          blobs: list(z.string()),
          /** What servers may still hold of it; null where that is not known. */
          stored: count.nullable(),
          /** Conversations that began from it, and whose own text is not touched. */
          children: list(conversation),
        }),
      ),
      /** What left the store before, and is not reached. */
      exports: list(exportMadeSchema.extend({ conversations: list(conversation).nullable(), at: z.string() })),
    })
    .nullable(),
  /** Null where nothing was erased, because --apply was not given. */
  receipt: erasureReceiptSchema.nullable(),
  /** The file that the receipt was written to. */
  file: z.string().nullable(),
  isSigned: z.boolean(),
});

/** `turnlog keys new` */
export const keysDocument = z.strictObject({ file: z.string(), publicFile: z.string(), name: z.string() });

/** `turnlog verify --receipt` */
export const receiptDocument = z.strictObject({
  receiptFile: z.string(),
  orderId: z.string(),
  storeId: z.string(),
  finished: z.boolean(),
  /** The name of the key that signed it; null where it was compared with what the store has recorded. */
  signedBy: z.string().nullable(),
});
