import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { blockIdSchema } from "../ids.ts";
import { jsonValueSchema } from "./shared.ts";

/** A tool call begins. Its block names the call. */
export const toolStarted = z.strictObject({
  type: z.literal("ToolStarted"),
  version: z.literal(1),
  data: z.strictObject({ blockId: blockIdSchema, name: z.string(), idempotencyKey: z.string() }),
});

/** A tool call ended; `result` is the block that answers it, by this event's actor. */
export const toolFinished = z.strictObject({
  type: z.literal("ToolFinished"),
  version: z.literal(1),
  data: z.strictObject({
    blockId: blockIdSchema,
    result: blockJsonSchema,
    outcome: z.enum(["ok", "error", "timeout", "aborted", "in-doubt"]),
    durationMs: z.number(),
    /** It came back after its run had stopped waiting for it. It changes no Turn. */
    late: z.exactOptional(z.literal(true)),
  }),
});

/** The outcome of this call, or of a layer's effect, is unknown. It does not begin again before it is settled. */
export const toolParked = z.strictObject({
  type: z.literal("ToolParked"),
  version: z.literal(1),
  data: z.strictObject({ blockId: blockIdSchema, name: z.string() }),
});

/** How a call with an unknown outcome is settled: its output is given, it may run once more, or the model reads that it is in doubt. */
const settlementSchema = z.discriminatedUnion("how", [
  z.strictObject({ how: z.literal("result"), output: jsonValueSchema }),
  z.strictObject({ how: z.literal("rerun") }),
  z.strictObject({ how: z.literal("abandon") }),
]);
export type Settlement = z.infer<typeof settlementSchema>;

export const toolSettled = z.strictObject({
  type: z.literal("ToolSettled"),
  version: z.literal(1),
  data: z.strictObject({ blockId: blockIdSchema, settlement: settlementSchema }),
});

/** A layer begins an effect outside the log. Like a block, it has an id of its frame, so that it can be parked and settled. */
export const effectStarted = z.strictObject({
  type: z.literal("EffectStarted"),
  version: z.literal(1),
  data: z.strictObject({
    effectId: blockIdSchema,
    name: z.string(),
    idempotencyKey: z.string(),
    /** Repeating it with the same key has no further effect, so an effect with an unknown outcome begins again. */
    idempotent: z.exactOptional(z.literal(true)),
  }),
});

/** The result of an effect, which repeated calls return: a value, or the message of its failure. */
export const effectFinished = z.strictObject({
  type: z.literal("EffectFinished"),
  version: z.literal(1),
  data: z.strictObject({
    effectId: blockIdSchema,
    answer: z.discriminatedUnion("outcome", [
      z.strictObject({ outcome: z.literal("ok"), value: jsonValueSchema }),
      z.strictObject({ outcome: z.literal("error"), message: z.string() }),
    ]),
    durationMs: z.number(),
  }),
});
