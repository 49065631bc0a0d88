import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import type { BlockId, BlockName } from "../domain/ids.ts";

/** The versions of blocks made in one run, and who made them. */
export class BlockVersions {
  readonly #versions = new Map<string, { readonly block: Block; readonly author: Actor }>();
  /** Blocks made in this run, in their first version, with their first author. */
  readonly #made = new Map<BlockId, { readonly block: Block; readonly author: Actor }>();

  copy(): BlockVersions {
    const copy = new BlockVersions();
    for (const [key, version] of this.#versions) copy.#versions.set(key, version);
    for (const [id, made] of this.#made) copy.#made.set(id, made);
    return copy;
  }

  add(block: Block, author: Actor): void {
    const id = idOf(block);
    const key = versionKey(id, block.recordedAs);
    if (this.#versions.has(key)) return;
    this.#versions.set(key, { block, author });
    if (!this.#made.has(id) && id.startsWith("run_")) this.#made.set(id, { block, author });
  }

  get(id: BlockId, name: BlockName): Block | null {
    return this.#versions.get(versionKey(id, name))?.block ?? null;
  }

  authorOf(block: Block): Actor | null {
    return this.#versions.get(versionKey(idOf(block), block.recordedAs))?.author ?? null;
  }

  /** The first version of a block, and its author; null if the run did not make the block. */
  made(id: BlockId): { readonly block: Block; readonly author: Actor } | null {
    return this.#made.get(id) ?? null;
  }
}

const versionKey = (id: BlockId, name: BlockName): string => `${id} ${name}`;
