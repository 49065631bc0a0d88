import * as z from "zod";
import { anchorSchema } from "../anchor.ts";
import { inferenceIdSchema, sha256Schema } from "../ids.ts";
import { jsonValueSchema } from "./shared.ts";

export const anchorInvalidated = z.strictObject({
  type: z.literal("AnchorInvalidated"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    /** One anchor, or all that the endpoint holds. */
    anchor: anchorSchema.nullable(),
    /** `not-found`, `expired`, `deleted`, `not-stored`, `refused`, `continued`, `evicted`, `suspect`. */
    reason: z.string(),
  }),
});

/** A response was deleted at the server by a user of the conversation, whose `AnchorInvalidated` stands before it. */
export const responseDeleted = z.strictObject({
  type: z.literal("ResponseDeleted"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    responseId: z.string(),
    /** Whether the server still had it. */
    found: z.boolean(),
  }),
});

/** The same of a conversation object, with the items in it. */
export const serverConversationDeleted = z.strictObject({
  type: z.literal("ServerConversationDeleted"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    anchor: anchorSchema,
    /** Whether the server still had it. */
    found: z.boolean(),
  }),
});

/** What a server said that it holds under a response, which no request of this conversation made. */
export const contextImported = z.strictObject({
  type: z.literal("ContextImported"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    /** The blocks of the response are a group by this name. */
    inferenceId: inferenceIdSchema,
    responseId: z.string(),
    anchor: anchorSchema,
    settingsDigest: sha256Schema,
    /** Context digest of the Turn that it holds, and the number of its blocks, without and with the response's own. */
    turn: sha256Schema,
    inputLength: z.int().nonnegative(),
    length: z.int().nonnegative(),
    /** Input and output together, as the server counted them. */
    tokens: z.exactOptional(z.number()),
  }),
});

/** What an endpoint was seen to do. */
export const capabilityLearned = z.strictObject({
  type: z.literal("CapabilityLearned"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    capability: z.string(),
    value: jsonValueSchema,
    /** The model that it was seen of; absent where it is the endpoint's own. */
    model: z.exactOptional(z.string()),
    reason: z.string(),
  }),
});

/** What a capability is known by: of one model, or of the endpoint. */
export const learnedName = ({ capability, model }: { readonly capability: string; readonly model?: string }): string =>
  model === undefined ? capability : `${capability} of ${model}`;

/**
 * What becomes of a conversation object at a server: it was made, or (durable before the first call) items are deleted from its
 * end. Between that and the next answer nobody knows for sure what it holds.
 */
export const serverConversationChanged = z.strictObject({
  type: z.literal("ServerConversationChanged"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    anchor: anchorSchema,
    change: z.enum(["made", "cut"]),
    /** How many of its exchanges, a request with its answer each, stay; absent where it was made. */
    keeps: z.exactOptional(z.int().nonnegative()),
    /** The ids of the items that are deleted, in that order. */
    items: z.exactOptional(z.array(z.string())),
  }),
});

/** A reasoning item that the provider refused: it stays in the Turn and is not sent again. */
export const reasoningQuarantined = z.strictObject({
  type: z.literal("ReasoningQuarantined"),
  version: z.literal(1),
  data: z.strictObject({ scope: z.string(), blockIds: z.array(z.string()), reason: z.string() }),
});
