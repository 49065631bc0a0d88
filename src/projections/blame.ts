import { canonicalJson } from "../base/canonical-json.ts";
import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";

/** Someone's change of a block, and where in the log it stands: of a fork, it may be in an ancestor's stream. */
export type BlockChange = {
  readonly actor: Actor;
  readonly stream: string;
  readonly revision: number;
  readonly at: string;
};

/** A content that a block had, by its digest, and who first gave it that. */
export type BlamedVersion = { readonly digest: string; readonly change: BlockChange };

/** Who made a block, who made each of its versions, and who took it out. */
export type Blame = {
  readonly made: BlockChange;
  /** In the order they were made, the first of them when the block was. */
  readonly versions: readonly BlamedVersion[];
  /** Set while the block is not in the Turn although it was, or was made: who left it out. */
  readonly removed: BlockChange | null;
};

/** By block id. */
export type BlameView = Map<string, Blame & { readonly versions: BlamedVersion[]; removed: BlockChange | null }>;

export const emptyBlame = (): BlameView => new Map();

/** Who last changed a block, as it stands: the author of this version. */
export function lastChange(view: ReadonlyMap<string, Blame>, block: Block): BlockChange | null {
  return view.get(idOf(block))?.versions.find(({ digest }) => digest === block.digest)?.change ?? null;
}

/** A version came into being; a version that was there before keeps its author. */
export function noteVersion(view: BlameView | null, block: Block, recorded: RecordedEvent): void {
  if (view === null) return;
  const id = idOf(block);
  const { digest } = block;
  const blame = view.get(id);
  if (blame?.versions.some((known) => known.digest === digest) === true) return;
  const change = changeOf(recorded);
  // A list, because most blocks have one version for ever, and a log has many blocks.
  if (blame === undefined) view.set(id, { made: change, versions: [{ digest, change }], removed: null });
  else blame.versions.push({ digest, change });
}

type Ending = {
  readonly base: Turn;
  readonly result: Turn;
  /** Who left blocks out in this run. */
  readonly removals: ReadonlyMap<BlockId, Actor>;
  /** When a pass left each of them out last, and by whom. */
  readonly removed?: ReadonlyMap<string, BlockChange>;
  /** Where the run began. */
  readonly started: Pick<BlockChange, "stream" | "revision">;
};

/**
 * A run ended, or the Turn was reverted: what its base held, or was made in it, and its result does not have was removed,
 * by the layer that left it out.
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
    // On another branch of the run somebody else may have left it out since.
    const isThat = edit !== undefined && canonicalJson(edit.actor) === canonicalJson(actor);
    blame.removed = isThat ? edit : { ...changeOf(recorded), actor };
  };
  for (const block of base.after(shared)) noteRemoval(idOf(block));
  for (const id of removals.keys()) {
    const blame = view.get(id);
    // What the base held was looked at above; in its beginning, what was left out has been put back.
    if (blame !== undefined && (isAfter(blame.made, started) || blame.removed !== null)) noteRemoval(id);
  }
  for (const id of kept) {
    const blame = view.get(id);
    if (blame !== undefined) blame.removed = null;
  }
}

const isAfter = (change: BlockChange, started: Ending["started"]): boolean =>
  change.stream === started.stream && change.revision > started.revision;

/** An event as the one that changed something. */
export const changeOf = ({ actor, stream, revision, at }: RecordedEvent): BlockChange => ({
  actor,
  stream,
  revision,
  at,
});
