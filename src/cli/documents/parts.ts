import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { blockJsonSchema } from "../../domain/block-json.ts";
import { conversationIdSchema, sha256Schema } from "../../domain/ids.ts";

/*
 * What `--json` prints is a contract, and this folder is it: one strict schema for each command. What `data` of the document
 * holds is described; around it is `{ version: 1, data }`.
 */

export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();
export const conversation = conversationIdSchema;
export const stream = z.string();
export const at = z.iso.datetime();
export const count = z.int().nonnegative();
export const revision = z.int();

/** A conversation at a revision. */
export const place = { conversation, revision } as const;

/** Someone's change of a block, and where in the log it stands. */
export const change = z.strictObject({ actor: actorSchema, stream, revision, at });
export type ChangeDocument = z.infer<typeof change>;

/** A block as its event holds it, with its place in the Turn. */
export const block = z.strictObject({ index: z.int(), ...blockJsonSchema.shape, digest: sha256Schema });
