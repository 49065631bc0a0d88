import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { decisionSchema, divergenceSchema, inferenceRequested } from "../../domain/events/inference-events.ts";
import { layerTimingSchema } from "../../domain/events/shared.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { requestCache } from "./caching.ts";
import { at, change, count, list, place, revision, stream } from "./parts.ts";
import { brokenBy } from "./running.ts";

const { inferenceId, encoder, attempt } = inferenceRequested.shape.data.shape;
const { transport } = decisionSchema.shape;

/** `turnlog request` */
export const requestDocument = z.strictObject({
  ...place,
  inferenceId,
  transport,
  encoder,
  /** The digest of the body. */
  sha256: sha256Schema,
  bytes: count,
  bodyText: z.string(),
});

/** A known context, and why the request did not continue from it. */
const candidate = z.strictObject({
  responseId: z.string(),
  inferenceId: z.string(),
  stream,
  revision,
  /** The number of its blocks. */
  length: count,
  /** `taken`; `shorter` or `older` if another context saved more; otherwise why it was unusable. */
  verdict: z.string(),
  /** Where it stops being a prefix of the Turn. */
  divergence: divergenceSchema.nullable(),
});

/** A part of the reasoning's prefix that has changed since. */
const reasoningBreak = z.strictObject({
  /** `instructions`, `tools`, `model`, `blocks`. */
  what: z.string(),
  /** Who changed it; null if unknown. */
  actor: actorSchema.nullable(),
  /** For `blocks`: the first one that differs. */
  divergence: divergenceSchema.nullable(),
  /** For `blocks` that the Turn still has: why a request left one out. */
  omitted: z.string().nullable(),
});

/** A reasoning block of the Turn, and what happened to it. */
const reasoningBlock = z.strictObject({
  index: z.int(),
  blockId: z.string(),
  itemId: z.string().nullable(),
  label: z.string(),
  /** Its first characters, on one line; most reasoning is not readable. */
  begins: z.string(),
  /** The answer that it came in; null if the log does not have it. */
  from: z.strictObject({ inferenceId: z.string(), stream, revision, at }).nullable(),
  /** Its age when the request was planned. */
  ageMs: z.number().nullable(),
  prefix: z.enum(["intact", "broken", "unknown"]),
  brokenBy: list(reasoningBreak),
  /** The expected behaviour of the endpoint; `left-out` was not sent. */
  fate: z.enum(["accepted", "withheld", "refused", "left-out"]),
  reason: z.string().nullable(),
  /** The server's reason for withholding it; null if it did not. */
  withheld: z.string().nullable(),
  /** Whether the server did something unexpected. */
  isSurprise: z.boolean(),
});

const withheld = z.strictObject({ itemId: z.string().nullable(), reason: z.string() });

const reasoning = z.strictObject({
  blocks: list(reasoningBlock),
  /** The server's report of withheld reasoning; null if it has not answered. */
  told: list(withheld).nullable(),
  /** The part of that report that is not in the Turn. */
  unknown: list(withheld),
  /** Bytes of bodies, and the reasoning's share; tokens as the provider counted them. */
  size: z.strictObject({
    sentBytes: count,
    sentReasoningBytes: z.int(),
    fullBytes: count,
    fullReasoningBytes: z.int(),
    reasoningTokens: count,
  }),
});

/** `turnlog why` */
export const whyDocument = z.strictObject({
  ...place,
  at,
  runId: z.string().nullable(),
  frame: z.string().nullable(),
  inferenceId,
  attempt,
  /** The scope of the server that was asked: it begins with the provider's name and address. */
  scope: z.string(),
  /** The provider, by its name in the engine's `otherProviders`; null for the engine's own. */
  route: z.string().nullable(),
  /** The model in the settings; null if they name none. */
  model: z.string().nullable(),
  /** The scopes of servers that failed at this step before. */
  failedBefore: list(z.string()),
  decision: decisionSchema,
  /** The run's mode: who keeps the conversation between two requests. */
  mode: z.string(),
  /** The engine's reason for that mode, if the caller left the choice to the engine. */
  modeChosen: z.string().nullable(),
  /** The blocks of the Turn, sent or held by the server. */
  blocks: count,
  bytes: count,
  /** The codec that wrote the body, with its version. */
  encoder,
  /** The bytes of a full request; null without its codec, or if content of it was erased. */
  fullBytes: count.nullable(),
  /** Newest first. */
  candidates: list(candidate),
  /** Who made the newest context unusable, and where; null while the chain holds. */
  brokenBy: brokenBy.nullable(),
  /** If the request continues from nothing: how it differs from the endpoint's previous request. */
  before: z
    .strictObject({
      stream: z.string(),
      revision: z.int(),
      divergence: brokenBy.nullable(),
      changedSettings: list(z.string()),
    })
    .nullable(),
  /** Why it read from the prompt cache what it read. */
  cache: requestCache,
  /** Work of layers that no Turn shows. */
  timings: list(layerTimingSchema),
  /** With `--reasoning`: what happened to the Turn's reasoning. */
  reasoning: z.exactOptional(reasoning),
  /** The blocks that were sent. */
  sent: list(
    z.strictObject({
      index: z.int(),
      id: z.string().nullable(),
      label: z.string(),
      changed: change.nullable(),
      /** Its first characters, on one line. */
      begins: z.string(),
    }),
  ),
});
export type WhyDocument = z.infer<typeof whyDocument>;
