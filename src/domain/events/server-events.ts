import * as z from "zod";
import { anchorSchema } from "../anchor.ts";
import { inferenceIdSchema, settingsNameSchema, sha256Schema } from "../ids.ts";
import { jsonValueSchema } from "./shared.ts";

export const anchorInvalidated = z.strictObject({
  type: z.literal("AnchorInvalidated"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    /** One anchor, or everything that the endpoint holds. */
    anchor: anchorSchema.nullable(),
    /** `not-found`, `expired`, `deleted`, `not-stored`, `refused`, `continued`, `evicted`, `suspect`. */
    reason: z.string(),
  }),
});

/** A user of the conversation deleted a response at the server. Its `AnchorInvalidated` comes before this event. */
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

/** A user of the conversation deleted a conversation object at the server, with its items. */
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

/** What a server says it holds under a response that no request of this conversation produced. */
export const contextImported = z.strictObject({
  type: z.literal("ContextImported"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    /** The group that the response's blocks have by this id. */
    inferenceId: inferenceIdSchema,
    responseId: z.string(),
    anchor: anchorSchema,
    settingsDigest: settingsNameSchema,
    /** The context digest of the Turn that it holds, and its number of blocks, without and with the response's own. */
    turn: sha256Schema,
    inputLength: z.int().nonnegative(),
    length: z.int().nonnegative(),
    /** Input and output together, as the server counted them. */
    tokens: z.exactOptional(z.number()),
  }),
});

/** A behaviour that an endpoint showed. */
export const capabilityLearned = z.strictObject({
  type: z.literal("CapabilityLearned"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    capability: z.string(),
    value: jsonValueSchema,
    /** The model that showed it; absent if it is a capability of the endpoint. */
    model: z.exactOptional(z.string()),
    reason: z.string(),
  }),
});

/** The name of a capability of one model, or of the endpoint. */
export const learnedName = ({ capability, model }: { readonly capability: string; readonly model?: string }): string =>
  model === undefined ? capability : `${capability} of ${model}`;

/**
 * A change of a conversation object at a server: it was created, or items are deleted from its end (recorded before the first call).
 * From then until the next answer its content is not known for sure.
 */
export const serverConversationChanged = z.strictObject({
  type: z.literal("ServerConversationChanged"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    anchor: anchorSchema,
    change: z.enum(["made", "cut"]),
    /** How many exchanges (a request with its answer) it keeps; absent if it was created. */
    keeps: z.exactOptional(z.int().nonnegative()),
    /** The ids of the deleted items, in the order of deletion. */
    items: z.exactOptional(z.array(z.string())),
  }),
});

/** A reasoning item that the provider rejected: it stays in the Turn and is not sent again. */
export const reasoningQuarantined = z.strictObject({
  type: z.literal("ReasoningQuarantined"),
  version: z.literal(1),
  data: z.strictObject({ scope: z.string(), blockIds: z.array(z.string()), reason: z.string() }),
});
