import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { blockIdSchema } from "../ids.ts";
import { jsonValueSchema } from "./shared.ts";

/** A tool call begins; a call is named by its block. */
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
    /** It came back when its run waited for it no more, and changes no Turn. */
    late: z.exactOptional(z.literal(true)),
  }),
});

/** Nobody knows whether this call, or effect of a layer, happened: it is not begun again before someone settles it. */
export const toolParked = z.strictObject({
  type: z.literal("ToolParked"),
  version: z.literal(1),
  data: z.strictObject({ blockId: blockIdSchema, name: z.string() }),
});

/** What becomes of a call in doubt: its output is known, it may run once more, or the model is told that it is in doubt. */
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

/** A layer reaches outside; an effect has an id of its frame, as blocks do, so that it can be parked and settled. */
export const effectStarted = z.strictObject({
  type: z.literal("EffectStarted"),
  version: z.literal(1),
  data: z.strictObject({
    effectId: blockIdSchema,
    name: z.string(),
    idempotencyKey: z.string(),
    /** Doing it twice with one key does what doing it once does: it is begun again where nobody knows whether it happened. */
    idempotent: z.exactOptional(z.literal(true)),
  }),
});

/** What came of it, and what it answers from now on: a value, or the message of its failure. */
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
