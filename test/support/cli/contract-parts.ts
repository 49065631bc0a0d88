import * as z from "zod";
import { actorSchema } from "../../../src/domain/actor.ts";
import { blockJsonSchema } from "../../../src/domain/block-json.ts";
import { sha256Schema } from "../../../src/domain/ids.ts";

/*
 * What `--json` prints is a contract: members may be added in a new version only.
 */

/** Every answer is one document. */
export const document = <Data extends z.ZodType>(data: Data) => z.strictObject({ version: z.literal(1), data });
export const conversation = z.string().regex(/^cnv_/);
export const at = z.iso.datetime();
export const stream = z.string().regex(/^conversation-cnv_/);
export const change = z.strictObject({ actor: actorSchema, stream, revision: z.int(), at });
export const block = z.strictObject({ ...blockJsonSchema.shape, index: z.int(), digest: sha256Schema });

const changedBlock = z.strictObject({ ...block.shape, by: actorSchema.nullable() });
/** What differs between two Turns, and who made it so. */
export const changes = {
  added: z.array(changedBlock),
  removed: z.array(changedBlock),
  modified: z.array(z.strictObject({ before: block, after: block, by: actorSchema.nullable() })),
  moved: z.array(changedBlock),
};

export const timelineRow = z.strictObject({
  stream,
  revision: z.int(),
  at,
  type: z.string(),
  actor: actorSchema,
  runId: z.string().nullable(),
  frame: z.string().nullable(),
  words: z.string(),
  problem: z.string().nullable(),
});

export function versions() {
  return z.array(z.strictObject({ digest: sha256Schema, ...change.shape })).min(1);
}
