import * as z from "zod";
import { decisionSchema, divergenceSchema } from "../../domain/events/inference-events.ts";
import { jsonValueSchema } from "../../domain/events/shared.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { modes } from "../../engine/options/chain-policy.ts";
import { rehearsalProviders, rehearsalTransports } from "../../testing/rehearsal/ports.ts";
import { conversation, count, list, revision, waiting } from "./parts.ts";

const { strategy, reason } = decisionSchema.shape;

/** A divergence, with a short name of the block. */
export const brokenBy = z.strictObject({ ...divergenceSchema.shape, block: z.string() });

/** A request of the demo, with the cost of a full request. */
const demoRequest = z.strictObject({
  revision,
  strategy,
  reason,
  bytes: count,
  fullBytes: count,
  blocks: count,
  blocksSent: count,
  /** Who made the newest context unusable, and where; null while the chain holds. */
  brokenBy: brokenBy.nullable(),
});
export type DemoRequest = z.infer<typeof demoRequest>;

/** `turnlog demo` */
export const demoDocument = z.strictObject({
  conversation,
  store: z.string(),
  requests: list(demoRequest),
  totals: z.strictObject({
    requests: count,
    chained: count,
    rebased: count,
    full: count,
    bytesSent: count,
    /** As in `turnlog ls`: an estimate. The requests' own `fullBytes` are exact. */
    bytesSaved: count,
  }),
});

/** `turnlog rehearse`: bytes are those of request bodies, without headers. */
export const rehearsalDocument = z.strictObject({
  /** The providers that were used: one, or with --handoff all. */
  providers: list(z.enum(rehearsalProviders)),
  mode: z.enum(modes),
  transport: z.enum(rehearsalTransports),
  /** How often a request used another mode than the one before it. */
  switches: count,
  /** How often a request went to another provider than the one before it. */
  handoffs: count,
  conversations: count,
  requests: count,
  chained: count,
  rebased: count,
  full: count,
  /** Requests of warm-ups, which have no answer. */
  warmUps: count,
  /** Calls about conversation objects: to create them, to list and delete items. */
  objectCalls: count,
  coherent: count,
  incoherent: count,
  bytesSent: count,
  /** The same requests, planned full. */
  bytesFull: count,
  /** The same requests, planned with the newest response as the only candidate. */
  bytesLastOnly: count,
  events: count,
  seconds: z.number().nonnegative(),
});

/** `turnlog reference-server`, when it listens */
export const serverDocument = z.strictObject({ url: z.string(), baseUrl: z.string() });

/** `turnlog studio`, when it listens */
export const studioDocument = z.strictObject({
  /** With the token: anyone with it can read the store. */
  url: z.string(),
  port: count,
  store: z.string(),
});

/** The shells that commands can be completed in. */
export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** `turnlog completion` */
export const completionDocument = z.strictObject({ shell: z.enum(shells), script: z.string() });

/** `turnlog resume` */
export const resumeDocument = z.strictObject({
  conversation,
  /** The run that was finished or given up, or that is open now. */
  runId: z.string().nullable(),
  status: z.enum(["completed", "calls-open", "incomplete", "parked", "abandoned", "open", "none"]),
  /** The blocks of the calls that were settled. */
  settled: list(z.string()),
  did: z.strictObject({ requests: count, fetched: count, tools: count, events: count }),
  /** The text of the last answer. */
  text: z.string(),
  waitingFor: list(waiting),
  /** Of what it waits for, the calls and effects with an unknown outcome. */
  inDoubt: list(
    z.strictObject({
      blockId: z.string(),
      name: z.string(),
      arguments: z.string(),
      /** The options that settle it. */
      settle: list(z.string()),
    }),
  ),
});

/** `turnlog approve`, `turnlog deny` */
export const decisionDocument = z.strictObject({
  conversation,
  call: z.string(),
  how: z.enum(["approve", "edit", "deny"]),
  /** False if the same had been decided before. */
  isNew: z.boolean(),
  /** What the run still waits for. */
  waitingFor: list(waiting),
});

/** `turnlog cancel` */
export const cancelDocument = z.strictObject({
  conversation,
  runId: z.string().nullable(),
  /** `requested`: the process that runs it may be alive, and has not ended it yet; `none`: no run was open. */
  status: z.enum(["cancelled", "completed", "failed", "requested", "none"]),
});

/** `turnlog replay`: whether computing everything again gives what the log has. */
export const replayedDocument = z.strictObject({
  conversation,
  to: revision,
  events: count,
  turns: count,
  requests: count,
  /** What was executed with --stack. */
  layers: z
    .strictObject({
      runs: count,
      steps: count,
      /** Runs that were not executed again, because content that they read was erased since. */
      erased: count,
    })
    .nullable(),
  difference: z
    .strictObject({
      stream: z.string(),
      revision: revision.nullable(),
      frame: z.string().nullable(),
      layer: z.string().nullable(),
      /** A member of the event, by its path. */
      field: z.string(),
      recorded: jsonValueSchema,
      replayed: jsonValueSchema,
      message: z.string(),
    })
    .nullable(),
});

export type ReplayedDocument = z.infer<typeof replayedDocument>;

const step = z.strictObject({
  revision: revision.nullable(),
  frame: z.string(),
  strategy,
  reason,
  anchor: z.string().nullable(),
  sendFrom: count,
  blocks: count,
  bytes: count,
  requestDigest: sha256Schema,
  /** How layers have edited the Turn since the previous request. */
  edits: list(
    z.strictObject({ layer: z.string(), direction: z.enum(["request", "response"]), operations: list(z.string()) }),
  ),
});
export type StepDocument = z.infer<typeof step>;

const figures = z.strictObject({ steps: count, broken: count, bytes: count });

/** `turnlog replay --without` and `--with`: the counterfactual steps beside the recorded ones. */
export const counterfactualDocument = z.strictObject({
  conversation,
  to: revision,
  /** Null on the side without the step. */
  steps: list(
    z.strictObject({
      runId: z.string(),
      recorded: step.nullable(),
      otherwise: step.nullable(),
      isSame: z.boolean(),
      readsSame: z.boolean(),
    }),
  ),
  recorded: figures,
  otherwise: figures,
  firstDifference: z.int().nullable(),
  /** Runs that the other stack fails, and the recorded one did not fail with that kind of error. */
  failures: list(
    z.strictObject({ runId: z.string(), kind: z.string(), message: z.string(), layer: z.string().nullable() }),
  ),
  /** The point after which the log cannot determine how it would have continued. */
  unknown: z.strictObject({ runId: z.string(), frame: z.string(), what: z.string() }).nullable(),
  result: z.strictObject({ blocks: count, digest: sha256Schema }),
  savedAs: conversation.nullable(),
});
export type CounterfactualDocument = z.infer<typeof counterfactualDocument>;

/** `turnlog replay --body`: the body that a step would have sent. */
const stepBody = z.strictObject({
  conversation,
  to: revision,
  step: z.int(),
  sha256: sha256Schema,
  bytes: count,
  bodyText: z.string(),
});
export type StepBodyDocument = z.infer<typeof stepBody>;

/** `turnlog replay` */
export const replayDocument = z.union([replayedDocument, counterfactualDocument, stepBody]);
