import type { Block } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { abortedResult, type CallPairs, type Settings } from "../ports/codec.ts";
import { type BoundPlace, behind, boundItemOf, insertedItem } from "./bound-place.ts";
import type { ReasoningCheck } from "./bound-reasoning.ts";
import {
  type Candidate,
  carriesId,
  type Group,
  type GroupOptions,
  groupsOf,
  legaliseGroup,
  unsendable,
} from "./groups.ts";
import { lateMessage, lateResult } from "./late-result.ts";
import { callAnswered, closingAnswers, type OpenCall, openIn, type Pairing, pairGroup } from "./pair-calls.ts";
import { omitParts, unsendableParts, withoutParts } from "./parts.ts";
import { promptBehind, standIns } from "./prompt-and-stand-ins.ts";
import { callIdOf, erased, omit, omitId, repairIndexOf, restate } from "./repairs.ts";

/** What shaping needs besides the blocks: their destination, and what is there already. */
export type ShapeOptions = GroupOptions & {
  /** Where the anchor's output begins, which may have open calls; 0 for a full request. */
  readonly heldFrom: number;
  readonly settings: Settings;
  /** Absent if the endpoint does not check reasoning. */
  readonly check?: ReasoningCheck | undefined;
};

/**
 * The repairs that make the blocks of a Turn from `from` on a legal continuation (rule: Planning and shaping). Pure and
 * deterministic; it changes neither the blocks that the anchor holds nor the Turn itself. It settles groups from left to right,
 * each from itself and what came before, so that later blocks never change what was shaped. The first endpoint to answer after a
 * file owns it; only that one is sent the file id.
 */
export function shape(turn: Turn, from: number, options: ShapeOptions): readonly Repair[] {
  const { repairs, pairing } = shapeFrom(turn, from, options);
  const closing = closingAnswers(pairing, turn.length);
  const last = turn.length - 1;
  const isPaused =
    isPausedAt(turn, last, options) &&
    !(last >= from && turn.at(last)?.isErased === true) &&
    !repairs.some(({ rule, index }) => rule === "omit" && index === last);
  const prompt = closing.length > 0 || isPaused ? [] : promptBehind(turn, from, { ...options, repairs });
  return [...repairs, ...closing, ...prompt, ...standIns(turn, from, { ...options, repairs })];
}

/** Whether the block at a place ends an answer that this endpoint paused. Reads nothing for an endpoint that never pauses. */
export function isPausedAt(
  turn: Turn,
  index: number,
  { scope, codec }: Pick<GroupOptions, "scope" | "codec">,
): boolean {
  if (codec.mayPause === undefined) return false;
  const wire = turn.at(index)?.wire;
  return wire?.paused === true && wire.scope === scope;
}

type Shaped = { readonly repairs: readonly Repair[]; readonly pairing: Pairing };

/** Whether an answer was paused, and something other than its continuation follows it. */
const isLeftPaused = ({ members }: Group, next: Group | undefined, { scope }: ShapeOptions): boolean =>
  members.at(-1)?.block.wire?.paused === true &&
  next !== undefined &&
  !(next.isIntact && next.members[0]?.block.wire?.scope === scope);

/** What precedes a group in the request or at the server. */
type ShapedPrefix = {
  readonly itemIds: Set<string>;
  /** Names of the blocks that the anchor holds: the server may hold an equal block's item instead (rule: Contexts and anchors). */
  readonly heldNames: ReadonlySet<string>;
};

/** Whether a block, or an equal one, was sent before. Of a full request nothing was, so that no names are looked at. */
const isIn = ({ itemIds, heldNames }: ShapedPrefix, block: Block): boolean =>
  (block.wire?.itemId !== undefined && itemIds.has(block.wire.itemId)) ||
  (heldNames.size > 0 && heldNames.has(block.recordedAs));

function shapeFrom(turn: Turn, from: number, options: ShapeOptions): Shaped {
  const blocks = turn.after(from);
  const continuation = { turn, blocks, options };
  const before = heldBefore(from, continuation);
  const start = from === 0 ? compactedUpTo(blocks, options) : from;
  const repairs: Repair[] = [];
  let pairing = pairingAt(from, continuation);
  let last: Block | null = from === 0 ? null : (turn.at(from - 1) ?? null);
  let place = options.check?.start;
  const groups = groupsOf(blocks, from, options);
  for (let group = groups.next().value, next: Group | undefined; group !== undefined; group = next) {
    next = groups.next().value;
    const [first] = group.members;
    group.isLeftPaused = isLeftPaused(group, next, options);
    for (const member of group.members) if (member.index < start) member.omitted = "compacted";
    if (first !== undefined && first.index !== turn.length - 1 && options.codec.standsLast?.(first.block) === true)
      first.omitted = "not-last";
    group.isRepeated = group.members.some(({ block }) => isIn(before, block));
    group.isUnbound = place !== undefined && isUnbound(group, place, options);
    const paired = legalise(group, pairing, continuation);
    place &&= placeBehind(place, group, paired.repairs);
    pairing = paired.next;
    for (const key of paired.newKeys) pairing.usedKeys.add(key);
    for (const { block, hasId, omitted } of group.members) {
      if (hasId && omitted === null && block.wire?.itemId !== undefined) before.itemIds.add(block.wire.itemId);
    }
    for (const own of [repairsOf(group, options), paired.repairs]) if (own.length > 0) repairs.push(...own);
    if (options.codec.restated !== undefined)
      last = restateGroup(group, { last, paired: paired.repairs, repairs, options });
  }
  return { repairs, pairing };
}

/**
 * Where a full request begins: at the newest block that replaces, at this endpoint, everything before it; or at the first block, if
 * a call before that one is still open there.
 */
function compactedUpTo(blocks: readonly Block[], options: ShapeOptions): number {
  const at = blocks.findLastIndex(
    (block, index) =>
      options.covers?.(block, index) === true &&
      unsendable(
        { block, index, unsent: unsendableParts(blocks, index, options), hasId: carriesId(block, options) },
        options,
      ) === null,
  );
  return at > 0 && openIn(blocks.slice(0, at), 0, options.codec).length === 0 ? at : 0;
}

/** Each round leaves out at least one more block, or splits the group or removes its ids once. */
function legalise(group: Group, pairing: Pairing, continuation: Continuation): ReturnType<typeof pairGroup> {
  const { options } = continuation;
  for (;;) {
    legaliseGroup(group, options);
    const kept = group.members.filter(({ omitted }) => omitted === null);
    const paired = pairGroup(kept, pairing, options.codec);
    const isRenamedNow = paired.hasRenamedCall && !group.isRenamed;
    const isSplitNow = group.isIntact && isSplit(kept, paired.repairs);
    const isSettled = paired.unpaired.length === 0 && paired.late.length === 0;
    if (isSettled && !isRenamedNow && !isSplitNow) return paired;
    for (const candidate of paired.unpaired) candidate.omitted = "no-open-call";
    for (const { candidate, call } of paired.late) becomeMessage(candidate, call, continuation);
    group.isIntact &&= paired.late.length === 0;
    group.isRenamed ||= paired.hasRenamedCall;
    group.isIntact &&= !isSplitNow;
  }
}

/** Turns a late result into a message for all rules that follow. */
function becomeMessage(candidate: Candidate, { index: at }: OpenCall, { turn, blocks, options }: Continuation): void {
  const call = turn.at(at);
  if (call === undefined) return;
  const place = candidate.index - (turn.length - blocks.length);
  candidate.block = lateMessage(candidate.block, call);
  candidate.late = at;
  candidate.unsent = unsendableParts(blocks.with(place, candidate.block), place, options);
}

/**
 * Whether an earlier call is answered in the middle of a group that begins with results: the group is then no longer the response
 * as it was.
 */
const isSplit = ([first]: readonly Candidate[], repairs: readonly Repair[]): boolean =>
  first !== undefined && repairs.some((repair) => repair.rule === "answer" && repairIndexOf(repair) > first.index);

/** The blocks of a Turn that are sent. */
type Continuation = { readonly turn: Turn; readonly blocks: readonly Block[]; readonly options: ShapeOptions };

/** Computed only if a block to send carries an id. */
function heldBefore(from: number, { turn, blocks, options }: Continuation): ShapedPrefix {
  if (from === 0 || !blocks.some((block) => carriesId(block, options))) {
    return { itemIds: new Set(), heldNames: new Set() };
  }
  const held = turn.blocks.slice(0, from);
  return {
    itemIds: new Set(held.flatMap(({ wire }) => wire?.itemId ?? [])),
    heldNames: new Set(held.map(({ recordedAs }) => recordedAs)),
  };
}

/**
 * The calls that the anchor leaves open: those of its output, and calls before it that may stay open, or that were answered as
 * aborted and still have no result. The latter need a scan of the whole Turn, so they are looked up only if they could matter.
 */
function pairingAt(from: number, { turn, blocks, options }: Continuation): Pairing {
  if (from === 0) return { open: [], aborted: [], usedKeys: new Set(), stretch: null };
  const { heldFrom, codec } = options;
  const { pairs } = codec;
  const output = turn.after(heldFrom).slice(0, from - heldFrom);
  const needsEarlier = asksForEarlierCalls(blocks, openIn(output, heldFrom, { pairs }), pairs);
  const earlier = needsEarlier ? callsBefore(turn.slice(heldFrom), options) : noCalls;
  const open = openIn(output, heldFrom, { pairs, before: earlier.open });
  const staying = open.filter(({ mayStayOpen }) => mayStayOpen).map(({ key }) => key);
  const usedKeys = new Set([...earlier.usedKeys, ...staying]);
  return { open, aborted: earlier.aborted, usedKeys, stretch: null };
}

/**
 * Whether a result finds no call in the anchor's output, or a call could take the id of an open one. After a block that is not a
 * result, the calls of the output count as answered, because those that may not stay open were.
 */
function asksForEarlierCalls(blocks: readonly Block[], openInOutput: readonly OpenCall[], pairs: CallPairs): boolean {
  let open = openInOutput;
  return blocks.some((block) => {
    if (!pairs.isResult(block)) {
      open = [];
      return pairs.callOf(block) !== null;
    }
    const call = pairs.keyOf(block) === null ? undefined : callAnswered(block, open, pairs);
    open = open.filter((each) => each !== call);
    return call === undefined;
  });
}

type EarlierCalls = Pick<Pairing, "open" | "aborted"> & { readonly usedKeys: readonly string[] };

const noCalls: EarlierCalls = { open: [], aborted: [], usedKeys: [] };

/**
 * The calls of a Turn that a server still has open. If an id repeats, the ids that were sent depend on how the requests were cut,
 * which is unknown here. Such a call is not answered, and its ids are not used again.
 */
function callsBefore(turn: Turn, options: ShapeOptions): EarlierCalls {
  const calls = turn.blocks.flatMap((block) => options.codec.pairs.callOf(block) ?? []);
  const callsByKey = Map.groupBy(calls, ({ key }) => key);
  const { open, aborted } = shapeFrom(turn, 0, { ...options, heldFrom: 0, check: undefined }).pairing;
  const staying = open.filter(({ mayStayOpen }) => mayStayOpen);
  const optional = calls.filter(({ mayStayOpen }) => mayStayOpen);
  return {
    open: staying.filter(({ key }) => callsByKey.get(key)?.length === 1),
    aborted: [...aborted, ...open.filter(({ mayStayOpen }) => !mayStayOpen)],
    usedKeys: [...optional.map(({ key }) => key), ...staying.map(({ sentKey }) => sentKey)],
  };
}

/** If the beginning of an answer is missing, its codec's rules decide instead. */
function isUnbound({ members: [first, ...others] }: Group, place: BoundPlace, { check }: ShapeOptions): boolean {
  const group = first?.block.wire?.group;
  if (first === undefined || group?.index !== 0) return false;
  const compacts = [first, ...others].some(({ block }) => block.wire?.compacts === true);
  return check?.mayStand(group.id, compacts ? null : place) === false;
}

/** The place of the next group. */
const placeBehind = (place: BoundPlace, { members }: Group, paired: readonly Repair[]): BoundPlace =>
  members
    .flatMap(({ block, index, omitted, hasId }) => [
      ...paired.flatMap((each) =>
        each.rule === "answer" && repairIndexOf(each) === index ? insertedItem("answer", index) : [],
      ),
      ...(omitted === null ? [boundItemOf(block, index, !hasId)] : []),
    ])
    .reduce(behind, place);

type Restating = {
  /** The last sent block before the group. */
  readonly last: Block | null;
  /** The answers to calls among the group's blocks. */
  readonly paired: readonly Repair[];
  readonly repairs: Repair[];
  readonly options: GroupOptions;
};

/** Records which blocks are sent in another form; returns the last one that is sent. */
function restateGroup({ members }: Group, { last, paired, repairs, options: { codec } }: Restating): Block | null {
  let before = last;
  for (const { block: whole, index, omitted, unsent } of members) {
    if (omitted !== null) continue;
    const block = unsent.length === 0 ? whole : (withoutParts(whole, omitParts(index, whole, unsent)) ?? whole);
    const answer = paired.find((repair) => repair.rule === "answer" && repairIndexOf(repair) === index);
    if (answer !== undefined) before = abortedResult(callIdOf(answer));
    const reason = codec.restated?.(block, before) ?? null;
    if (reason !== null) repairs.push(restate(index, reason));
    before = block;
  }
  return before;
}

function repairsOf({ members, isRepeated, isRenamed }: Group, options: GroupOptions): readonly Repair[] {
  if (members.every((each) => isSentAsItIs(each, options))) return none;
  const rule = isRepeated ? "repeated-item" : isRenamed ? "renamed-call" : "broken-group";
  return members.flatMap(({ block, index, omitted, late, unsent, hasId }): Repair[] => {
    if (omitted !== null) return [omit(index, omitted)];
    const emptied = block.isErased ? [erased(index)] : [];
    const told = late === null ? emptied : [...emptied, lateResult(index, late)];
    const repairs = unsent.length === 0 ? told : [...told, omitParts(index, block, unsent)];
    return carriesId(block, options) && !hasId ? [...repairs, omitId(index, rule)] : repairs;
  });
}

/** Almost every block is, and a request may have thousands. */
const isSentAsItIs = ({ block, omitted, late, unsent, hasId }: Candidate, options: GroupOptions): boolean =>
  omitted === null && late === null && unsent.length === 0 && !block.isErased && hasId === carriesId(block, options);

const none: readonly Repair[] = [];
