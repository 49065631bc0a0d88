import type { Block } from "./block.ts";

/** Blocks that are kept elsewhere: how many, the digest of the Turn that ends with them, and the way to them. */
export type StoredBlocks = {
  readonly length: number;
  readonly digest: string;
  readonly read: () => readonly Block[];
};
