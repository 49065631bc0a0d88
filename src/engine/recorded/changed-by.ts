import type { Actor } from "../../domain/actor.ts";
import { Block } from "../../domain/block.ts";
import type { Divergence } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import { type Blame, type BlockChange, lastChange } from "../../projections/client-turn/blame.ts";
import type { RunPasses } from "../../projections/client-turn/run-passes.ts";

/** How the Turn of a request came about: the passes of its run, and its frame there. */
export type OnTheWay = { readonly passes: RunPasses; readonly frame: string | null };

type Changed = Pick<Divergence, "change" | "actor"> & { readonly blockId: BlockId };

/** What is known of the earlier request, and of how the later one came about. */
export type ChangedSince = {
  readonly earlier: OnTheWay | null;
  readonly now: OnTheWay | null;
  /** Where the log has the earlier request, or its answer. */
  readonly place: Pick<BlockChange, "stream" | "revision" | "at">;
  readonly blame: ReadonlyMap<string, Blame>;
};

/**
 * The actor of a change between two requests. Several layers may change one block on its way to a request: the one counts that did so
 * otherwise than for the earlier request. If none did, the block itself has changed between the runs.
 */
export function changedBy({ change, actor, blockId }: Changed, compared: ChangedSince): Actor | null {
  const { earlier, now, place, blame } = compared;
  if (change === "moved" || earlier === null || now === null) return actor;
  const [before, since] = [formsOf(earlier, blockId), formsOf(now, blockId)];
  const removed = since.at(-1)?.form === null ? (blame.get(blockId)?.removed ?? null) : null;
  if (removed !== null && isAfter(removed, place)) return removed.actor;
  // A form of the block that both requests had on their way: what came after it made the difference.
  const [shared] = since.flatMap((pass, at) => {
    const last = before.findLastIndex(({ form }) => isSameForm(form, pass.form));
    return last < 0 ? [] : [{ last, at }];
  });
  if (shared !== undefined) return firstOther(before.slice(shared.last + 1), since.slice(shared.at + 1)) ?? actor;
  const [own] = since;
  const changed = own?.form == null ? null : lastChange(blame, own.form);
  return changed !== null && isAfter(changed, place) ? changed.actor : actor;
}

/**
 * The same when only the blame of the log tells how the earlier request came about, so that every process concludes the same. Null if it
 * cannot be concluded.
 */
export function changedSince(
  { change, actor, blockId }: Changed,
  before: Block | null,
  {
    now,
    place,
    authorOf,
    changeOf,
  }: Pick<ChangedSince, "place"> & {
    readonly now: OnTheWay;
    readonly authorOf: (block: Block) => Actor | null;
    readonly changeOf: (block: Block) => BlockChange | null;
  },
): Actor | null {
  if (change !== "edited" && change !== "inserted") return actor;
  const [base, ...passes] = formsOf(now, blockId);
  const held = [base, ...passes].findLastIndex((pass) => isSameForm(pass?.form ?? null, before));
  const own = base?.form ?? null;
  if (held >= 0 && before !== null) return passes[held]?.actor ?? null;
  const changed = own === null ? null : changeOf(own);
  if (changed !== null && isAfter(changed, place)) return changed.actor;
  const [first] = passes;
  if (before === null) return first?.actor ?? null;
  return first?.actor ?? authorOf(before);
}

type Pass = { readonly actor: Actor | null; readonly form: Block | null };

/** A block as the run began with it, and after each change on the way to a request, the outermost layer's first; null where it is missing. */
function formsOf({ passes: run, frame }: OnTheWay, id: BlockId): readonly Pass[] {
  const places = (frame ?? "0").split(".");
  const passes: Pass[] = [{ actor: null, form: run.base.find(id) ?? null }];
  for (const depth of places.keys()) {
    const form = run.given(places.slice(0, depth + 1).join(".")).find(id) ?? null;
    if (isSameForm(passes.at(-1)?.form ?? null, form)) continue;
    passes.push({ form, actor: form === null ? run.removerOf(id) : run.authorOf(form) });
  }
  return passes;
}

/** The actor of the first pass that is not as it was: that one's, or the one's that is missing now. */
function firstOther(before: readonly Pass[], since: readonly Pass[]): Actor | null {
  const at = since.findIndex((pass, index) => !isSamePass(pass, before[index]));
  const [was, is] = at < 0 ? [before[since.length], undefined] : [before[at], since[at]];
  if (is === undefined || was === undefined) return (is ?? was)?.actor ?? null;
  const isMissing = before.slice(at + 1).some(({ actor }) => nameOf(actor) === nameOf(is.actor));
  return isMissing ? was.actor : is.actor;
}

const isSamePass = (one: Pass, other: Pass | undefined): boolean =>
  other !== undefined && nameOf(one.actor) === nameOf(other.actor) && isSameForm(one.form, other.form);

const nameOf = (actor: Actor | null): string | null =>
  actor !== null && "name" in actor ? (actor.name ?? null) : null;

const isSameForm = (one: Block | null, other: Block | null): boolean =>
  one === null || other === null ? one === other : Block.areEqual(one, other);

/** Whether a change came after a place in the log, which may be in another stream of the lineage. */
export const isAfter = (change: BlockChange, { stream, revision, at }: ChangedSince["place"]): boolean =>
  change.stream === stream ? change.revision > revision : change.at >= at;
