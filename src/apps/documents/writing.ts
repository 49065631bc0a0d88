import * as z from "zod";
import { blockKinds } from "../../domain/block.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { conversation, count, list, revision } from "./parts.ts";

/** `turnlog append` */
export const appendDocument = z.strictObject({
  conversation,
  /** The event's revision; null if the key had been used, so that nothing was appended. */
  revision: revision.nullable(),
  blockId: z.string(),
  kind: z.enum(blockKinds),
  key: z.string().nullable(),
  isNewConversation: z.boolean(),
  /** Whether a run is open, and the block waits for its end. */
  isPending: z.boolean(),
});

/** `turnlog rename`, `label`, `hide` and `unhide`: the conversation's title and labels now. */
export const relabelDocument = z.strictObject({
  conversation,
  /** The event's revision; null if nothing changed, so that nothing was written. */
  revision: revision.nullable(),
  title: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  isHidden: z.boolean(),
});

/** `turnlog reset-reasoning`: the blocks that are no longer sent. */
export const resetReasoningDocument = z.strictObject({ conversation, blockIds: list(z.string()) });

/** `turnlog revert` */
export const revertDocument = z.strictObject({
  conversation,
  /** The last written event's revision; null if the Turn was the same already. */
  revision: revision.nullable(),
  /** The revision whose Turn was restored; null if an exchange was given. */
  toRevision: revision.nullable(),
  exchange: z.int().nullable(),
  /** The number of blocks in the Turn now. */
  blocks: count,
  digest: sha256Schema,
  /** The blocks that are no longer in the Turn. */
  removed: list(z.string()),
});
