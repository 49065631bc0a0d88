import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { blockIdSchema, blockNameSchema } from "../ids.ts";
import { jsonObjectSchema, jsonValueSchema } from "./shared.ts";

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
    /** `denied`: a person did not allow the call, or did not decide in time, so it never began. */
    outcome: z.enum(["ok", "error", "timeout", "aborted", "in-doubt", "denied"]),
    durationMs: z.number(),
    /** The arguments were not JSON, or the tool's schema refused them: the tool did not run. */
    invalid: z.exactOptional(z.literal(true)),
    /** The output was a JSON value other than a text or parts: `result` has its text. */
    json: z.exactOptional(z.literal(true)),
    /** It came back after its run had stopped waiting for it. It changes no Turn. */
    late: z.exactOptional(z.literal(true)),
  }),
});

/**
 * The call, or a layer's effect, waits until it is settled. If it had begun, its outcome is unknown, and it does not begin again before. If it
 * had not, it is a call of an external tool, which is answered from outside.
 */
export const toolParked = z.strictObject({
  type: z.literal("ToolParked"),
  version: z.literal(1),
  data: z.strictObject({
    blockId: blockIdSchema,
    name: z.string(),
    /** What the tool says about the wait. */
    reason: z.exactOptional(z.string()),
  }),
});

/** A person is asked whether a call may begin. It does not begin before it is approved. */
export const approvalRequested = z.strictObject({
  type: z.literal("ApprovalRequested"),
  version: z.literal(1),
  data: z.strictObject({
    blockId: blockIdSchema,
    name: z.string(),
    /** The name of the call with its arguments: a decision holds for these, and for no others. */
    inputDigest: blockNameSchema,
    /** The call, if the log has it with other arguments only. */
    call: z.exactOptional(blockJsonSchema),
    /** The JSON Schema that edited arguments have to match. */
    inputSchema: z.exactOptional(jsonObjectSchema),
    reason: z.exactOptional(z.string()),
    /** From then on the call is denied. */
    expiresAt: z.exactOptional(z.string()),
  }),
});
export type ApprovalRequestedData = z.infer<typeof approvalRequested>["data"];

/** The envelope's actor decides whether a call may begin; if it expired, the process that noticed it does. */
export const approvalDecided = z.strictObject({
  type: z.literal("ApprovalDecided"),
  version: z.literal(1),
  data: z.strictObject({
    blockId: blockIdSchema,
    inputDigest: blockNameSchema,
    /** `edit`: it may begin with `input` instead of the model's arguments. `deny`, `expire`: it never begins. */
    how: z.enum(["approve", "edit", "deny", "expire"]),
    input: z.exactOptional(jsonValueSchema),
    /** A text for the model. */
    message: z.exactOptional(z.string()),
    /** Follows from the key of the caller: a second decision with it is the same delivery. */
    key: z.exactOptional(blockIdSchema),
  }),
});
export type ApprovalDecidedData = z.infer<typeof approvalDecided>["data"];

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
