import * as z from "zod";
import { exportMadeSchema } from "../../log/system-streams/exports.ts";
import { erasureReceiptSchema } from "../../operations/erasure/receipt.ts";
import { conversation, count, list } from "./parts.ts";

/** `turnlog erase` */
export const eraseDocument = z.strictObject({
  /** The earlier orders, oldest first; null if a conversation or an order was given. */
  orders: list(
    z.strictObject({
      orderId: z.string(),
      at: z.string(),
      by: z.string(),
      ground: z.string(),
      ticket: z.string().nullable(),
      conversations: list(conversation),
      /** `refused`: nothing was erased. `unfinished`: it was interrupted; continue it with --resume. */
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
          /** The length of its events in UTF-16 units, without its long texts. */
          size: count,
          /** The streams of its long texts. */
          blobs: list(z.string()),
          /** How much servers may still hold of it; null if unknown. */
          stored: count.nullable(),
          /** Conversations that began from it; their own text stays. */
          children: list(conversation),
        }),
      ),
      /** Conversations that lose single lines and go on, and those that share their naming keys. */
      lines: list(
        z.strictObject({
          id: conversation,
          head: z.strictObject({ revision: count, digest: z.string() }),
          places: list(z.strictObject({ revision: count, type: z.string(), lines: list(count) })),
          /** The blocks whose content is erased. */
          blockIds: list(z.string()),
          blobs: list(z.string()),
          stored: count.nullable(),
        }),
      ),
      /** What contains parts of the erased texts, and stays. */
      proposed: list(z.strictObject({ conversation, revision: count, block: z.string().nullable() })),
      /** Exports made before, which the erasure does not reach. */
      exports: list(exportMadeSchema.extend({ conversations: list(conversation).nullable(), at: z.string() })),
    })
    .nullable(),
  /** Null if nothing was erased, because --apply was not given. */
  receipt: erasureReceiptSchema.nullable(),
  /** The file that the receipt was written to. */
  file: z.string().nullable(),
  isSigned: z.boolean(),
});

/** `turnlog keys new` */
export const keysDocument = z.strictObject({ file: z.string(), publicFile: z.string(), name: z.string() });

/** `turnlog verify --bundle` */
export const bundleDocument = z.strictObject({
  bundleFile: z.string(),
  storeId: z.string(),
  isRedacted: z.boolean(),
  streams: count,
  events: count,
  /** Events in `json` of a redacted bundle: their texts cannot be checked. */
  unchecked: count,
});

/** `turnlog verify --receipt` */
export const receiptDocument = z.strictObject({
  receiptFile: z.string(),
  orderId: z.string(),
  storeId: z.string(),
  finished: z.boolean(),
  /** The name of the key that signed it; null if it was compared with the store's record. */
  signedBy: z.string().nullable(),
  /** Whether the store has recorded no newer receipt of the order, by a call that continued it; null if a key was checked. */
  isNewest: z.boolean().nullable(),
});
