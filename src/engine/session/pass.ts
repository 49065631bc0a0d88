import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import { Block, idOf } from "../../domain/block.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { cutEdits, diffTurns, editsBytes } from "../../domain/diff-turns.ts";
import { applyEdits, type Edit } from "../../domain/edits.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { BlockId, BlockName } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { isSameVersion } from "../../domain/turn-difference.ts";
import { isFromBeforeErasure } from "../../log/codec/erased-blocks.ts";
import type { RunTurns, TurnName } from "../../projections/client-turn/run-turns.ts";
import { broughtBy } from "../ports/middleware.ts";
import type { LiveRun } from "./session.ts";

/** A Turn of the run and the name that edits give it. */
export type NamedTurn = { readonly name: TurnName; readonly turn: Turn };

/** One call of `next`: the Turn that was passed, and the one that came back. */
export type PassedCall = { readonly frame: string; passed: Turn; result: Turn | null };

/** How to write a Turn that a layer handed on. */
export type TurnRevision = {
  readonly turn: Turn;
  readonly from: TurnName;
  readonly base: TurnName;
  readonly edits: readonly Edit[];
};

/** A few edits are written against the Turn that they descend from; beyond this size a shorter way is sought. */
const shortEditsBytes = 400;

/**
 * The Turn that a layer's Turn descends from (rule: Frames): the same object; else the result of the latest call that brought a block which
 * the Turn still holds; else the Turn that the layer was given.
 */
export function descendsFrom(turn: Turn, given: NamedTurn, calls: readonly PassedCall[]): NamedTurn {
  if (turn === given.turn) return given;
  // Newest first, which usually matches: a tool loop has made as many calls as the run has steps.
  const call =
    calls.findLast(({ result }) => result === turn) ??
    calls.findLast(({ passed, result }) => result !== null && holdsAnyOf(turn, broughtBy(passed, result)));
  return call?.result == null ? given : { name: `result/${call.frame}`, turn: call.result };
}

function holdsAnyOf(turn: Turn, blocks: readonly Block[]): boolean {
  return blocks.some((block) => block.id !== null && turn.find(block.id) !== undefined);
}

/**
 * Returns the Turn with a unique id and a name for every block: a draft with the content of a missing block becomes that block, a repeated id gets a
 * clone, and a block that was rebuilt unchanged becomes the old object. The Turn shares what it can with one of the `earlier` Turns, so
 * that a run holds what its layers change, and not every Turn that they handed on.
 *
 * @throws {TurnlogError} `erased-block` for a block with the content that it had before an erasure, wherever the Turn has it.
 */
export function normalise(turn: Turn, base: Turn, { earlier = [], names, newId }: Normalising): Turn {
  const near = nearestOf(turn, base, earlier);
  if (near.turn === base && near.shared === turn.length && near.shared === base.length) return base;
  const handed = turn.after(near.shared);
  const settling: Settling = { base, near, missing: null, used: new Set(), names, newId };
  const blocks = handed.map((block) => {
    const settled = Block.named(normaliseBlock(turn, block, settling), names);
    settling.used.add(idOf(settled));
    return settled;
  });
  const settled = near.turn.slice(near.shared).concat(blocks);
  const nearest = nearestOf(settled, base, earlier);
  return nearest.turn.slice(nearest.shared).concat(settled.after(nearest.shared));
}

type Normalising = {
  readonly earlier?: readonly Turn[];
  /** Those of the run's conversation. */
  readonly names: BlockNames;
  readonly newId: () => BlockId;
};

/** An earlier Turn of the run, and how many leading blocks it shares with the Turn in question. */
type Near = { readonly turn: Turn; readonly shared: number };

/** The Turn that shares most with this one; the base if no other shares more. */
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
  /** The blocks shared with that Turn, which were normalised when it was handed on. */
  readonly near: Near;
  /** The blocks that the base has and the Turn does not; computed when a draft is met. */
  missing: Block[] | null;
  readonly used: Set<BlockId>;
  readonly names: BlockNames;
  readonly newId: () => BlockId;
};

function normaliseBlock(turn: Turn, block: Block, settling: Settling): Block {
  const { base, near, used, names, newId } = settling;
  if (block.id === null) {
    settling.missing ??= missingOf(turn, base);
    const { missing } = settling;
    const index = missing.findIndex((candidate) => Block.areEqual(candidate, block));
    return missing.splice(index < 0 ? missing.length : index, 1)[0] ?? block.withId(newId());
  }
  const before = base.find(block.id);
  const isSame = before !== undefined && before.recordedAs === block.recordedAs;
  // The name of an erased block is that of the content that it had. A version that was not erased may stay.
  if (block !== before && !block.isErased && (isSame ? before.isErased : isFromBeforeErasure(block, names)))
    throw new TurnlogError(
      "erased-block",
      `a layer handed on the block ${block.id} with content that was erased: take blocks from the Turn, and do not keep them across runs`,
    );
  const index = near.turn.indexOf(block.id);
  if (used.has(block.id) || (index >= 0 && index < near.shared)) return block.withId(newId());
  return before !== undefined && isSameVersion(before, block) ? before : block;
}

function missingOf(turn: Turn, base: Turn): Block[] {
  const shared = turn.commonPrefixLength(base);
  const present = new Set(turn.after(shared).map((block) => block.id));
  return base.after(shared).filter((block) => !present.has(block.id));
}

/**
 * Chooses how to write a Turn against an earlier one of the run: against the one that it descends from, unless that takes many edits and
 * another takes fewer. References keep the authors of their versions, so the choice does not change blame.
 */
export function reviseTurn(turn: Turn, base: NamedTurn, others: readonly NamedTurn[], turns: RunTurns): TurnRevision {
  const known = (block: Block): boolean => {
    const version = turns.version(idOf(block), block.recordedAs);
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

/** The first way if it is short; else the shortest, and the first of equal ones. Ways known to be longer are not computed. */
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

/** The fewest characters of an edit that replaces a block. */
const replacementBytes = 120;

/** Whether the edits from one Turn to the other surely take more characters than given, because blocks in the same places differ. */
function takesMore(from: Turn, to: Turn, bytes: number): boolean {
  const shared = from.commonPrefixLength(to);
  const [left, right] = [from.after(shared), to.after(shared)];
  let replaced = 0;
  for (let place = 0; place < left.length && place < right.length; place += 1) {
    const [before, after] = [left[place], right[place]];
    if (before === after || before?.id !== after?.id || before?.recordedAs === after?.recordedAs) continue;
    replaced += 1;
    if (replaced * replacementBytes > bytes) return true;
  }
  return false;
}

/** The part of a pass in one event, and the Turn that it results in. */
type PassPart = { readonly from: TurnName; readonly edits: readonly Edit[]; readonly after: Turn };

/** Splits a pass into events: one, or several if a layer rewrites a long Turn, each against the result of the one before. */
function partsOf({ turn, from, edits }: TurnRevision, target: TurnName, turns: RunTurns): readonly PassPart[] {
  const parts = cutEdits(edits);
  if (parts.length <= 1) return [{ from, edits, after: turn }];
  const made = new Map(turn.blocks.map((block) => [idOf(block), block]));
  let so = turns.get(from);
  return parts.map((part, index) => {
    const known = ({ id, digest }: { readonly id: BlockId; readonly digest: BlockName }): Block | undefined => {
      const block = made.get(id);
      return block?.recordedAs === digest ? block : (turns.version(id, digest) ?? undefined);
    };
    so = index === parts.length - 1 ? turn : applyEdits(so, part, known);
    return { from: index === 0 ? from : target, edits: part, after: so };
  });
}

type Pass = {
  readonly pass: TurnRevision;
  readonly direction: "request" | "response";
  /** The frame that gets the Turn, or that returned it. */
  readonly frame: string;
  readonly actor: Actor;
  readonly compaction?: Compaction;
};

/** Records a pass, or meets it in the log of a resumed run; in both cases the run's Turns have it. */
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
