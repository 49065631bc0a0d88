import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { cutEdits, diffTurns, editsBytes } from "../../domain/diff-turns.ts";
import { applyEdits, type Edit } from "../../domain/edits.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { isSameVersion } from "../../domain/turn-difference.ts";
import type { RunTurns, TurnName } from "../../projections/run-turns.ts";
import { broughtBy } from "../stack/middleware.ts";

/** A Turn of the run and the name that edits give it. */
export type NamedTurn = { readonly name: TurnName; readonly turn: Turn };

/** One call of `next`: what was passed, and what came back. */
export type Call = { readonly frame: string; passed: Turn; result: Turn | null };

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
export function descendsFrom(turn: Turn, given: NamedTurn, calls: readonly Call[]): NamedTurn {
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
 * id gets a clone, and a block that was made again as it was is the old object.
 */
export function normalise(turn: Turn, base: Turn, newId: () => BlockId): Turn {
  const shared = turn.commonPrefixLength(base);
  if (shared === turn.length && shared === base.length) return base;
  const handed = turn.after(shared);
  const present = new Set(handed.map((block) => block.id));
  const missing = base.after(shared).filter((block) => !present.has(block.id));
  const used = new Set<BlockId>();
  const blocks = handed.map((block) => {
    const settled = normaliseBlock(block, { base, shared, missing, used, newId });
    used.add(idOf(settled));
    return settled;
  });
  let same = 0;
  while (same < blocks.length && blocks[same] === base.at(shared + same)) same += 1;
  return base.slice(shared + same).concat(blocks.slice(same));
}

type Settling = {
  readonly base: Turn;
  /** How many of its first blocks the Turn has unchanged. */
  readonly shared: number;
  readonly missing: Block[];
  readonly used: ReadonlySet<BlockId>;
  readonly newId: () => BlockId;
};

function normaliseBlock(block: Block, { base, shared, missing, used, newId }: Settling): Block {
  if (block.id === null) {
    const index = missing.findIndex((candidate) => candidate.digest === block.digest);
    return missing.splice(index < 0 ? missing.length : index, 1)[0] ?? block.withId(newId());
  }
  const index = base.indexOf(block.id);
  if (used.has(block.id) || (index >= 0 && index < shared)) return block.withId(newId());
  const before = index < 0 ? undefined : base.at(index);
  return before !== undefined && isSameVersion(before, block) ? before : block;
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
  let best = { from: base, edits: diffTurns(base.turn, turn, known) };
  let bytes = editsBytes(best.edits);
  for (const from of bytes > shortEditsBytes ? others : []) {
    const edits = diffTurns(from.turn, turn, known);
    const size = editsBytes(edits);
    if (size < bytes) [best, bytes] = [{ from, edits }, size];
  }
  return { turn, from: best.from.name, base: base.name, edits: best.edits };
}

/** What one event says of a pass. */
export type PassPart = { readonly from: TurnName; readonly edits: readonly Edit[]; readonly after: string };

/**
 * A pass as events say it: one, or for a layer that rewrites a long Turn several, each against what the one before made
 * of the same Turn.
 */
export function partsOf({ turn, from, edits }: TurnRevision, target: TurnName, turns: RunTurns): readonly PassPart[] {
  const parts = cutEdits(edits);
  if (parts.length <= 1) return [{ from, edits, after: turn.digest }];
  let so = turns.get(from);
  return parts.map((part, index) => {
    so = applyEdits(so, part, ({ id, digest }) => turns.version(id, digest) ?? undefined);
    return { from: index === 0 ? from : target, edits: part, after: so.digest };
  });
}

/** Notes in the run's Turns what a pass brought about, as the fold of its event will. */
export function noteRevision(turns: RunTurns, pass: TurnRevision, target: TurnName, actor: Actor): void {
  for (const block of pass.turn.after(turns.get(pass.base).commonPrefixLength(pass.turn))) {
    if (turns.version(idOf(block), block.digest) === null) turns.addVersion(block, actor);
  }
  turns.handOn(target, pass.turn, { base: pass.base, actor });
}
