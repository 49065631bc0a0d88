import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { Block, blockKinds, idOf } from "./block.ts";
import { blockIdSchema, sha256Schema } from "./ids.ts";

// Checked to its first level only, and kept as parsed: it comes from JSON.parse, and zod's records would drop an own
// `__proto__`, put number-like keys first and cost a copy.
const payloadSchema = z.custom<JsonObject>(isJsonObject, "a payload must be a JSON object");
const residueSchema = z.custom<JsonValue>((value) => value !== undefined, "a residue must be a JSON value");

const wireSchema = z.strictObject({
  scope: z.string().min(1),
  itemId: z.exactOptional(z.string()),
  group: z.exactOptional(
    z.strictObject({
      id: z.string(),
      index: z.int().nonnegative(),
      size: z.int().positive(),
      stored: z.boolean(),
    }),
  ),
  partial: z.exactOptional(z.literal(true)),
  incomplete: z.exactOptional(z.literal(true)),
  paused: z.exactOptional(z.literal(true)),
  compacts: z.exactOptional(z.literal(true)),
  ciphertext: z.exactOptional(z.string()),
  residue: z.exactOptional(residueSchema),
});

/**
 * A recorded block as an event holds it. The payload is open: unknown members are kept, in their order. Blocks are compared by the
 * digest. Folds trust the recorded one; `hasOwnDigest` computes it again.
 */
export const blockJsonSchema = z.strictObject({
  id: blockIdSchema,
  kind: z.enum(blockKinds),
  digest: sha256Schema,
  payload: payloadSchema,
  wire: z.exactOptional(wireSchema),
});
export type BlockJson = Readonly<z.infer<typeof blockJsonSchema>>;

/** The block that an event holds. Two calls return the same object; for JSON from `blockToJson`, the block that was written. */
export function blockFromJson(json: BlockJson): Block {
  let block = blocksRead.get(json);
  if (block === undefined) {
    block = Block.recorded(json);
    blocksRead.set(json, block);
  }
  return block;
}

const blocksRead = new WeakMap<BlockJson, Block>();

/** A block as an event holds it. The block must have an id. */
export function blockToJson(block: Block): BlockJson {
  const { id: _, wire, kind, digest, payload } = block;
  const said = { id: idOf(block), kind, digest, payload };
  const json = wire === null ? said : { ...said, wire };
  blocksRead.set(json, block);
  return json;
}

/** Whether the recorded digest is the digest of the block's content: `verify` and imports check it. */
export const hasOwnDigest = (json: BlockJson): boolean => new Block(json).digest === json.digest;
