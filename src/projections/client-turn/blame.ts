import { canonicalJson } from "../../base/canonical-json.ts";
import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";

/** A change of a block, its actor and its place in the log; for a fork, that may be in an ancestor's stream. */
export type BlockChange = {
  readonly actor: Actor;
  readonly stream: string;
  readonly revision: number;
  readonly at: string;
};

/** A version of a block, by the digest that its conversation records, and who first made it. */
export type BlamedVersion = { readonly digest: string; readonly change: BlockChange };

/** Who made a block, who made each of its versions, and who removed it. */
export type Blame = {
  readonly made: BlockChange;
  /** In order; the first is the version with which the block was made. */
  readonly versions: readonly BlamedVersion[];
  /** Who removed the block, while it is not in the Turn; null otherwise. */
  readonly removed: BlockChange | null;
  /** The newest erasure that took its content; absent if none did. */
  readonly erased?: BlockChange;
};

/** By block id. An entry is replaced and never changed, so that copies of the map can share entries. */
export type BlameView = Map<string, Blame>;

export const emptyBlame = (): BlameView => new Map();

/** Who last changed a block: the author of this version. */
export function lastChange(view: ReadonlyMap<string, Blame>, block: Block): BlockChange | null {
  return view.get(idOf(block))?.versions.find(({ digest }) => digest === block.recordedAs)?.change ?? null;
}

/** Records a new version. A version that already existed keeps its author. */
export function noteVersion(view: BlameView | null, block: Block, recorded: RecordedEvent): void {
  if (view === null) return;
  const id = idOf(block);
  const { recordedAs: digest } = block;
  const blame = view.get(id);
  if (blame?.versions.some((known) => known.digest === digest) === true) return;
  const change = changeOf(recorded);
  // A list, because most blocks only ever have one version, and a log has many blocks.
  if (blame === undefined) view.set(id, { made: change, versions: [{ digest, change }], removed: null });
  else view.set(id, { ...blame, versions: [...blame.versions, { digest, change }] });
}

/** Records an erasure of blocks; some of them may be in other conversations. */
export function noteErasure(view: BlameView | null, blockIds: readonly BlockId[], recorded: RecordedEvent): void {
  for (const id of blockIds) {
    const blame = view?.get(id);
    if (blame !== undefined) view?.set(id, { ...blame, erased: changeOf(recorded) });
  }
}

type Ending = {
  readonly base: Turn;
  readonly result: Turn;
  /** Who removed blocks in this run. */
  readonly removals: ReadonlyMap<BlockId, Actor>;
  /** The pass that last removed each block: when, and by whom. */
  readonly removed?: ReadonlyMap<string, BlockChange>;
  /** Where the run began. */
  readonly started: Pick<BlockChange, "stream" | "revision">;
};

/**
 * A run ended, or the Turn was reverted: blocks that are in its base, or were made in it, but not in its result count as removed
 * by the layer that removed them.
 */
export function noteResult(view: BlameView | null, end: Ending, recorded: RecordedEvent): void {
  if (view === null) return;
  const { base, result, removals, removed, started } = end;
  const shared = base.commonPrefixLength(result);
  const kept = new Set(result.after(shared).map(idOf));
  const noteRemoval = (id: BlockId): void => {
    const blame = view.get(id);
    if (blame === undefined || kept.has(id)) return;
    const actor = removals.get(id) ?? recorded.actor;
    const edit = removed?.get(id);
    // In another branch of the run another actor may have removed it since.
    const isThat = edit !== undefined && canonicalJson(edit.actor) === canonicalJson(actor);
    view.set(id, { ...blame, removed: isThat ? edit : { ...changeOf(recorded), actor } });
  };
  for (const block of base.after(shared)) noteRemoval(idOf(block));
  for (const id of removals.keys()) {
    const blame = view.get(id);
    // The blocks of the base are handled above. Those in its shared beginning are in the result: they were removed and restored.
    if (blame !== undefined && (isAfter(blame.made, started) || blame.removed !== null)) noteRemoval(id);
  }
  for (const id of kept) {
    const blame = view.get(id);
    if (blame !== undefined && blame.removed !== null) view.set(id, { ...blame, removed: null });
  }
}

const isAfter = (change: BlockChange, started: Ending["started"]): boolean =>
  change.stream === started.stream && change.revision > started.revision;

/** An event as a change of blocks. */
export const changeOf = ({ actor, stream, revision, at }: RecordedEvent): BlockChange => ({
  actor,
  stream,
  revision,
  at,
});
