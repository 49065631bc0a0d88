import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { blockJsonSchema } from "../../domain/block-json.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/events/shared.ts";
import { blockNameSchema, conversationIdSchema } from "../../domain/ids.ts";

/*
 * The contract of `--json`: this folder has one strict schema for the document of each command. The schemas describe `data`; around
 * it is `{ version: 1, data }`.
 */

export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();
export const conversation = conversationIdSchema;
export const stream = z.string();
export const at = z.iso.datetime();
export const count = z.int().nonnegative();
export const revision = z.int();

/** A conversation at a revision. */
export const place = { conversation, revision } as const;

/** A change of a block: its author, and its place in the log. */
export const change = z.strictObject({ actor: actorSchema, stream, revision, at });
export type ChangeDocument = z.infer<typeof change>;

/** What a run waits for, with what `turnlog approve`, `deny` or `resume --settle` take. */
export const waiting = z.strictObject({
  kind: z.enum(["approval", "doubt", "external"]),
  blockId: z.string(),
  name: z.string(),
  input: jsonValueSchema,
  inputSchema: jsonObjectSchema.nullable(),
  digest: z.string().nullable(),
  reason: z.string().nullable(),
  since: at,
  expiresAt: at.nullable(),
});
export type WaitingItem = Readonly<z.infer<typeof waiting>>;

/** A block as its event holds it, with its place in the Turn. */
export const block = z.strictObject({ index: z.int(), ...blockJsonSchema.shape, digest: blockNameSchema });

/** An amount of money, as decimal text. */
export const dollars = z.string().regex(/^\d+(\.\d+)?$/);
