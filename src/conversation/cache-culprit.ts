import type { Actor } from "../domain/actor.ts";
import { Block, idOf } from "../domain/block.ts";
import type { Divergence } from "../domain/events/inference-events.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import { placeChanges } from "../domain/turn-difference.ts";
import { divergenceOf, type Provenance } from "../engine/planning/divergence.ts";
import { changedBefore } from "../engine/planning/request-settings.ts";
import { type Blame, type BlockChange, lastChange } from "../projections/blame.ts";
import { type CacheAuthor, cacheAuthorOf } from "../projections/cache-author.ts";
import type { RunTurns } from "../projections/run-turns.ts";
import { type SentPrompt, sentTurn } from "./cache-trail.ts";

/** Who changed a prompt since an earlier one, and what. */
export type CacheCulprit = {
  readonly author: CacheAuthor | null;
  /** The first block that differs, and who changed it; its index is in the Turn. Null if a setting or a repair made the difference. */
  readonly divergence: Divergence | null;
  /** The block then and now; null where there is none. */
  readonly edit: { readonly before: Block | null; readonly after: Block | null } | null;
  /** Where the block got its present version, if the log says so. */
  readonly changed: BlockChange | null;
};

type Compared = {
  readonly then: SentPrompt;
  readonly now: SentPrompt;
  readonly provenance: Provenance;
  readonly blame: ReadonlyMap<string, Blame>;
};

const bySettings: CacheCulprit = { author: { kind: "settings" }, divergence: null, edit: null, changed: null };

/** Who changed the instructions: a block that is sent as instructions has an author, other instructions are settings. */
export function instructionsChangedBy(compared: Compared): CacheCulprit {
  const said = ({ outgoing, input }: SentPrompt): Turn => outgoing.slice(outgoing.length - input.length);
  return between(said(compared.then), said(compared.now), compared) ?? bySettings;
}

/** Who changed the blocks. */
export function blocksChangedBy(compared: Compared): CacheCulprit {
  const { then, now } = compared;
  const [before, since] = [sentTurn(then), sentTurn(now)];
  const found = between(before, since, compared);
  if (found !== null) return found;
  // A wire may send instructions as its first message.
  if (changedBefore(then.settings, now.settings).includes("instructions")) return instructionsChangedBy(compared);
  return areRepairedAlike(compared) ? grownBy(before.length, since, compared) : byEngine;
}

const byEngine: CacheCulprit = { author: { kind: "engine" }, divergence: null, edit: null, changed: null };

/** Whether the blocks of the earlier request were repaired in the same way for both. */
function areRepairedAlike({ then, now }: Pick<Compared, "then" | "now">): boolean {
  const [before, since] = [then, now].map(({ request: { decision } }) =>
    JSON.stringify(decision.repairs.filter(({ index }) => index < then.input.length)),
  );
  return before === since;
}

/** A wire that joins messages of one speaker adds the next block to the last message of the earlier request. */
function grownBy(index: number, now: Turn, { provenance, blame }: Compared): CacheCulprit {
  const block = now.at(index);
  if (block === undefined) return byEngine;
  const divergence = { index, blockId: block.id, change: "inserted", actor: provenance.authorOf(block) } as const;
  return {
    ...{ author: cacheAuthorOf(divergence), divergence },
    ...{ edit: { before: null, after: block }, changed: lastChange(blame, block) },
  };
}

function between(then: Turn, now: Turn, compared: Compared): CacheCulprit | null {
  const { then: asked, now: request, provenance, blame } = compared;
  const found = divergenceOf(then, now, provenance);
  if (found === null) return null;
  const divergence = found.change === "moved" && found.actor === null ? shifted(found, { then, now }) : found;
  const isOf = (block: Block): boolean => block.id === divergence.blockId;
  const [before, after] = [then.blocks.find(isOf) ?? null, now.blocks.find(isOf) ?? null];
  const { blockId } = divergence;
  const shown = after ?? before;
  if (shown === null) throw new Error(`neither Turn has the block ${blockId} in which they differ`);
  const blamed = after === null ? provenance.removerOf(idOf(shown)) : provenance.authorOf(after);
  const actor = actorOf({ ...divergence, actor: divergence.actor ?? blamed, blockId: idOf(shown) }, compared);
  const places = [request.outgoing, asked.outgoing].map((turn) => turn.blocks.findIndex(isOf));
  const index = places.find((place) => place >= 0) ?? divergence.index;
  return {
    author: cacheAuthorOf({ actor, change: divergence.change }),
    divergence: { ...divergence, index, actor },
    edit: { before, after },
    changed: after === null ? (blame.get(blockId ?? "")?.removed ?? null) : lastChange(blame, after),
  };
}

/** A block that no actor moved is elsewhere because another was added or removed that has the same content as its neighbour. */
function shifted(moved: Divergence, { then, now }: { readonly then: Turn; readonly now: Turn }): Divergence {
  const { removed, placed } = placeChanges(then, now);
  const added = placed.find(({ isMove }) => !isMove)?.block;
  const [gone] = removed;
  const isAdded = added !== undefined && (gone === undefined || now.indexOf(idOf(added)) <= then.indexOf(idOf(gone)));
  if (isAdded) return { ...moved, blockId: added.id, change: "inserted" };
  return gone === undefined ? moved : { ...moved, blockId: gone.id, change: "removed" };
}

type Changed = Pick<Divergence, "change" | "actor"> & { readonly blockId: BlockId };

/**
 * The actor of a change. Several layers may change one block on its way to a request: the one counts that did so otherwise than for the
 * earlier request. If none did, the block itself has changed between the runs.
 */
function actorOf({ change, actor, blockId }: Changed, { then, now, blame }: Compared): Divergence["actor"] {
  if (change === "moved" || then.turns === null || now.turns === null) return actor;
  const [before, since] = [formsOf(then, then.turns, blockId), formsOf(now, now.turns, blockId)];
  const removed = since.at(-1)?.form === null ? (blame.get(blockId)?.removed ?? null) : null;
  if (removed !== null && isAfter(removed, then.recorded)) return removed.actor;
  const [own = null] = since;
  // A form of the block that both requests had on their way: what came after it made the difference.
  const [shared] = since.flatMap((pass, at) => {
    const place = before.findLastIndex(({ form }) => isSameForm(form, pass.form));
    return place < 0 ? [] : [{ place, at }];
  });
  if (shared !== undefined) return firstOther(before.slice(shared.place + 1), since.slice(shared.at + 1)) ?? actor;
  const changed = own?.form == null ? null : lastChange(blame, own.form);
  return changed !== null && isAfter(changed, then.recorded) ? changed.actor : actor;
}

type Pass = { readonly actor: Actor | null; readonly form: Block | null };

/** A block as the run began with it, and after each change on the way to a request, the outermost layer's first; null where it is missing. */
function formsOf({ recorded }: SentPrompt, turns: RunTurns, id: BlockId): readonly Pass[] {
  const places = (recorded.frame ?? "0").split(".");
  const passes: Pass[] = [{ actor: null, form: turns.base.find(id) ?? null }];
  for (const depth of places.keys()) {
    const form = turns.given(places.slice(0, depth + 1).join(".")).find(id) ?? null;
    if (isSameForm(passes.at(-1)?.form ?? null, form)) continue;
    passes.push({ form, actor: form === null ? turns.removerOf(id) : turns.authorOf(form) });
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

const isAfter = (change: BlockChange, { stream, revision, at }: SentPrompt["recorded"]): boolean =>
  change.stream === stream ? change.revision > revision : change.at >= at;
