import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import { parentFrame } from "../../domain/frame.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { BlockVersions } from "./block-versions.ts";

/**
 * What the layers of a run did on the way to its core: what each frame received, and who made and removed which blocks. It is kept with each
 * request that is compared with later ones, so that the rest of an ended run can go: a conversation has thousands of runs, and most of
 * their layers do nothing.
 */
export class RunPasses {
  /** The Turn that the run started from. */
  readonly base: Turn;
  readonly versions: BlockVersions;
  #given: Map<string, Turn> | null = null;
  #removers: Map<BlockId, Actor> | null = null;

  constructor(base: Turn, versions: BlockVersions) {
    this.base = base;
    this.versions = versions;
  }

  /** Turns and blocks are immutable, so the copy shares them. */
  copy(): RunPasses {
    const copy = new RunPasses(this.base, this.versions.copy());
    if (this.#given !== null) copy.#given = new Map(this.#given);
    if (this.#removers !== null) copy.#removers = new Map(this.#removers);
    return copy;
  }

  setGiven(frame: string, turn: Turn): void {
    this.#given ??= new Map();
    this.#given.set(frame, turn);
  }

  /** What a frame received. An idle layer wrote nothing, and handed on what it got. */
  given(frame: string): Turn {
    return this.#given?.get(this.givenFrame(frame) ?? "") ?? this.base;
  }

  /** The frame whose own Turn this frame received, too; null if that is the base. */
  givenFrame(frame: string): string | null {
    // If all layers were idle so far, as in most runs, there is no need to parse the names of their frames.
    if (this.#given === null) return null;
    for (let at = frame; ; at = parentFrame(at)) {
      if (this.#given.has(at)) return at;
      if (!at.includes(".")) return null;
    }
  }

  noteRemoval(id: BlockId, actor: Actor): void {
    this.#removers ??= new Map();
    this.#removers.set(id, actor);
  }

  /** Blocks removed in this run, also if they were restored, and who did it last. */
  get removals(): ReadonlyMap<BlockId, Actor> {
    return this.#removers ?? none;
  }

  /** Who last removed a block in this run. */
  removerOf(id: BlockId): Actor | null {
    return this.#removers?.get(id) ?? null;
  }

  /** The author of this version, if it was made in this run. */
  authorOf(block: Block): Actor | null {
    return this.versions.authorOf(block);
  }
}

const none: ReadonlyMap<BlockId, Actor> = new Map();
