import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { cutEdits, diffTurns, editsBytes } from "../../domain/diff-turns.ts";
import { applyEdits, type Edit } from "../../domain/edits.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { isSameVersion } from "../../domain/turn-difference.ts";
import type { RunTurns, TurnName } from "../../projections/run-turns.ts";
import { broughtBy } from "../stack/middleware.ts";
import type { LiveRun } from "./session.ts";

/** A Turn of the run and the name that edits give it. */
export type NamedTurn = { readonly name: TurnName; readonly turn: Turn };

/** One call of `next`: what was passed, and what came back. */
export type PassedCall = { readonly frame: string; passed: Turn; result: Turn | null };

/** How a Turn that a layer handed on is written. */
export type TurnRevision = {
  readonly turn: Turn;
  readonly from: TurnName;
  readonly base: TurnName;
  readonly edits: readonly Edit[];
};

/** A few edits are written against the Turn they descend from; beyond this size a shorter way is looked for. */
const shortEditsBytes = 400;

/**
 * The Turn that a layer's Turn descends from (rule: Frames): the same object; else the result of the latest call that it still
 * holds a block of which that call brought; else what the layer was given.
 */
export function descendsFrom(turn: Turn, given: NamedTurn, calls: readonly PassedCall[]): NamedTurn {
  if (turn === given.turn) return given;
  // From the newest, which it mostly is: a tool loop has made as many calls as the run has steps.
  const call =
    calls.findLast(({ result }) => result === turn) ??
    calls.findLast(({ passed, result }) => result !== null && holdsAnyOf(turn, broughtBy(passed, result)));
  return call?.result == null ? given : { name: `result/${call.frame}`, turn: call.result };
}

function holdsAnyOf(turn: Turn, blocks: readonly Block[]): boolean {
  return blocks.some((block) => block.id !== null && turn.find(block.id) !== undefined);
}

/**
 * The Turn with an id for every block and none twice: a draft that says what a missing block said is that block, a repeated
 * id gets a clone, and a block that was made again as it was is the old object. It shares what it has in common with one of
 * the `earlier` Turns of its run, so that a run holds what its layers change, and not every Turn that they handed on.
 */
export function normalise(turn: Turn, base: Turn, { earlier = [], newId }: Normalising): Turn {
  const near = nearestOf(turn, base, earlier);
  if (near.turn === base && near.shared === turn.length && near.shared === base.length) return base;
  const handed = turn.after(near.shared);
  const settling: Settling = { base, near, missing: null, used: new Set(), newId };
  const blocks = handed.map((block) => {
    const settled = normaliseBlock(turn, block, settling);
    settling.used.add(idOf(settled));
    return settled;
  });
  const settled = near.turn.slice(near.shared).concat(blocks);
  const nearest = nearestOf(settled, base, earlier);
  return nearest.turn.slice(nearest.shared).concat(settled.after(nearest.shared));
}

type Normalising = { readonly earlier?: readonly Turn[]; readonly newId: () => BlockId };

/** An earlier Turn of the run, and how many blocks at its beginning are those of the Turn in question. */
type Near = { readonly turn: Turn; readonly shared: number };

/** The Turn that shares most with this one; the base where others do not share more. */
function nearestOf(turn: Turn, base: Turn, earlier: readonly Turn[]): Near {
  let nearest: Near = { turn: base, shared: turn.commonPrefixLength(base) };
  for (const candidate of earlier) {
    const shared = candidate === base ? 0 : turn.commonPrefixLength(candidate);
    if (shared > nearest.shared) nearest = { turn: candidate, shared };
  }
  return nearest;
}

type Settling = {
  readonly base: Turn;
  /** What needs no settling: it was settled when that Turn was handed on. */
  readonly near: Near;
  /** What the base has and the Turn has not; looked for once a draft is met. */
  missing: Block[] | null;
  readonly used: Set<BlockId>;
  readonly newId: () => BlockId;
};

function normaliseBlock(turn: Turn, block: Block, settling: Settling): Block {
  const { base, near, used, newId } = settling;
  if (block.id === null) {
    settling.missing ??= missingOf(turn, base);
    const { missing } = settling;
    const index = missing.findIndex((candidate) => candidate.digest === block.digest);
    return missing.splice(index < 0 ? missing.length : index, 1)[0] ?? block.withId(newId());
  }
  const index = near.turn.indexOf(block.id);
  if (used.has(block.id) || (index >= 0 && index < near.shared)) return block.withId(newId());
  const before = base.find(block.id);
  return before !== undefined && isSameVersion(before, block) ? before : block;
}

function missingOf(turn: Turn, base: Turn): Block[] {
  const shared = turn.commonPrefixLength(base);
  const present = new Set(turn.after(shared).map((block) => block.id));
  return base.after(shared).filter((block) => !present.has(block.id));
}

/**
 * How a Turn is written against an earlier one of the run: against the one it descends from, unless that takes many edits
 * and another takes fewer. References keep the authors of their versions, so the choice changes no blame.
 */
export function reviseTurn(turn: Turn, base: NamedTurn, others: readonly NamedTurn[], turns: RunTurns): TurnRevision {
  const known = (block: Block): boolean => {
    const version = turns.version(idOf(block), block.digest);
    return version !== null && isSameVersion(version, block);
  };
  const written = (from: NamedTurn): Written => {
    const edits = diffTurns(from.turn, turn, known);
    return { from, edits, bytes: editsBytes(edits) };
  };
  const { from, edits } = shortest(turn, base, others, written);
  return { turn, from: from.name, base: base.name, edits };
}

type Written = { readonly from: NamedTurn; readonly edits: readonly Edit[]; readonly bytes: number };

/** The first way where that is short; else the shortest, the first of equal ones. What is known to be longer is not written. */
function shortest(
  turn: Turn,
  base: NamedTurn,
  others: readonly NamedTurn[],
  written: (from: NamedTurn) => Written,
): Written {
  let best = takesMore(base.turn, turn, shortEditsBytes) ? null : written(base);
  if (best !== null && best.bytes <= shortEditsBytes) return best;
  const isLong = best === null;
  for (const from of others) {
    if (from === base || (best !== null && takesMore(from.turn, turn, best.bytes))) continue;
    const way = written(from);
    if (best === null || way.bytes < best.bytes) best = way;
  }
  if (best === null || (isLong && !takesMore(base.turn, turn, best.bytes))) {
    const way = written(base);
    if (best === null || way.bytes <= best.bytes) best = way;
  }
  return best;
}

/** The fewest characters that say of a block that it is another. */
const replacementBytes = 120;

/** Whether the edits that make one Turn of the other are surely more than so many characters: blocks in their places differ. */
function takesMore(from: Turn, to: Turn, bytes: number): boolean {
  const shared = from.commonPrefixLength(to);
  const [left, right] = [from.after(shared), to.after(shared)];
  let replaced = 0;
  for (let place = 0; place < left.length && place < right.length; place += 1) {
    const [before, after] = [left[place], right[place]];
    if (before === after || before?.id !== after?.id || before?.digest === after?.digest) continue;
    replaced += 1;
    if (replaced * replacementBytes > bytes) return true;
  }
  return false;
}

/** What one event says of a pass, and the Turn that it makes. */
type PassPart = { readonly from: TurnName; readonly edits: readonly Edit[]; readonly after: Turn };

/**
 * A pass as events say it: one, or for a layer that rewrites a long Turn several, each against what the one before made
 * of the same Turn.
 */
function partsOf({ turn, from, edits }: TurnRevision, target: TurnName, turns: RunTurns): readonly PassPart[] {
  const parts = cutEdits(edits);
  if (parts.length <= 1) return [{ from, edits, after: turn }];
  const made = new Map(turn.blocks.map((block) => [idOf(block), block]));
  let so = turns.get(from);
  return parts.map((part, index) => {
    const known = ({ id, digest }: { readonly id: BlockId; readonly digest: string }): Block | undefined => {
      const block = made.get(id);
      return block?.digest === digest ? block : (turns.version(id, digest) ?? undefined);
    };
    so = index === parts.length - 1 ? turn : applyEdits(so, part, known);
    return { from: index === 0 ? from : target, edits: part, after: so };
  });
}

type Pass = {
  readonly pass: TurnRevision;
  readonly direction: "request" | "response";
  /** The frame that is given the Turn, or that returned it. */
  readonly frame: string;
  readonly actor: Actor;
  readonly compaction?: Compaction;
};

/** Records a pass, or meets it in the log of a run that was taken up; either way the run's Turns have it. */
export function recordPass(
  { fold, journal, recorder }: LiveRun,
  { pass, direction, frame, actor, compaction }: Pass,
): void {
  const { turns } = fold;
  const target = direction === "request" ? (`given/${frame}` as const) : (`result/${frame}` as const);
  for (const { from, edits, after } of partsOf(pass, target, turns)) {
    const data = {
      ...{ direction, from, edits: [...edits], after: after.digest },
      ...(from === pass.base ? {} : { base: pass.base }),
      ...(compaction === undefined ? {} : { compaction }),
    };
    const event = { type: "TurnEdited", version: 1, data } as const;
    if (journal.hasEdit(data, frame, pass.turn)) fold.apply({ event, actor, frame }, { turn: after });
    else recorder.record(event, { actor, frame }, { turn: after });
  }
}
