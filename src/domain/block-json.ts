import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { Block, blockKinds, idOf } from "./block.ts";
import { type BlockNames, nameWithoutKey, plainNames } from "./block-names.ts";
import { blockIdSchema, blockNameSchema } from "./ids.ts";

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
 * digest, which is the block's name in its conversation. Folds trust the recorded one; `hasOwnDigest` computes it again.
 */
export const blockJsonSchema = z.strictObject({
  id: blockIdSchema,
  kind: z.enum(blockKinds),
  digest: blockNameSchema,
  payload: payloadSchema,
  wire: z.exactOptional(wireSchema),
  /** Its content was erased: the payload is a stand-in. */
  erased: z.exactOptional(z.literal(true)),
});
export type BlockJson = Readonly<z.infer<typeof blockJsonSchema>>;

/** The block that an event holds. Two calls return the same object; for JSON from `blockToJson`, the block that was written. */
export const blockFromJson = (json: BlockJson): Block => blocksRead.get(json) ?? readBlock(json, plainNames);

/** The block that an event was read to hold, with the names of its conversation. From then on `blockFromJson` returns it. */
export function readBlock(json: BlockJson, names: BlockNames): Block {
  const block = Block.recorded(json, names);
  blocksRead.set(json, block);
  return block;
}

const blocksRead = new WeakMap<BlockJson, Block>();

/** A block as an event holds it. The block must have an id. */
export function blockToJson(block: Block): BlockJson {
  const { id: _, wire, kind, recordedAs: digest, payload, isErased } = block;
  const said = { id: idOf(block), kind, digest, payload };
  const whole = wire === null ? said : { ...said, wire };
  const json: BlockJson = isErased ? { ...whole, erased: true } : whole;
  blocksRead.set(json, block);
  return json;
}

/** Whether the recorded digest is that of the block's content: `verify` and imports check it. If the naming key is lost, none can be checked. */
export function hasOwnDigest(json: BlockJson): boolean {
  const names = Block.namesOf(blockFromJson(json)) ?? plainNames;
  if (names.isLost === true || json.erased === true) return true;
  const { digest } = new Block(json);
  return names.nameOf(digest) === json.digest || nameWithoutKey(names, digest) === json.digest;
}
