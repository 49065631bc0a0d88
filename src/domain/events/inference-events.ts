import * as z from "zod";
import { actorSchema } from "../actor.ts";
import { anchorSchema } from "../anchor.ts";
import { blockJsonSchema } from "../block-json.ts";
import { inferenceIdSchema, settingsNameSchema, sha256Schema } from "../ids.ts";
import { jsonObjectSchema, jsonValueSchema, layerTimingSchema, usageSchema } from "./shared.ts";

/** One change that shaping makes to a request so that the server accepts it (rule: Planning and shaping). It never changes the Turn. */
const repairSchema = z.strictObject({
  /** `omit`, `omit-id`, `omit-parts`, `rename-call`, `answer`, `stand-in`. */
  rule: z.string(),
  /** The index in the Turn of the block concerned. */
  index: z.number().int(),
  detail: jsonObjectSchema,
});
export type Repair = Readonly<z.infer<typeof repairSchema>>;

/** Where a context stops being a prefix of the Turn, and who caused that. */
export const divergenceSchema = z.strictObject({
  index: z.number().int(),
  blockId: z.string().nullable(),
  change: z.enum(["edited", "removed", "inserted", "moved", "shortened"]),
  actor: actorSchema.nullable(),
});
export type Divergence = z.infer<typeof divergenceSchema>;

/** What a request gives up of an earlier prompt, so that no prompt cache can serve it: known before it is sent. */
const cacheLossSchema = z.strictObject({
  /** The earlier request that shares most with this one, as far as planning has looked. */
  against: z.string(),
  /** The settings that differ from its settings, by path. Whether a server reads them as part of the prompt depends on the wire. */
  settings: z.array(z.string()),
  /** The id of the first block that differs; null if the Turn begins with all of its blocks. */
  unit: z.string().nullable(),
  /** Who changed that block, or the instructions; null if unknown, or nothing of them has changed. */
  actor: actorSchema.nullable(),
  /**
   * That block lost its content to an erasure, and `actor` ordered it. Without a `unit`: the settings of the earlier request did, so it is
   * not known whether others than `settings` differ.
   */
  erased: z.exactOptional(z.literal(true)),
  /** How many blocks of its Turn are the beginning of this one, and the UTF-8 bytes of its other blocks that are sent again. */
  keptBlocks: z.int().nonnegative(),
  lostBytes: z.int().nonnegative(),
});
export type CacheLoss = z.infer<typeof cacheLossSchema>;

/**
 * The planner's decision for one request, as the rule "Planning and shaping" lists it. Reasons, rules, transports and capabilities are
 * names: a new name needs no new version. Everything that a request holds beyond the Turn and the settings is recorded here.
 */
export const decisionSchema = z.strictObject({
  strategy: z.enum(["chained", "rebased", "full"]),
  /** Why the request does not continue from the newest context; null if it does. */
  reason: z.string().nullable(),
  anchor: z
    .strictObject({
      ...anchorSchema.shape,
      /** The request after which the server held it; null if an object holds nothing yet. */
      inferenceId: z.string().nullable(),
      length: z.number().int(),
    })
    .nullable(),
  /** How the request is sent: `json`, `sse`, `websocket`. */
  transport: z.string(),
  /** The open connection that carries the request: an anchor that ends with a connection can only be used on it. */
  lives: z.exactOptional(jsonObjectSchema),
  /** What else the request body contains, for its codec. */
  details: z.exactOptional(jsonObjectSchema),
  /** The index in the outgoing Turn of the first block sent. */
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
  /** Null if nothing was compared: the first request of an endpoint, or one beside the conversation. Absent in requests of older versions. */
  cache: z.exactOptional(cacheLossSchema.nullable()),
});
export type Decision = z.infer<typeof decisionSchema>;

/** The prefix that an answer's reasoning is bound to: what the server holds before it. */
const boundSchema = z.strictObject({
  /** The context digest of all blocks but reasoning. */
  others: sha256Schema,
  /** The number of reasoning blocks, and the digest of the newest: the oldest may be omitted later. */
  reasoning: z.int(),
  newest: z.nullable(sha256Schema),
});
export type BoundDigest = Readonly<z.infer<typeof boundSchema>>;

const requested = {
  inferenceId: inferenceIdSchema,
  attempt: z.number().int(),
  scope: z.string(),
  encoder: z.string(),
  settingsDigest: settingsNameSchema,
  decision: decisionSchema,
  /** Context digests of the outgoing Turn and of what the server holds as input, and the number of its blocks. */
  input: z.strictObject({
    turn: sha256Schema,
    held: sha256Schema,
    blocks: z.number().int(),
    /** Of the whole Turn, if its first blocks are sent as instructions; `turn` is then the digest of the blocks after them. */
    outgoing: z.exactOptional(sha256Schema),
    /** Present if the endpoint rejects reasoning after any other prefix than the one that produced it. */
    bound: z.exactOptional(boundSchema),
  }),
  /** `erased` if the request carried content that was erased since: the digest would confirm a guess of it. */
  requestDigest: z.union([sha256Schema, z.literal("erased")]),
  requestBytes: z.number().int(),
};

/** One provider call, recorded before it begins. With the settings and the Turn it determines the exact request body. */
export const inferenceRequested = z.strictObject({
  type: z.literal("InferenceRequested"),
  version: z.literal(1),
  data: z.strictObject({
    ...requested /** The name of the provider that the engine's router chose; absent for the engine's own provider. */,
    route: z.exactOptional(z.string()),
    timings: z.exactOptional(z.array(layerTimingSchema)),
  }),
});
export type InferenceRequestedData = z.infer<typeof inferenceRequested>["data"];

/** The server works on a response that can be fetched by its id, whatever happens to the caller (background). */
export const responseStarted = z.strictObject({
  type: z.literal("ResponseStarted"),
  version: z.literal(1),
  data: z.strictObject({
    inferenceId: inferenceIdSchema,
    responseId: z.string(),
    /** The number of the last stream event read before this was written: reading resumes after it. */
    cursor: z.exactOptional(z.int()),
    /** What the server first said about the response; `ResponseReceived` has what it said last. */
    first: z.exactOptional(z.strictObject({ rest: jsonObjectSchema, echoed: z.array(z.string()) })),
  }),
});
export type ResponseStartedData = z.infer<typeof responseStarted>["data"];

/** Reasoning in the request that its server withheld from the model, and why: a name. */
const withheldSchema = z.strictObject({
  /** The id under which the server had issued the item; null if it does not say. */
  itemId: z.string().nullable(),
  /** `prefix`, `model`, `turn-boundary`, `organization`, `end-user`, or the server's own reason. */
  reason: z.string(),
});
export type Withheld = Readonly<z.infer<typeof withheldSchema>>;

/** What a server's content filters found in one text, the prompt or the answer. */
export const contentFilterSchema = z.strictObject({
  /** `prompt`, `completion`. */
  source: z.string(),
  /** The server blocked the whole text. */
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

/** A response, in members that together restore all of it. */
export const responseReceived = z.strictObject({
  type: z.literal("ResponseReceived"),
  version: z.literal(1),
  data: z.strictObject({
    inferenceId: inferenceIdSchema,
    responseId: z.string().nullable(),
    status: z.string().nullable(),
    /** Whether this status means, in the endpoint's dialect, that the answer is complete. */
    isComplete: z.boolean(),
    /** The response contained a secret, which is masked here: the server holds other bytes than the log. */
    isMasked: z.exactOptional(z.literal(true)),
    /** The anchor for later requests; `unusable` says why a server would reject it. Absent if there is none. */
    anchor: z.exactOptional(z.strictObject({ ...anchorSchema.shape, unusable: z.exactOptional(z.string()) })),
    /** What the answer says about the request: `anchor` is the id that it continued from, or null. */
    echo: z.exactOptional(jsonObjectSchema),
    /** The error that the answer reports, if any. */
    failure: z.exactOptional(z.strictObject({ message: z.string(), code: z.string().nullable() })),
    output: z.array(blockJsonSchema),
    usage: z.exactOptional(usageSchema),
    /** Reasoning in the request that the model did not get, according to the server. */
    withheld: z.exactOptional(z.array(withheldSchema)),
    /** What the server's content filters found, if it says so. */
    contentFilters: z.exactOptional(z.array(contentFilterSchema)),
    /** Every other member of the response, as its codec keeps it. */
    rest: jsonObjectSchema,
    /** Members of the response that equal the request's, and are therefore not stored again. */
    echoed: z.array(z.string()),
    /** The provider's id of the request. */
    requestId: z.exactOptional(z.string()),
    /** How long after the request the first part of a streamed answer came, in milliseconds. */
    firstMs: z.exactOptional(z.number().nonnegative()),
  }),
});
export type ResponseReceivedData = z.infer<typeof responseReceived>["data"];

const failure = {
  inferenceId: inferenceIdSchema,
  kind: z.string(),
  /** Whether the server rejected the request before it acted, or the outcome is unknown. */
  outcome: z.enum(["rejected", "unknown"]),
  message: z.string(),
  status: z.number().int().nullable(),
  code: z.string().nullable(),
  param: z.string().nullable(),
  /** The error body as received, or the response that reports the failure. */
  body: z.exactOptional(jsonValueSchema),
  partial: z.array(jsonObjectSchema),
  /** The usage that the provider had reported until then. */
  usage: z.exactOptional(usageSchema),
  /** What the server's content filters found, if they are the reason. */
  contentFilters: z.exactOptional(z.array(contentFilterSchema)),
  /** How long the server asked the client to wait. */
  retryAfterMs: z.exactOptional(z.number()),
  /** Whether the server allows sending the request again. */
  shouldRetry: z.exactOptional(z.boolean()),
  requestId: z.exactOptional(z.string()),
};

/** The router's choice for a step: a provider by its name, or null for the engine's own; an error if it chose none. */
const choiceSchema = z.union([z.strictObject({ route: z.string().nullable() }), z.strictObject({ error: z.string() })]);
export type RouterChoice = Readonly<z.infer<typeof choiceSchema>>;

/** The router's choice for a step that ended, or did something else, before a request could record it. */
export const stepRouted = z.strictObject({ type: z.literal("StepRouted"), version: z.literal(1), data: choiceSchema });

/** The router's choice after a failure; null if no provider takes over the step. */
const nextSchema = choiceSchema.nullable();
export type NextProvider = z.infer<typeof nextSchema>;

export const inferenceFailed = z.strictObject({
  type: z.literal("InferenceFailed"),
  version: z.literal(1),
  data: z.strictObject({
    ...failure,
    /** The next attempt starts this many milliseconds later. Absent: the failure is final. */
    retryInMs: z.exactOptional(z.int().nonnegative()),
    /** The next provider; absent if no router was asked. */
    next: z.exactOptional(nextSchema),
  }),
});
export type InferenceFailedData = z.infer<typeof inferenceFailed>["data"];

/**
 * A request that prepares a connection, recorded before it begins. It gets no answer, and a later request may continue from it. It
 * is made outside runs, of the Turn that the endpoint answered last. Settings and Turn determine its body, as for every request.
 */
export const warmUpRequested = z.strictObject({
  type: z.literal("WarmUpRequested"),
  version: z.literal(1),
  data: z.strictObject(requested),
});

/** The endpoint's answer to a warm-up: a response with empty output. */
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
