import * as z from "zod";
import { editSchema } from "../edits.ts";
import { blockIdSchema, sha256Schema } from "../ids.ts";
import { compactionSchema, jsonObjectSchema, layerTimingSchema } from "./shared.ts";

/**
 * Which process owns a run. Whether it is still alive can be asked of the operating system on the same boot, in the same pid
 * namespace. `processId` is random: two threads, or two copies of turnlog, in one process are two owners.
 */
const ownerSchema = z.strictObject({
  processId: z.string(),
  bootId: z.string(),
  host: z.string(),
  pid: z.number().int(),
  startedAt: z.string(),
  pidNamespace: z.string(),
  /** By which the store tells whether the owner lives, and the id of that store: a copy of the events elsewhere cannot ask it. */
  lease: z.exactOptional(z.strictObject({ storeId: z.string(), id: z.string() })),
});
export type Owner = z.infer<typeof ownerSchema>;

const layerSchema = z.strictObject({ name: z.string(), version: z.string(), configDigest: sha256Schema });
export type LayerDescription = z.infer<typeof layerSchema>;

/** When a request continues from an earlier response, as the caller has it (rule: Settings). */
const chainPolicySchema = z.strictObject({
  /** `chained`, `stateless`, `conversation`. */
  mode: z.string(),
  /** The caller left the choice of the mode to the engine (`auto`), which made it for this reason. */
  chosen: z.exactOptional(z.string()),
  /** What cannot be chained is not sent. */
  require: z.exactOptional(z.literal(true)),
  /** `fallback`, `throw`. */
  onRefused: z.string(),
  maxAgeMs: z.number(),
  /** `chain`, `full`. */
  onSettingsChange: z.record(z.string(), z.string()),
  /** Encrypted reasoning of older answers is not sent. */
  keepReasoningMs: z.exactOptional(z.number()),
});

/** What a model is asked otherwise than its provider is set to, in turnlog's own words: a codec translates them. */
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
  /** The JSON Schema that the answer is to be of. */
  output: z.exactOptional(jsonObjectSchema),
});
export type Adjustments = Readonly<z.infer<typeof adjustmentsSchema>>;

/** What the caller of a run said otherwise than its engine does: it holds when the run is taken up or replayed, too. */
const runOptionsSchema = z.strictObject({
  /** Of its requests, in turnlog's own words. */
  settings: z.exactOptional(adjustmentsSchema),
  maxSteps: z.exactOptional(z.int().positive()),
  /** A context was given to layers and tools; what it is stands nowhere. */
  hasContext: z.exactOptional(z.literal(true)),
});
export type RecordedRunOptions = Readonly<z.infer<typeof runOptionsSchema>>;

/** How many tokens the caller lets the run use, as endpoints count them. */
const budgetSchema = z.strictObject({
  maxInputTokens: z.exactOptional(z.int().positive()),
  maxTotalTokens: z.exactOptional(z.int().positive()),
  /** `end`, `warn`. */
  onExceeded: z.string(),
});

/** When and how the engine makes Turns of the run shorter (rule: Settings). */
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
  /** The run does this and asks for no answer: it stands between two that do. */
  only: z.exactOptional(z.literal(true)),
});

/** Opens a run and its first epoch. `base` is the context digest of the Turn that the outermost frame is given. */
export const runStarted = z.strictObject({
  type: z.literal("RunStarted"),
  version: z.literal(1),
  data: z.strictObject({
    epoch: z.number().int(),
    owner: ownerSchema,
    stack: z.array(layerSchema),
    provider: z.strictObject({ name: z.string(), scope: z.string(), codec: z.string() }),
    settingsDigest: sha256Schema,
    chain: chainPolicySchema,
    base: sha256Schema,
    /** The caller wanted another answer although nothing waited for one. */
    again: z.exactOptional(z.literal(true)),
    options: z.exactOptional(runOptionsSchema),
    budget: z.exactOptional(budgetSchema),
    compact: z.exactOptional(compactPolicySchema),
  }),
});

/** Opens the next epoch of a run whose owner is gone: from here on the new owner's appends count. */
export const runResumed = z.strictObject({
  type: z.literal("RunResumed"),
  version: z.literal(1),
  data: z.strictObject({ epoch: z.number().int(), owner: ownerSchema, stack: z.array(layerSchema) }),
});

/** The run stays open without an owner until these effects, of which nobody knows whether they happened, are settled. */
export const runParked = z.strictObject({
  type: z.literal("RunParked"),
  version: z.literal(1),
  data: z.strictObject({ blockIds: z.array(blockIdSchema) }),
});

/**
 * Someone else wants the run to end: the envelope's actor. Its owner ends it as cancelled when it sees this; where none lives, the end
 * stands beside it.
 */
export const runCancelRequested = z.strictObject({
  type: z.literal("RunCancelRequested"),
  version: z.literal(1),
  data: z.strictObject({ reason: z.string() }),
});

const turnNameSchema = z.string().regex(/^((given|result)\/\d+(\.\d+)*(\.a\d+)?|empty)$/);

/**
 * What a layer handed on, written against an earlier Turn of the run. In the request direction the envelope's frame is
 * the frame that was called, in the response direction the frame that returned. Turns are named `given/<frame>` (what a
 * frame received) and `result/<frame>` (what it returned); what is asked beside the conversation is written against those, or
 * against the Turn without blocks (`empty`). A pass that is too big for one event is written as several, each
 * against what the one before made of the same Turn.
 */
export const turnEdited = z.strictObject({
  type: z.literal("TurnEdited"),
  version: z.literal(1),
  data: z.strictObject({
    direction: z.enum(["request", "response"]),
    from: turnNameSchema,
    /** The Turn that this one descends from, where it is written against another: what is missing of it was removed. */
    base: z.exactOptional(turnNameSchema),
    edits: z.array(editSchema),
    after: sha256Schema,
    /** The engine made it shorter. */
    compaction: z.exactOptional(compactionSchema),
  }),
});

/**
 * How a run that completed left its Turn: `calls-open`, where the model called what no tool of the engine answers;
 * `incomplete`, where the last answer broke off at a limit of the model or of its server.
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
    /** The layer that threw what ended the run, and the frame of its call; absent where none did. */
    thrownBy: z.exactOptional(z.strictObject({ layer: z.string(), frame: z.string() })),
    after: sha256Schema,
    /** Tools that ran in branches that are not part of the result. */
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
