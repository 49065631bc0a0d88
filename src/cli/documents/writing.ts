import * as z from "zod";
import { blockKinds } from "../../domain/block.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { conversation, count, list, revision } from "./parts.ts";

/** `turnlog append` */
export const appendDocument = z.strictObject({
  conversation,
  /** Of the event; null where the key had been used, and nothing was appended. */
  revision: revision.nullable(),
  blockId: z.string(),
  kind: z.enum(blockKinds),
  key: z.string().nullable(),
  isNewConversation: z.boolean(),
  /** Whether a run is open, for whose end it waits. */
  isPending: z.boolean(),
});

/** `turnlog rename`, `label`, `hide` and `unhide`: how the conversation is called now. */
export const relabelDocument = z.strictObject({
  conversation,
  /** Of the event; null where all was so already, and nothing was written. */
  revision: revision.nullable(),
  title: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  isHidden: z.boolean(),
});

/** `turnlog reset-reasoning`: the blocks that are not sent any more. */
export const resetReasoningDocument = z.strictObject({ conversation, blockIds: list(z.string()) });

/** `turnlog revert` */
export const revertDocument = z.strictObject({
  conversation,
  /** Of the last event that it wrote; null where the Turn was that already. */
  revision: revision.nullable(),
  /** Whose Turn it is again; null where an exchange was named. */
  toRevision: revision.nullable(),
  exchange: z.int().nullable(),
  /** What the Turn has now. */
  blocks: count,
  digest: sha256Schema,
  /** The blocks that are no longer in it. */
  removed: list(z.string()),
});
