import * as z from "zod";
import { editSchema } from "../edits.ts";
import { blockIdSchema, configNameSchema, settingsNameSchema, sha256Schema } from "../ids.ts";
import { compactionSchema, jsonObjectSchema, layerTimingSchema } from "./shared.ts";

/**
 * The process that owns a run. On the same boot and in the same pid namespace, the operating system can say whether it is alive.
 * `processId` is random: two threads, or two copies of turnlog, in one process are two owners.
 */
const ownerSchema = z.strictObject({
  processId: z.string(),
  bootId: z.string(),
  host: z.string(),
  pid: z.number().int(),
  startedAt: z.string(),
  pidNamespace: z.string(),
  /** The owner's lease, and the id of the store that knows it: a copy of the events in another store cannot check it. */
  lease: z.exactOptional(z.strictObject({ storeId: z.string(), id: z.string() })),
});
export type Owner = z.infer<typeof ownerSchema>;

/** The ids that a tracer gave the span of a process's part of a run: a later part links to it. */
const traceSchema = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  /** The trace flags of W3C's Trace Context: 1 if the span is sampled. */
  flags: z.int().nonnegative(),
});
export type TraceIds = Readonly<z.infer<typeof traceSchema>>;

const layerSchema = z.strictObject({ name: z.string(), version: z.string(), configDigest: configNameSchema });
export type LayerDescription = z.infer<typeof layerSchema>;

/** When a request continues from an earlier response, as the caller set it (rule: Settings). */
const chainPolicySchema = z.strictObject({
  /** `chained`, `stateless`, `conversation`. */
  mode: z.string(),
  /** The caller left the mode to the engine (`auto`), which chose it for this reason. */
  chosen: z.exactOptional(z.string()),
  /** A request that cannot be chained is not sent. */
  require: z.exactOptional(z.literal(true)),
  /** `fallback`, `throw`. */
  onRefused: z.string(),
  maxAgeMs: z.number(),
  /** `chain`, `full`. */
  onSettingsChange: z.record(z.string(), z.string()),
  /** Encrypted reasoning of answers older than this is not sent. */
  keepReasoningMs: z.exactOptional(z.number()),
});

/** Settings of a request that differ from the provider's, in turnlog's vocabulary: a codec translates them. */
const adjustmentsSchema = z.strictObject({
  model: z.exactOptional(z.string()),
  instructions: z.exactOptional(z.string()),
  temperature: z.exactOptional(z.number()),
  topP: z.exactOptional(z.number()),
  maxOutputTokens: z.exactOptional(z.number()),
  reasoningEffort: z.exactOptional(z.string()),
  parallelToolCalls: z.exactOptional(z.boolean()),
  /** `auto`, `none`, `required`, or one tool. */
  toolChoice: z.exactOptional(z.union([z.string(), z.strictObject({ tool: z.string() })])),
  /** The JSON Schema of the answer. */
  output: z.exactOptional(jsonObjectSchema),
});
export type Adjustments = Readonly<z.infer<typeof adjustmentsSchema>>;

/** Options of a run that differ from the engine's. They also apply when the run is resumed or replayed. */
const runOptionsSchema = z.strictObject({
  /** Settings of its requests, in turnlog's vocabulary. */
  settings: z.exactOptional(adjustmentsSchema),
  maxSteps: z.exactOptional(z.int().positive()),
  /** Layers and tools got a context; its value is not recorded. */
  hasContext: z.exactOptional(z.literal(true)),
});
export type RecordedRunOptions = Readonly<z.infer<typeof runOptionsSchema>>;

/** How many tokens the run may use, as endpoints count them. */
const budgetSchema = z.strictObject({
  maxInputTokens: z.exactOptional(z.int().positive()),
  maxTotalTokens: z.exactOptional(z.int().positive()),
  /** `end`, `warn`. */
  onExceeded: z.string(),
});

/** When and how the engine shortens Turns of the run (rule: Settings). */
const compactPolicySchema = z.strictObject({
  /** Tokens, as endpoints count them. */
  beforeRequest: z.exactOptional(z.int().positive()),
  afterRun: z.exactOptional(z.int().positive()),
  /** `truncate-results`, `drop-exchanges`, `summarise`. */
  how: z.array(z.string()),
  keep: z.int().positive(),
  maxResultLength: z.int().positive(),
  summary: z.exactOptional(
    z.strictObject({
      model: z.exactOptional(z.string()),
      instructions: z.exactOptional(z.string()),
      maxOutputTokens: z.exactOptional(z.int().positive()),
    }),
  ),
  /** `shrink`, `fail`. */
  onTooLong: z.string(),
  /** The run only compacts, between two runs, and asks for no answer. */
  only: z.exactOptional(z.literal(true)),
});

/** Opens a run and its first epoch. `base` is the context digest of the Turn that the outermost frame receives. */
export const runStarted = z.strictObject({
  type: z.literal("RunStarted"),
  version: z.literal(1),
  data: z.strictObject({
    epoch: z.number().int(),
    owner: ownerSchema,
    stack: z.array(layerSchema),
    provider: z.strictObject({ name: z.string(), scope: z.string(), codec: z.string() }),
    settingsDigest: settingsNameSchema,
    chain: chainPolicySchema,
    base: sha256Schema,
    /** The caller asked for another answer although no message was unanswered. */
    again: z.exactOptional(z.literal(true)),
    options: z.exactOptional(runOptionsSchema),
    budget: z.exactOptional(budgetSchema),
    compact: z.exactOptional(compactPolicySchema),
    trace: z.exactOptional(traceSchema),
  }),
});

/** Opens the next epoch of a run whose owner is gone: from here on only the new owner's appends count. */
export const runResumed = z.strictObject({
  type: z.literal("RunResumed"),
  version: z.literal(1),
  data: z.strictObject({
    epoch: z.number().int(),
    owner: ownerSchema,
    stack: z.array(layerSchema),
    trace: z.exactOptional(traceSchema),
  }),
});

/** The run stays open without an owner until these effects, whose outcome is unknown, are settled. */
export const runParked = z.strictObject({
  type: z.literal("RunParked"),
  version: z.literal(1),
  data: z.strictObject({ blockIds: z.array(blockIdSchema) }),
});

/**
 * The envelope's actor, not the owner, wants the run to end. A living owner ends it as cancelled when it sees this; without one, the
 * end is appended together with this event.
 */
export const runCancelRequested = z.strictObject({
  type: z.literal("RunCancelRequested"),
  version: z.literal(1),
  data: z.strictObject({ reason: z.string() }),
});

const turnNameSchema = z.string().regex(/^((given|result)\/\d+(\.\d+)*(\.a\d+)?|empty)$/);

/**
 * The Turn that a layer passed on, as edits of an earlier Turn of the run. In the request direction the envelope's frame is the frame
 * that was called; in the response direction it is the frame that returned. Turns are named `given/<frame>` (what a frame received)
 * and `result/<frame>` (what it returned). The Turn of an aside is an edit of those, or of the Turn without blocks (`empty`).
 * A change that is too large for one event is written as several, each against the result of the one before.
 */
export const turnEdited = z.strictObject({
  type: z.literal("TurnEdited"),
  version: z.literal(1),
  data: z.strictObject({
    direction: z.enum(["request", "response"]),
    from: turnNameSchema,
    /** The Turn that this one descends from, if it is written against another one: blocks of it that are missing were removed. */
    base: z.exactOptional(turnNameSchema),
    edits: z.array(editSchema),
    after: sha256Schema,
    /** The engine shortened it. */
    compaction: z.exactOptional(compactionSchema),
  }),
});

/**
 * How a completed run left its Turn. `calls-open`: the model called something that no tool of the engine answers.
 * `incomplete`: the last answer stopped at a limit of the model or its server.
 */
const runStatusSchema = z.enum(["completed", "calls-open", "incomplete"]);
export type RunStatus = z.infer<typeof runStatusSchema>;

export const runCompleted = z.strictObject({
  type: z.literal("RunCompleted"),
  version: z.literal(1),
  data: z.strictObject({
    status: runStatusSchema,
    after: sha256Schema,
    timings: z.exactOptional(z.array(layerTimingSchema)),
  }),
});

export const runFailed = z.strictObject({
  type: z.literal("RunFailed"),
  version: z.literal(1),
  data: z.strictObject({
    kind: z.string(),
    message: z.string(),
    /** The layer that threw the error that ended the run, and the frame of its call; absent if none did. */
    thrownBy: z.exactOptional(z.strictObject({ layer: z.string(), frame: z.string() })),
    after: sha256Schema,
    /** Tools that ran in branches that did not become part of the result. */
    discardedTools: z.exactOptional(z.array(blockIdSchema)),
    timings: z.exactOptional(z.array(layerTimingSchema)),
  }),
});

export const runCancelled = z.strictObject({
  type: z.literal("RunCancelled"),
  version: z.literal(1),
  data: z.strictObject({
    reason: z.string(),
    after: sha256Schema,
    discardedTools: z.exactOptional(z.array(blockIdSchema)),
    timings: z.exactOptional(z.array(layerTimingSchema)),
  }),
});
