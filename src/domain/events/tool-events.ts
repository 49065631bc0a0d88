import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { blockIdSchema } from "../ids.ts";

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
