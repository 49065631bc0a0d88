import * as z from "zod";
import { isSha256Hex, type Sha256 } from "../base/sha256.ts";

/** Every id but an event's (a UUID) begins with a prefix, so that a log line explains itself. Made at the edge. */

export const conversationIdSchema = z
  .string()
  .regex(/^cnv_\w{4,32}$/, "a conversation id is cnv_ and 4 to 32 letters, digits or _")
  .brand<"ConversationId">();
export type ConversationId = z.infer<typeof conversationIdSchema>;

/** Made outside a run: `blk_…`; made in a run: `<run>/<frame>/<n>`. */
export const blockIdSchema = z
  .string()
  .regex(/^(blk_\w{16,32}|run_\w{16,32}\/\d+(\.\d+)*\/\d+)$/)
  .brand<"BlockId">();
export type BlockId = z.infer<typeof blockIdSchema>;

export const runIdSchema = z
  .string()
  .regex(/^run_\w{16,32}$/)
  .brand<"RunId">();
export type RunId = z.infer<typeof runIdSchema>;

export const inferenceIdSchema = z
  .string()
  .regex(/^inf_\w{16,32}$/)
  .brand<"InferenceId">();

export const sha256Schema = z.custom<Sha256>(isSha256Hex, "a sha256 is 64 lower-case hexadecimal digits");

/** The stream that holds a conversation. */
export const conversationStream = (id: ConversationId): string => `conversation-${id}`;

/** The conversation that a stream holds, or null for a stream of another kind (a blob). */
export function conversationOfStream(stream: string): ConversationId | null {
  const parsed = conversationIdSchema.safeParse(stream.replace(/^conversation-/, ""));
  return stream.startsWith("conversation-") && parsed.success ? parsed.data : null;
}
