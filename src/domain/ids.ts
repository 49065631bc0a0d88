import * as z from "zod";
import { kindOf } from "../base/options.ts";
import { isSha256Hex, type Sha256, sha256Hex } from "../base/sha256.ts";

/**
 * An id that turnlog makes, but an event's (a UUID), begins with a prefix, so that a log line explains itself. A
 * conversation may be given the id that it has elsewhere: a UUID, a number, a name. Made at the edge.
 */
export const conversationIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, "a conversation id is 1 to 128 letters, digits, _ or -")
  .brand<"ConversationId">();
export type ConversationId = z.infer<typeof conversationIdSchema>;

/** @throws {TypeError} for what is no conversation id. */
export function checkedConversationId(id: unknown): ConversationId {
  const parsed = conversationIdSchema.safeParse(id);
  if (parsed.success) return parsed.data;
  const given = typeof id === "string" && id !== "" ? `'${id.slice(0, maxShown)}'` : kindOf(id);
  throw new TypeError(`${given} is no conversation id: give 1 to 128 letters, digits, _ or -, such as a UUID`);
}

/** How much of a text that is no id is quoted. */
const maxShown = 40;

/** Made outside a run: `blk_…`; made in a run: `<run>/<frame>/<n>`, and beside the conversation `<run>/<frame>.a<n>/<n>`. */
export const blockIdSchema = z
  .string()
  .regex(/^(blk_\w{16,32}|run_\w{16,32}\/\d+(\.\d+)*(\.a\d+)?\/\d+)$/)
  .brand<"BlockId">();
export type BlockId = z.infer<typeof blockIdSchema>;

/** The text of an id that follows from a name: one name has one id, whenever and wherever it is asked for. */
export const namedIdText = (name: string): string => sha256Hex(name).slice(0, 21);

export const namedBlockId = (name: string): BlockId => blockIdSchema.parse(`blk_${namedIdText(name)}`);

/** The id of the n-th block that is appended with a key (rule: Equal blocks): the same whenever it is appended. */
export function keyedBlockId(conversation: ConversationId, key: string, index: number): BlockId {
  // The number stands first, where no key does, after what no id has: the second block of `a` is not the first of `a 1`.
  return namedBlockId(index === 0 ? `${conversation} ${key}` : `#${index} ${conversation} ${key}`);
}

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

/** How the streams of a conversation's blobs begin. Those of another one may begin so, too: `conversationOfBlob` tells. */
export const blobStreamsOf = (id: ConversationId): string => `blob-${id}-`;

/** The conversation whose blob a stream holds; null for any other stream. What follows the id is of one length. */
export function conversationOfBlob(stream: string): ConversationId | null {
  const [, id] = /^blob-(.+)-[0-9a-f]{64}$/.exec(stream) ?? [];
  const parsed = conversationIdSchema.safeParse(id);
  return parsed.success ? parsed.data : null;
}
