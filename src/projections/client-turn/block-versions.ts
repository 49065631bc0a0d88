import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { BlockId, BlockName } from "../../domain/ids.ts";

/** A version of a block, and who made it. */
type Version = { readonly block: Block; readonly author: Actor };

/** The versions of blocks made in one run, and who made them. */
export class BlockVersions {
  /** In the order in which they were made. A list is replaced and never changed. */
  readonly #versions = new Map<BlockId, readonly Version[]>();

  copy(): BlockVersions {
    const copy = new BlockVersions();
    for (const [id, versions] of this.#versions) copy.#versions.set(id, versions);
    return copy;
  }

  add(block: Block, author: Actor): void {
    const id = idOf(block);
    const known = this.#versions.get(id) ?? [];
    if (known.some((version) => version.block.recordedAs === block.recordedAs)) return;
    // A list of exactly so many: most blocks have one version, and there are many blocks.
    this.#versions.set(id, known.concat({ block, author }));
  }

  get(id: BlockId, name: BlockName): Block | null {
    return this.#version(id, name)?.block ?? null;
  }

  authorOf(block: Block): Actor | null {
    return this.#version(idOf(block), block.recordedAs)?.author ?? null;
  }

  /** The first version of a block, and its author; null if the run did not make the block. */
  made(id: BlockId): Version | null {
    return id.startsWith("run_") ? (this.#versions.get(id)?.[0] ?? null) : null;
  }

  #version(id: BlockId, name: BlockName): Version | undefined {
    return this.#versions.get(id)?.find(({ block }) => block.recordedAs === name);
  }
}
