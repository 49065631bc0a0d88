import * as z from "zod";
import { kindOf } from "../base/options.ts";
import { isSha256Hex, type Sha256, sha256Hex } from "../base/sha256.ts";

/**
 * An id that turnlog generates begins with a prefix, so that a log line explains itself (except an event's, which is a UUID). A
 * conversation may also get the id that it has elsewhere: a UUID, a number, a name. Generated at the edge.
 */
export const conversationIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, "a conversation id is 1 to 128 letters, digits, _ or -")
  .brand<"ConversationId">();
export type ConversationId = z.infer<typeof conversationIdSchema>;

/** @throws {TypeError} if the value is not a conversation id. */
export function checkedConversationId(id: unknown): ConversationId {
  const parsed = conversationIdSchema.safeParse(id);
  if (parsed.success) return parsed.data;
  const given = typeof id === "string" && id !== "" ? `'${id.slice(0, maxShown)}'` : kindOf(id);
  throw new TypeError(`${given} is not a conversation id: give 1 to 128 letters, digits, _ or -, such as a UUID`);
}

/** The maximum length of an invalid id that an error quotes. */
const maxShown = 40;

/** Outside a run: `blk_…`; in a run: `<run>/<frame>/<n>`; aside from the conversation: `<run>/<frame>.a<n>/<n>`. */
export const blockIdSchema = z
  .string()
  .regex(/^(blk_\w{16,32}|run_\w{16,32}\/\d+(\.\d+)*(\.a\d+)?\/\d+)$/)
  .brand<"BlockId">();
export type BlockId = z.infer<typeof blockIdSchema>;

/** The text of an id derived from a name: one name always gives the same id. */
export const namedIdText = (name: string): string => sha256Hex(name).slice(0, 21);

export const namedBlockId = (name: string): BlockId => blockIdSchema.parse(`blk_${namedIdText(name)}`);

/** The id of the n-th block appended with a key (rule: Equal blocks): always the same for the same key. */
export function keyedBlockId(conversation: ConversationId, key: string, index: number): BlockId {
  // The number goes first, after a sign that no id begins with, so that the second block of `a` is not the first of `a 1`.
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

/** The name under which a conversation records a block (rule: Equal blocks). A digest of the content is none: it may give the content away. */
export const blockNameSchema = sha256Schema.brand<"BlockName">();
export type BlockName = z.infer<typeof blockNameSchema>;

/** The name under which a conversation records settings (rule: Settings). A digest of their text is none, for the same reason. */
export const settingsNameSchema = sha256Schema.brand<"SettingsName">();
export type SettingsName = z.infer<typeof settingsNameSchema>;

/** Names the stream of a long text of a conversation in lines. A digest of the text is none, for the same reason. */
export const blobIdSchema = sha256Schema.brand<"BlobId">();
export type BlobId = z.infer<typeof blobIdSchema>;

/** Names a person in a conversation in lines, without the person's name. */
export const actorAliasSchema = sha256Schema.brand<"ActorAlias">();
export type ActorAlias = z.infer<typeof actorAliasSchema>;

/** The name under which a run records a layer's configuration. A digest of its text is none, for the same reason. */
export const configNameSchema = sha256Schema.brand<"ConfigName">();
export type ConfigName = z.infer<typeof configNameSchema>;

/** The stream that holds a conversation. */
export const conversationStream = (id: ConversationId): string => `conversation-${id}`;

/** The conversation that a stream holds, or null for a stream of another kind (a blob). */
export function conversationOfStream(stream: string): ConversationId | null {
  const parsed = conversationIdSchema.safeParse(stream.replace(/^conversation-/, ""));
  return stream.startsWith("conversation-") && parsed.success ? parsed.data : null;
}

/** The prefix of the streams of a conversation's blobs. Another conversation's may have it, too: `conversationOfBlob` distinguishes them. */
export const blobStreamsOf = (id: ConversationId): string => `blob-${id}-`;

/** The conversation whose blob a stream holds; null for any other stream. The part after the id has a fixed length. */
export function conversationOfBlob(stream: string): ConversationId | null {
  const [, id] = /^blob-(.+)-[0-9a-f]{64}$/.exec(stream) ?? [];
  const parsed = conversationIdSchema.safeParse(id);
  return parsed.success ? parsed.data : null;
}
