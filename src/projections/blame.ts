import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";

/** Someone's change of a block, and where in the log it stands. */
export type Change = { readonly actor: Actor; readonly revision: number; readonly at: string };

/** Who made a block, who made each of its versions, and who took it out. */
export type Blame = {
  readonly made: Change;
  /** The author of each version, by block digest, in the order they were made. */
  readonly versions: ReadonlyMap<string, Change>;
  /** Set while the block is not in the Turn although it was, or was made: who left it out. */
  readonly removed: Change | null;
};

/** By block id. */
export type BlameView = Map<string, Blame & { readonly versions: Map<string, Change>; removed: Change | null }>;

export const emptyBlame = (): BlameView => new Map();

/** Who last changed a block, as it stands: the author of this version. */
export function lastChange(view: ReadonlyMap<string, Blame>, block: Block): Change | null {
  return view.get(idOf(block))?.versions.get(block.digest) ?? null;
}

/** A version came into being; a version that was there before keeps its author. */
export function noteVersion(view: BlameView, block: Block, recorded: RecordedEvent): void {
  const change = changeOf(recorded);
  const id = idOf(block);
  const blame = view.get(id);
  if (blame === undefined) {
    view.set(id, { made: change, versions: new Map([[block.digest, change]]), removed: null });
  } else if (!blame.versions.has(block.digest)) {
    blame.versions.set(block.digest, change);
  }
}

type RunEnd = { readonly base: Turn; readonly result: Turn; readonly removerOf: (id: BlockId) => Actor | null };

/** A run ended: what its base held and its result does not was removed, by whoever left it out. */
export function noteRunEnd(view: BlameView, { base, result, removerOf }: RunEnd, recorded: RecordedEvent): void {
  const shared = base.commonPrefixLength(result);
  const kept = new Set(result.after(shared).map(idOf));
  for (const block of base.after(shared)) {
    const id = idOf(block);
    const blame = view.get(id);
    if (blame === undefined || kept.has(id)) continue;
    blame.removed = { ...changeOf(recorded), actor: removerOf(id) ?? recorded.actor };
  }
  for (const id of kept) {
    const blame = view.get(id);
    if (blame !== undefined) blame.removed = null;
  }
}

const changeOf = ({ actor, revision, at }: RecordedEvent): Change => ({ actor, revision, at });
