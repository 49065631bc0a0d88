import * as z from "zod";
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

/** `turnlog why` */
export const whyDocument = z.strictObject({
  ...place,
  at,
  runId: z.string().nullable(),
  frame: z.string().nullable(),
  inferenceId,
  attempt,
  decision: decisionSchema,
  /** Of its run: who holds the conversation between two requests. */
  mode: z.string(),
  /** Why the engine chose that mode, where the caller left it to the engine. */
  modeChosen: z.string().nullable(),
  /** Of the Turn, sent or held by the server. */
  blocks: count,
  bytes: count,
  /** What it would have cost to send everything. */
  fullBytes: count,
  /** Newest first. */
  candidates: list(candidate),
  /** Who made the newest context useless, and where; null while the chain holds. */
  brokenBy: brokenBy.nullable(),
  /** What layers did on the way that no Turn shows. */
  timings: list(layerTimingSchema),
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
