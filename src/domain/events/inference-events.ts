import * as z from "zod";
import { actorSchema } from "../actor.ts";
import { blockJsonSchema } from "../block-json.ts";
import { inferenceIdSchema, sha256Schema } from "../ids.ts";
import { jsonObjectSchema, jsonValueSchema, layerTimingSchema } from "./shared.ts";

/** One change that shaping makes to a request so that the server takes it (MODEL 5). It never touches the Turn. */
const repairSchema = z.discriminatedUnion("action", [
  z.strictObject({ action: z.literal("omit"), index: z.number().int(), rule: z.string() }),
  z.strictObject({ action: z.literal("omit-id"), index: z.number().int(), rule: z.string() }),
  z.strictObject({ action: z.literal("rename-call"), index: z.number().int(), callId: z.string() }),
  /** Answers the open call at `index` before the block at `before` (the length of the Turn: at its end). */
  z.strictObject({
    action: z.literal("answer"),
    index: z.number().int(),
    before: z.number().int(),
    callId: z.string(),
  }),
]);
export type Repair = z.infer<typeof repairSchema>;

/** Where a context stops being a prefix of the Turn, and who made it so. */
export const divergenceSchema = z.strictObject({
  index: z.number().int(),
  blockId: z.string().nullable(),
  change: z.enum(["edited", "removed", "inserted", "moved", "shortened"]),
  actor: actorSchema.nullable(),
});
export type Divergence = z.infer<typeof divergenceSchema>;

const capabilitiesSchema = z.strictObject({
  chain: z.boolean(),
  echo: z.enum(["previous-response-id", "none"]),
  storeDefault: z.boolean(),
  emptyInput: z.boolean(),
  encryptedReasoning: z.boolean(),
  itemIds: z.boolean(),
});

const fullReasons = [
  "first-request",
  "no-anchor",
  "provider-cannot-chain",
  "expired",
  "refused",
  "illegal-continuation",
  "settings-changed",
  "suspect",
  "policy",
] as const;

/** The planner's decision for one request, as MODEL 5 lists it. */
export const decisionSchema = z.strictObject({
  strategy: z.enum(["chained", "rebased", "full"]),
  /** Why it is not chained from the newest context; null when it is. */
  reason: z.enum(fullReasons).nullable(),
  anchor: z.strictObject({ responseId: z.string(), inferenceId: z.string(), length: z.number().int() }).nullable(),
  /** The index of the first block of the outgoing Turn that is sent. */
  sendFrom: z.number().int(),
  /** How many ancestors back the anchor is from the newest context of this conversation. */
  back: z.number().int(),
  changedSettings: z.array(z.string()),
  repairs: z.array(repairSchema),
  now: z.string(),
  capabilities: capabilitiesSchema,
  rejected: z
    .strictObject({
      responseId: z.string(),
      reason: z.enum(fullReasons),
      divergence: divergenceSchema.nullable(),
    })
    .nullable(),
});
export type Decision = z.infer<typeof decisionSchema>;

/** One provider call, durable before it begins. With the settings and the Turn it says the exact body. */
export const inferenceRequested = z.strictObject({
  type: z.literal("InferenceRequested"),
  version: z.literal(1),
  data: z.strictObject({
    inferenceId: inferenceIdSchema,
    attempt: z.number().int(),
    scope: z.string(),
    transport: z.enum(["json", "sse"]),
    encoder: z.string(),
    settingsDigest: sha256Schema,
    decision: decisionSchema,
    /** Context digests of the outgoing Turn and of what the server holds as input, and the number of its blocks. */
    input: z.strictObject({
      turn: sha256Schema,
      held: sha256Schema,
      blocks: z.number().int(),
      /** Of the whole Turn, where the instructions say its first blocks and `turn` is of those after them. */
      outgoing: z.exactOptional(sha256Schema),
    }),
    requestDigest: sha256Schema,
    requestBytes: z.number().int(),
    timings: z.exactOptional(z.array(layerTimingSchema)),
  }),
});
export type InferenceRequestedData = z.infer<typeof inferenceRequested>["data"];

/** The server works on a response that can be fetched by its id, whatever becomes of the caller (background). */
export const responseStarted = z.strictObject({
  type: z.literal("ResponseStarted"),
  version: z.literal(1),
  data: z.strictObject({ inferenceId: inferenceIdSchema, responseId: z.string() }),
});

/** A response, in parts that together are the whole of it. */
export const responseReceived = z.strictObject({
  type: z.literal("ResponseReceived"),
  version: z.literal(1),
  data: z.strictObject({
    inferenceId: inferenceIdSchema,
    responseId: z.string().nullable(),
    status: z.string().nullable(),
    /** Whether this status means, in the endpoint's dialect, that the answer is whole. */
    isComplete: z.boolean(),
    /** Something that the server said was a secret and is masked here, so that the server holds other bytes than the log. */
    isMasked: z.exactOptional(z.literal(true)),
    output: z.array(blockJsonSchema),
    /** What stood among the items and is none, by its place in the response's output. */
    strays: z.exactOptional(z.array(z.strictObject({ index: z.int().nonnegative(), value: jsonValueSchema }))),
    usage: z.exactOptional(jsonValueSchema),
    /** Every other member of the response. */
    fields: jsonObjectSchema,
    /** Members of the response that equal the request's, and so are not stored again. */
    echoed: z.array(z.string()),
    /** What the provider calls the request. */
    requestId: z.exactOptional(z.string()),
  }),
});
export type ResponseReceivedData = z.infer<typeof responseReceived>["data"];

export const inferenceFailed = z.strictObject({
  type: z.literal("InferenceFailed"),
  version: z.literal(1),
  data: z.strictObject({
    inferenceId: inferenceIdSchema,
    kind: z.string(),
    /** Whether the server refused the request before it acted, or may have acted. */
    outcome: z.enum(["rejected", "unknown"]),
    message: z.string(),
    status: z.number().int().nullable(),
    code: z.string().nullable(),
    param: z.string().nullable(),
    /** The error body as it came, or the response that says that it failed. */
    body: z.exactOptional(jsonValueSchema),
    partial: z.array(jsonObjectSchema),
    /** How long the server asked to wait. */
    retryAfterMs: z.exactOptional(z.number()),
    /** What the server said about sending the request again. */
    shouldRetry: z.exactOptional(z.boolean()),
    requestId: z.exactOptional(z.string()),
    /** The step is asked again so many milliseconds after this: the next attempt. Absent, the failure is the answer. */
    retryInMs: z.exactOptional(z.int().nonnegative()),
  }),
});
export type InferenceFailedData = z.infer<typeof inferenceFailed>["data"];

export const anchorInvalidated = z.strictObject({
  type: z.literal("AnchorInvalidated"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    /** One response, or all that the endpoint holds. */
    responseId: z.string().nullable(),
    reason: z.enum(["not-found", "expired", "deleted", "not-stored", "refused"]),
  }),
});

/** What an endpoint was seen to do. */
export const capabilityLearned = z.strictObject({
  type: z.literal("CapabilityLearned"),
  version: z.literal(1),
  data: z.strictObject({
    scope: z.string(),
    capability: z.string(),
    value: z.union([z.boolean(), z.string()]),
    /** The model that it was seen of; absent where it is the endpoint's own. */
    model: z.exactOptional(z.string()),
    reason: z.string(),
  }),
});

/** What a capability is known by: of one model, or of the endpoint. */
export const learnedName = ({ capability, model }: { readonly capability: string; readonly model?: string }): string =>
  model === undefined ? capability : `${capability} of ${model}`;

/** A reasoning item that the provider refused: it stays in the Turn and is not sent again. */
export const reasoningQuarantined = z.strictObject({
  type: z.literal("ReasoningQuarantined"),
  version: z.literal(1),
  data: z.strictObject({ scope: z.string(), blockIds: z.array(z.string()), reason: z.string() }),
});
