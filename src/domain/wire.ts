import type { JsonValue } from "../base/json.ts";

/**
 * The data that restores the provider's item exactly, and its source. An edited block has no wire: the provider never issued its new
 * content.
 */
export type Wire = {
  /** The endpoint scope that issued the item. */
  readonly scope: string;
  /** The item's id at the provider. */
  readonly itemId?: string;
  /** The response that contained the item (by inference id), the item's index in it, and the number of items. */
  readonly group?: { readonly id: string; readonly index: number; readonly size: number; readonly stored: boolean };
  /** The response did not complete: its text is kept; its calls are neither executed nor sent. */
  readonly partial?: true;
  /** The item is incomplete, in a response that completed. */
  readonly incomplete?: true;
  /** The last block of an answer that the server has paused. A request that ends with this block continues the answer. */
  readonly paused?: true;
  /** A compaction: for the provider, this block replaces everything before it. */
  readonly compacts?: true;
  /** Data that only the provider can read: encrypted reasoning, a compaction, a signature. */
  readonly ciphertext?: string;
  /** The difference between the received item and a plain encoding of the payload, from `jsonDifference`. */
  readonly residue?: JsonValue;
};
