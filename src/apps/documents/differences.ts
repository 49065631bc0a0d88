import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { block, change, count, list, place, revision, stream } from "./parts.ts";

/** The author, and a short name of the block. */
const changeOfBlock = { by: actorSchema.nullable(), label: z.string() } as const;
const changedBlock = z.strictObject({ ...block.shape, ...changeOfBlock });

/** The differences between two Turns, and their authors; null if unknown. */
export const differenceDocument = z.strictObject({
  added: list(changedBlock),
  removed: list(changedBlock),
  modified: list(z.strictObject({ before: block, after: block, ...changeOfBlock })),
  moved: list(changedBlock),
});
export type DifferenceDocument = z.infer<typeof differenceDocument>;

const side = z.strictObject({ ...place, digest: sha256Schema });

/** `turnlog diff` */
export const diffDocument = z.strictObject({ from: side, to: side, ...differenceDocument.shape });

/** The first block of each Turn that differs; null if that Turn ends there. */
const parted = z.strictObject({ ...side.shape, block: block.nullable(), change: change.nullable() });

/** `turnlog compare` */
export const compareDocument = z.strictObject({
  /** The last event that both share. */
  event: z.strictObject({ stream, revision }).nullable(),
  /** How many blocks at the beginning of their Turns are equal. */
  blocks: count,
  left: parted,
  right: parted,
});
