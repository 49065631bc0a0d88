import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { editSchema } from "../edits.ts";
import { blockIdSchema, conversationIdSchema, runIdSchema, settingsNameSchema, sha256Schema } from "../ids.ts";
import { erasedPlacesSchema } from "./erased-places.ts";
import { compactionSchema, jsonObjectSchema, usageSchema } from "./shared.ts";

const revisionSchema = z.int().nonnegative();

/** Where a conversation came from (rule: Lineage). Nothing of its parent is copied into it. */
export const originSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("new") }),
  /** It continues from this event of its parent, whose digest covers everything before. */
  z.strictObject({
    type: z.literal("fork"),
    conversationId: conversationIdSchema,
    revision: revisionSchema,
    digest: sha256Schema,
  }),
  /** A tool call of its parent opened it. It inherits nothing. */
  z.strictObject({
    type: z.literal("child"),
    conversationId: conversationIdSchema,
    runId: runIdSchema,
    blockId: blockIdSchema,
  }),
  /** `head` is the head of the source stream, if there was one. */
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
    /** Null removes a label. */
    labels: z.exactOptional(z.record(z.string(), z.string().nullable())),
  }),
});

/** A block from a user, an app or an import. While a run is open, the block waits: the run's result comes first. */
export const blockAppended = z.strictObject({
  type: z.literal("BlockAppended"),
  version: z.literal(1),
  data: z.strictObject({ block: blockJsonSchema }),
});

/**
 * Request settings, recorded once per digest; requests refer to the digest. Either all settings, or, if most equal those of an earlier
 * complete declaration, only the members that differ from it. `settings` has the `model` either way.
 */
export const settingsDeclared = z.strictObject({
  type: z.literal("SettingsDeclared"),
  version: z.literal(2),
  data: z.strictObject({
    /** The name of these settings: in `json` the digest of their text, in lines keyed. */
    digest: settingsNameSchema,
    settings: jsonObjectSchema,
    /** The name of the complete declaration that these settings differ from. */
    base: z.exactOptional(settingsNameSchema),
    /** Members of the base that are absent here. */
    without: z.exactOptional(z.array(z.string())),
    /** With a base: the size of all settings as JSON, in UTF-8 bytes. */
    bytes: z.exactOptional(z.int().nonnegative()),
  }),
});

/**
 * Restores the Turn of an earlier revision, or of the end of an exchange. Everything since stays in the log. A change that is too large
 * for one event is written as several, each against the result of the one before.
 */
export const turnReverted = z.strictObject({
  type: z.literal("TurnReverted"),
  version: z.literal(1),
  data: z.strictObject({
    /** The revision of this conversation whose Turn it restores; null if an exchange was named. */
    toRevision: revisionSchema.nullable(),
    edits: z.array(editSchema),
    after: sha256Schema,
  }),
});

/**
 * An operator has examined a damaged event: folds continue as if it did not exist. The envelope names the run of the damaged event; if
 * that run is open, it ends.
 */
export const eventSkipped = z.strictObject({
  type: z.literal("EventSkipped"),
  version: z.literal(1),
  data: z.strictObject({
    revision: revisionSchema,
    reason: z.string(),
    /** The digest of what the store then held of the event: a later change is distinguished from the damage that was examined. */
    found: z.exactOptional(sha256Schema),
  }),
});

/**
 * An operator has skipped events in an ancestor of this fork, which the fork inherits. Only the ancestor's stream says which and why: this
 * event tells those who follow the fork that its history reads otherwise from here on.
 */
export const ancestorEventsSkipped = z.strictObject({
  type: z.literal("AncestorEventsSkipped"),
  version: z.literal(1),
  data: z.strictObject({
    /** The ancestor. */
    conversationId: conversationIdSchema,
    /** The skipped events, in the ancestor's stream. */
    revisions: z.array(revisionSchema),
  }),
});

/**
 * An erasure emptied lines of this stream, or of an ancestor's, and renewed the key of the names (rule: Erasure). Written in the transaction
 * that emptied them. Folds read the events before it again, because they may hold what was erased.
 */
export const linesErased = z.strictObject({
  type: z.literal("LinesErased"),
  version: z.literal(1),
  data: z.strictObject({
    orderId: z.string(),
    /** The lines of this stream's events that were emptied, by number, from 1; empty if all of them are in other streams. */
    places: erasedPlacesSchema,
    /** The blocks whose content was erased, in any version. */
    blockIds: z.array(blockIdSchema),
  }),
});

/** A server's answer to a request to compact a response and everything before it, without its items: the edits have them. */
const serverWindowSchema = z.strictObject({
  scope: z.string(),
  /** The response to compact. */
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
 * The engine shortened the Turn while no run was open. The original blocks stay in the log, and answered messages stay answered.
 * A change that is too large for one event is written as several, each against the result of the one before.
 */
export const turnCompacted = z.strictObject({
  type: z.literal("TurnCompacted"),
  version: z.literal(1),
  data: z.strictObject({
    edits: z.array(editSchema),
    after: sha256Schema,
    compaction: compactionSchema,
    /** The answer of the server that compacted it, if one did; only in the first of several events. */
    window: z.exactOptional(serverWindowSchema),
  }),
});
