import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { decisionSchema, divergenceSchema, inferenceRequested } from "../../domain/events/inference-events.ts";
import { layerTimingSchema } from "../../domain/events/shared.ts";
import { sha256Schema } from "../../domain/ids.ts";
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
  /** Of the body. */
  sha256: sha256Schema,
  bytes: count,
  bodyText: z.string(),
});

/** A context that was known, and why the request did not continue from it. */
const candidate = z.strictObject({
  responseId: z.string(),
  inferenceId: z.string(),
  stream,
  revision,
  /** How many blocks it holds. */
  length: count,
  /** `taken`; `shorter` or `older` where another saved more; else what spoke against it. */
  verdict: z.string(),
  /** Where it stops being a beginning of the Turn. */
  divergence: divergenceSchema.nullable(),
});

/** Something of what reasoning was made from that is another now. */
const reasoningBreak = z.strictObject({
  /** `instructions`, `tools`, `model`, `blocks`. */
  what: z.string(),
  /** Who made it so; null where nobody is known. */
  actor: actorSchema.nullable(),
  /** Of `blocks`: the first that is another. */
  divergence: divergenceSchema.nullable(),
  /** Of `blocks` that the Turn still has: why a request left one out. */
  omitted: z.string().nullable(),
});

/** A reasoning block of the Turn, and what became of it. */
const reasoningBlock = z.strictObject({
  index: z.int(),
  blockId: z.string(),
  itemId: z.string().nullable(),
  label: z.string(),
  /** Its first characters, on one line; of most reasoning nothing can be read. */
  begins: z.string(),
  /** The answer that it came in; null where the log does not have it. */
  from: z.strictObject({ inferenceId: z.string(), stream, revision, at }).nullable(),
  /** How old it was when the request was planned. */
  ageMs: z.number().nullable(),
  prefix: z.enum(["intact", "broken", "unknown"]),
  brokenBy: list(reasoningBreak),
  /** What was to be expected of the endpoint; `left-out` was not sent. */
  fate: z.enum(["accepted", "withheld", "refused", "left-out"]),
  reason: z.string().nullable(),
  /** Why the server says that it withheld it; null where it does not. */
  withheld: z.string().nullable(),
  /** The server did something else than was to be expected. */
  isSurprise: z.boolean(),
});

const withheld = z.strictObject({ itemId: z.string().nullable(), reason: z.string() });

const reasoning = z.strictObject({
  blocks: list(reasoningBlock),
  /** What the server said that it withheld; null where it has not answered. */
  told: list(withheld).nullable(),
  /** Of that, what the Turn does not have. */
  unknown: list(withheld),
  /** Bytes of bodies, and how much of them is reasoning; tokens as the provider counted them. */
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
  /** Whose server was asked: it begins with the provider's name and address. */
  scope: z.string(),
  /** The provider, by its name in the engine's `otherProviders`; null for the engine's own. */
  route: z.string().nullable(),
  /** The model that the settings name; null where they name none. */
  model: z.string().nullable(),
  /** Whose servers were asked at this step before, and failed. */
  failedBefore: list(z.string()),
  decision: decisionSchema,
  /** Of its run: who holds the conversation between two requests. */
  mode: z.string(),
  /** Why the engine chose that mode, where the caller left it to the engine. */
  modeChosen: z.string().nullable(),
  /** Of the Turn, sent or held by the server. */
  blocks: count,
  bytes: count,
  /** The codec that wrote the body, with its version. */
  encoder,
  /** What it would have cost to send everything; null where the codec was not given. */
  fullBytes: count.nullable(),
  /** Newest first. */
  candidates: list(candidate),
  /** Who made the newest context useless, and where; null while the chain holds. */
  brokenBy: brokenBy.nullable(),
  /** What the endpoint was sent before, where nothing is continued from: what of it is another now. */
  before: z
    .strictObject({
      stream: z.string(),
      revision: z.int(),
      divergence: brokenBy.nullable(),
      changedSettings: list(z.string()),
    })
    .nullable(),
  /** What layers did on the way that no Turn shows. */
  timings: list(layerTimingSchema),
  /** With `--reasoning`: what became of the Turn's reasoning. */
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
