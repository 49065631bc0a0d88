import type { Block } from "./block.ts";

/** Blocks stored elsewhere: their number, the digest of the Turn that ends with them, and how to read them. */
export type StoredBlocks = {
  readonly length: number;
  readonly digest: string;
  readonly read: () => readonly Block[];
};
