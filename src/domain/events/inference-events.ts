import * as z from "zod";
import { actorSchema } from "../actor.ts";
import { anchorSchema } from "../anchor.ts";
import { blockJsonSchema } from "../block-json.ts";
import { inferenceIdSchema, sha256Schema } from "../ids.ts";
import { jsonObjectSchema, jsonValueSchema, layerTimingSchema, usageSchema } from "./shared.ts";

/** One change that shaping makes to a request so that the server takes it (rule: Planning and shaping). It never touches the Turn. */
const repairSchema = z.strictObject({
  /** `omit`, `omit-id`, `omit-parts`, `rename-call`, `answer`, `stand-in`. */
  rule: z.string(),
  /** The block that it is about, by its place in the Turn. */
  index: z.number().int(),
  detail: jsonObjectSchema,
});
export type Repair = Readonly<z.infer<typeof repairSchema>>;

/** Where a context stops being a prefix of the Turn, and who made it so. */
export const divergenceSchema = z.strictObject({
  index: z.number().int(),
  blockId: z.string().nullable(),
  change: z.enum(["edited", "removed", "inserted", "moved", "shortened"]),
  actor: actorSchema.nullable(),
});
export type Divergence = z.infer<typeof divergenceSchema>;

/**
 * The planner's decision for one request, as the rule "Planning and shaping" lists it. Reasons, rules, transports and capabilities are names:
 * a new one is no new version. What a request holds beyond the Turn and the settings stands here.
 */
export const decisionSchema = z.strictObject({
  strategy: z.enum(["chained", "rebased", "full"]),
  /** Why it is not chained from the newest context; null when it is. */
  reason: z.string().nullable(),
  anchor: z
    .strictObject({
      ...anchorSchema.shape,
      /** What was asked when the server came to hold it; null where an object holds nothing yet. */
      inferenceId: z.string().nullable(),
      length: z.number().int(),
    })
    .nullable(),
  /** How the request is sent: `json`, `sse`, `websocket`. */
  transport: z.string(),
  /** The open connection that it goes out on: an anchor that ends with a connection was continued from on this one only. */
  lives: z.exactOptional(jsonObjectSchema),
  /** What else its body holds, for its codec. */
  details: z.exactOptional(jsonObjectSchema),
  /** The index of the first block of the outgoing Turn that is sent. */
  sendFrom: z.number().int(),
  /** How many ancestors back the anchor is from the newest context of this conversation. */
  back: z.number().int(),
  changedSettings: z.array(z.string()),
  repairs: z.array(repairSchema),
  now: z.string(),
  capabilities: jsonObjectSchema,
  rejected: z
    .strictObject({
      anchor: anchorSchema,
      reason: z.string(),
      divergence: divergenceSchema.nullable(),
    })
    .nullable(),
});
export type Decision = z.infer<typeof decisionSchema>;

/** What an answer's reasoning is bound to: what the server holds before it. */
const boundSchema = z.strictObject({
  /** The context digest of all but reasoning. */
  others: sha256Schema,
  /** How many reasoning blocks there are, and the digest of the newest: the oldest may be left out later. */
  reasoning: z.int(),
  newest: z.nullable(sha256Schema),
});
export type BoundDigest = Readonly<z.infer<typeof boundSchema>>;

const requested = {
  inferenceId: inferenceIdSchema,
  attempt: z.number().int(),
  scope: z.string(),
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
    /** Where the endpoint refuses reasoning behind anything but what it was made from. */
    bound: z.exactOptional(boundSchema),
  }),
  requestDigest: sha256Schema,
  requestBytes: z.number().int(),
};

/** One provider call, durable before it begins. With the settings and the Turn it says the exact body. */
export const inferenceRequested = z.strictObject({
  type: z.literal("InferenceRequested"),
  version: z.literal(1),
  data: z.strictObject({
    ...requested /** The name of the provider that the engine's router chose; absent, where it is the engine's own. */,
    route: z.exactOptional(z.string()),
    timings: z.exactOptional(z.array(layerTimingSchema)),
  }),
});
export type InferenceRequestedData = z.infer<typeof inferenceRequested>["data"];

/** The server works on a response that can be fetched by its id, whatever becomes of the caller (background). */
export const responseStarted = z.strictObject({
  type: z.literal("ResponseStarted"),
  version: z.literal(1),
  data: z.strictObject({
    inferenceId: inferenceIdSchema,
    responseId: z.string(),
    /** The number of the last event of its stream that was read when this was written: the stream goes on after it. */
    cursor: z.exactOptional(z.int()),
    /** What the server said of the response first, as `ResponseReceived` has what it said last. */
    first: z.exactOptional(z.strictObject({ rest: jsonObjectSchema, echoed: z.array(z.string()) })),
  }),
});
export type ResponseStartedData = z.infer<typeof responseStarted>["data"];

/** Reasoning of the request that its server kept from the model, and why: a name. */
const withheldSchema = z.strictObject({
  /** The id under which the server had given the item out; null where it does not say. */
  itemId: z.string().nullable(),
  /** `prefix`, `model`, `turn-boundary`, `organization`, `end-user`, or as the server says it. */
  reason: z.string(),
});
export type Withheld = Readonly<z.infer<typeof withheldSchema>>;

/** What the content filters of a server found in one text: that of the prompt, or of the answer. */
export const contentFilterSchema = z.strictObject({
  /** `prompt`, `completion`. */
  source: z.string(),
  /** The server let nothing of it through. */
  blocked: z.boolean(),
  /** By category: `hate`, `jailbreak` and so on. `severity` is `safe`, `low`, `medium` or `high`. */
  results: z.record(
    z.string(),
    z.strictObject({
      filtered: z.boolean(),
      severity: z.exactOptional(z.string()),
      detected: z.exactOptional(z.boolean()),
    }),
  ),
});
export type ContentFilter = z.infer<typeof contentFilterSchema>;

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
    /** What a later request may name to continue from it; `unusable` says why that would be refused. Absent: there is nothing. */
    anchor: z.exactOptional(z.strictObject({ ...anchorSchema.shape, unusable: z.exactOptional(z.string()) })),
    /** What the answer says of the request: `anchor` is the id that it continued from, or null. */
    echo: z.exactOptional(jsonObjectSchema),
    /** What went wrong, where the answer says that something did. */
    failure: z.exactOptional(z.strictObject({ message: z.string(), code: z.string().nullable() })),
    output: z.array(blockJsonSchema),
    usage: z.exactOptional(usageSchema),
    /** Reasoning of the request that the model did not get, as the server says. */
    withheld: z.exactOptional(z.array(withheldSchema)),
    /** What the server's content filters found, where it says so. */
    contentFilters: z.exactOptional(z.array(contentFilterSchema)),
    /** Every other member of the response, as its codec keeps it. */
    rest: jsonObjectSchema,
    /** Members of the response that equal the request's, and so are not stored again. */
    echoed: z.array(z.string()),
    /** What the provider calls the request. */
    requestId: z.exactOptional(z.string()),
  }),
});
export type ResponseReceivedData = z.infer<typeof responseReceived>["data"];

const failure = {
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
  /** What the server's content filters found, where they are why it refused. */
  contentFilters: z.exactOptional(z.array(contentFilterSchema)),
  /** How long the server asked to wait. */
  retryAfterMs: z.exactOptional(z.number()),
  /** What the server said about sending the request again. */
  shouldRetry: z.exactOptional(z.boolean()),
  requestId: z.exactOptional(z.string()),
};

/** Whom a step is given to, by the router's word: a provider by its name, null for the engine's own; and why, where it gave none. */
const choiceSchema = z.union([z.strictObject({ route: z.string().nullable() }), z.strictObject({ error: z.string() })]);
export type RouterChoice = Readonly<z.infer<typeof choiceSchema>>;

/** Whom the router chose for a step that ended, or did something else, before a request of it could tell that. */
export const stepRouted = z.strictObject({ type: z.literal("StepRouted"), version: z.literal(1), data: choiceSchema });

/** The router's word after a failure; null where nobody takes the step over. */
const nextSchema = choiceSchema.nullable();
export type NextProvider = z.infer<typeof nextSchema>;

export const inferenceFailed = z.strictObject({
  type: z.literal("InferenceFailed"),
  version: z.literal(1),
  data: z.strictObject({
    ...failure,
    /** The step is asked again so many milliseconds after this: the next attempt. Absent, the failure is the answer. */
    retryInMs: z.exactOptional(z.int().nonnegative()),
    /** Who is asked next; absent where no router was asked. */
    next: z.exactOptional(nextSchema),
  }),
});
export type InferenceFailedData = z.infer<typeof inferenceFailed>["data"];

/**
 * A request that readies a connection, durable before it begins: it is not to be answered, and a later request may continue from it. It
 * is made outside of runs, of the Turn that the endpoint answered last: settings and Turn say its body, as of every request.
 */
export const warmUpRequested = z.strictObject({
  type: z.literal("WarmUpRequested"),
  version: z.literal(1),
  data: z.strictObject(requested),
});

/** What the endpoint said to it: a response of which the output is empty. */
export const warmUpAnswered = z.strictObject({
  type: z.literal("WarmUpAnswered"),
  version: z.literal(1),
  data: responseReceived.shape.data,
});

export const warmUpFailed = z.strictObject({
  type: z.literal("WarmUpFailed"),
  version: z.literal(1),
  data: z.strictObject(failure),
});
