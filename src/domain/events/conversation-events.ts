import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { editSchema } from "../edits.ts";
import { blockIdSchema, conversationIdSchema, runIdSchema, sha256Schema } from "../ids.ts";
import { compactionSchema, jsonObjectSchema, usageSchema } from "./shared.ts";

const revisionSchema = z.int().nonnegative();

/** Where a conversation came from (rule: Lineage). Nothing of its parent is copied into it. */
export const originSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("new") }),
  /** It goes on from this event of its parent, whose digest stands for all that came before. */
  z.strictObject({
    type: z.literal("fork"),
    conversationId: conversationIdSchema,
    revision: revisionSchema,
    digest: sha256Schema,
  }),
  /** A tool call of its parent opened it; it inherits nothing. */
  z.strictObject({
    type: z.literal("child"),
    conversationId: conversationIdSchema,
    runId: runIdSchema,
    blockId: blockIdSchema,
  }),
  /** `head` is that of the stream it was read from, where that had one. */
  z.strictObject({
    type: z.literal("import"),
    source: z.string(),
    head: z.exactOptional(z.strictObject({ revision: revisionSchema, digest: sha256Schema })),
  }),
]);
export type ConversationOrigin = z.infer<typeof originSchema>;

export const conversationStarted = z.strictObject({
  type: z.literal("ConversationStarted"),
  version: z.literal(1),
  data: z.strictObject({
    origin: originSchema,
    title: z.exactOptional(z.string()),
    labels: z.exactOptional(z.record(z.string(), z.string())),
  }),
});

export const conversationRelabelled = z.strictObject({
  type: z.literal("ConversationRelabelled"),
  version: z.literal(1),
  data: z.strictObject({
    title: z.exactOptional(z.string()),
    /** Null takes a label away. */
    labels: z.exactOptional(z.record(z.string(), z.string().nullable())),
  }),
});

/** A block by user, app or import. While a run is open it waits: the run's result comes first. */
export const blockAppended = z.strictObject({
  type: z.literal("BlockAppended"),
  version: z.literal(1),
  data: z.strictObject({ block: blockJsonSchema }),
});

/**
 * Request settings, once per digest: what a request names by digest. All of them; or, where most are those of an earlier declaration that
 * has all, the members that differ from that one. `settings` has the `model` either way.
 */
export const settingsDeclared = z.strictObject({
  type: z.literal("SettingsDeclared"),
  version: z.literal(2),
  data: z.strictObject({
    digest: sha256Schema,
    settings: jsonObjectSchema,
    /** The declaration that these differ from, by its digest: one that has all. */
    base: z.exactOptional(sha256Schema),
    /** Members of the base that these do not have. */
    without: z.exactOptional(z.array(z.string())),
    /** With a base: the UTF-8 bytes of all settings as JSON. */
    bytes: z.exactOptional(z.int().nonnegative()),
  }),
});

/**
 * The Turn is again what it was at a revision, or where an exchange ended: what came since stays in the log. One that is
 * too big for one event is written as several, each against what the one before made.
 */
export const turnReverted = z.strictObject({
  type: z.literal("TurnReverted"),
  version: z.literal(1),
  data: z.strictObject({
    /** Whose Turn it is again, in this conversation; null where an exchange was named. */
    toRevision: revisionSchema.nullable(),
    edits: z.array(editSchema),
    after: sha256Schema,
  }),
});

/**
 * An operator has looked at a damaged event: folds go on as if it were not there. In the envelope stands the run that the event
 * was one of: where that is open, it is over.
 */
export const eventSkipped = z.strictObject({
  type: z.literal("EventSkipped"),
  version: z.literal(1),
  data: z.strictObject({
    revision: revisionSchema,
    reason: z.string(),
    /** The digest of what the store held of the event then: a later change of it is told from the damage that was looked at. */
    found: z.exactOptional(sha256Schema),
  }),
});

/** A server's answer to being asked to compact a response and all before it: but for its items, which the edits have. */
const serverWindowSchema = z.strictObject({
  scope: z.string(),
  /** The response that it was asked to compact. */
  of: z.string(),
  id: z.string().nullable(),
  model: z.exactOptional(z.string()),
  /** What it cost. */
  usage: z.exactOptional(usageSchema),
  /** Every other member of the answer. */
  rest: jsonObjectSchema,
});
export type RecordedWindow = z.infer<typeof serverWindowSchema>;

/**
 * The engine made the Turn shorter while no run was open: the blocks as they were stay in the log, and what was answered stays
 * answered. One that is too big for one event is written as several, each against what the one before made.
 */
export const turnCompacted = z.strictObject({
  type: z.literal("TurnCompacted"),
  version: z.literal(1),
  data: z.strictObject({
    edits: z.array(editSchema),
    after: sha256Schema,
    compaction: compactionSchema,
    /** What the server said that compacted it, where one did; in the first of several. */
    window: z.exactOptional(serverWindowSchema),
  }),
});
