import type { Block } from "../../domain/block.ts";
import { openAfter } from "../../domain/calls.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import type { Call, CallPairs, Codec } from "../ports/codec.ts";
import type { Candidate } from "./groups.ts";
import { isTellable } from "./late-result.ts";
import { answerCall, renameCall } from "./repairs.ts";

/** A call that needs a result. */
export type OpenCall = Call & {
  readonly index: number;
  /** The call id that the server knows. */
  readonly sentKey: string;
};

/** The state of pairing between two groups of a request. */
export type Pairing = {
  readonly open: readonly OpenCall[];
  /** Calls that the request answers as aborted and the Turn does not answer: a result that comes now is late. */
  readonly aborted: readonly OpenCall[];
  /** Call ids that this input may not use again: its own, and those of calls that stay open before it. */
  readonly usedKeys: Set<string>;
  readonly stretch: OpenExchange | null;
};

/** Neighbouring blocks whose calls may be open together. */
type OpenExchange = {
  readonly group: string | null;
  /** The places of its blocks in their response, in their order here. */
  readonly places: readonly number[];
  readonly isModelSide: boolean;
  readonly start: number;
};

/** The outcome of pairing the blocks of one group. */
export type Paired = {
  readonly next: Pairing;
  readonly repairs: readonly Repair[];
  /** Call ids that the group uses. */
  readonly newKeys: readonly string[];
  /** Results without an open call, which are left out. */
  readonly unpaired: readonly Candidate[];
  /** Results of calls that were answered as aborted, which are sent as messages. */
  readonly late: readonly { readonly candidate: Candidate; readonly call: OpenCall }[];
  readonly hasRenamedCall: boolean;
};

/**
 * Planning and shaping, 3: every call is answered once, before the next block outside its group, and every result answers the
 * nearest earlier open call with its id. This changes nothing: the caller commits the outcome, or tries again without the blocks
 * that could not be paired.
 */
export function pairGroup(kept: readonly Candidate[], pairing: Pairing, codec: Codec): Paired {
  const { pairs } = codec;
  const repairs: Repair[] = [];
  const unpaired: Candidate[] = [];
  const late: Paired["late"][number][] = [];
  let newKeys: Set<string> | null = null;
  let { open, aborted, stretch } = pairing;
  let hasRenamedCall = false;
  for (const candidate of kept) {
    const { block, index } = candidate;
    if (pairs.isResult(block)) {
      const call = callAnswered(block, open, pairs);
      const abandoned = call === undefined && isTellable(block) ? callAnswered(block, aborted, pairs) : undefined;
      if (call !== undefined) repairs.push(...renamedResult(candidate, call, codec));
      else if (abandoned === undefined) unpaired.push(candidate);
      else late.push({ candidate, call: abandoned });
      open = open.filter((each) => each !== call);
      aborted = aborted.filter((each) => each !== abandoned);
      if (stretch?.group === null || codec.resultsStandTogether === true) stretch = null;
      continue;
    }
    stretch = extended(stretch, candidate, codec);
    const due = dueBefore(open, stretch.start);
    if (due.length > 0) {
      repairs.push(...due.map((call) => answer(call, index)));
      open = open.filter((call) => !due.includes(call));
      aborted = [...aborted, ...due];
    }
    if (candidate.late !== null) aborted = aborted.filter(({ index: at }) => at !== candidate.late);
    const call = pairs.callOf(block);
    if (call === null) continue;
    const sentKey = unusedKey(call.key, codec, [pairing.usedKeys, newKeys ?? noKeys]);
    newKeys ??= new Set();
    newKeys.add(sentKey);
    open = [...open, { ...call, index, sentKey }];
    if (sentKey === call.key) continue;
    hasRenamedCall = true;
    repairs.push(renameCall(index, sentKey, renamingReason(call, codec)));
  }
  const next = { open, aborted, usedKeys: pairing.usedKeys, stretch };
  return { next, repairs, newKeys: newKeys === null ? [] : [...newKeys], unpaired, late, hasRenamedCall };
}

const noKeys: ReadonlySet<string> = new Set();

/** The answers to calls that are open at the end of the Turn. */
export const closingAnswers = ({ open }: Pairing, before: number): readonly Repair[] =>
  dueBefore(open, Number.POSITIVE_INFINITY).map((call) => answer(call, before));

/** The calls that are open after a server's output, which the server holds as it made it. */
export const openIn = (output: readonly Block[], start: number, { pairs, before }: Before): readonly OpenCall[] =>
  openAfter<OpenCall>(
    output,
    {
      callOf: (block, offset) => {
        const call = pairs.callOf(block);
        return call && { ...call, index: start + offset, sentKey: call.key };
      },
      answered: (block, open) => (pairs.isResult(block) ? callAnswered(block, open, pairs) : undefined),
    },
    before,
  );

type Before = { readonly pairs: CallPairs; readonly before?: readonly OpenCall[] };

/** The call that a result answers; a result without a call's id answers the only open call. */
export function callAnswered(result: Block, open: readonly OpenCall[], pairs: CallPairs): OpenCall | undefined {
  if (pairs.keyOf(result) === null && open.length !== 1) return undefined;
  return open.findLast((call) => pairs.answers(result, call));
}

/**
 * The calls to be answered before a stretch. An answer goes to the nearest open call with its id, so if a server gave one id twice,
 * the nearer call is answered too, even if it may stay open.
 */
function dueBefore(open: readonly OpenCall[], start: number): readonly OpenCall[] {
  if (open.length === 0) return open;
  const due = open.filter((call) => !call.mayStayOpen && call.index < start);
  if (due.length === 0 || due.length === open.length) return due;
  const first = new Map(due.map((call) => [call.sentKey, open.indexOf(call)] as const).reverse());
  return open.filter((call, place) => place >= (first.get(call.sentKey) ?? Number.POSITIVE_INFINITY));
}

const answer = ({ index, sentKey }: OpenCall, before: number): Repair => answerCall(index, { before, callId: sentKey });

function renamedResult({ block, index }: Candidate, call: OpenCall, codec: Codec): readonly Repair[] {
  const isNamed = codec.pairs.keyOf(block) !== null;
  return isNamed && call.sentKey !== call.key ? [renameCall(index, call.sentKey, renamingReason(call, codec))] : [];
}

const sayable = (key: string, codec: Codec): string => codec.callIdFor?.(key) ?? key;

const renamingReason = ({ key }: Call, codec: Codec) => (sayable(key, codec) === key ? null : "id-not-taken");

function extended(stretch: OpenExchange | null, { block, group, index }: Candidate, codec: Codec): OpenExchange {
  const isModelSide = block.kind !== "user" && block.kind !== "system" && codec.standsLast?.(block) !== true;
  const place = block.wire?.group?.index ?? null;
  const isNeighbour =
    stretch !== null &&
    stretch.group === group &&
    // Blocks without a response belong together only if all are the model's.
    (group === null || place === null ? stretch.isModelSide && isModelSide : continues(stretch, place));
  const before = isNeighbour ? stretch.places : nowhere;
  const places = place === null ? before : [...before, place];
  return { group, isModelSide, places, start: isNeighbour ? stretch.start : index };
}

const nowhere: readonly number[] = [];

/** A copy of an item starts a new exchange: the request must not depend on whether a server holds the first one. */
const continues = ({ places }: OpenExchange, place: number): boolean =>
  places.at(-1) === place - 1 || !places.includes(place);

/** An id for a call that the server accepts: made from its own, with the next free number if another call has it. */
function unusedKey(key: string, codec: Codec, used: readonly ReadonlySet<string>[]): string {
  const size = used.reduce((sum, keys) => sum + keys.size, 0);
  // One of this many different ids is free.
  for (let n = 1; n <= size + 1; n += 1) {
    const candidate = sayable(n === 1 ? key : `${key}_${n}`, codec);
    if (!used.some((keys) => keys.has(candidate))) return candidate;
  }
  throw new Error(
    `the codec ${codec.name} gives the same call id to different calls: callIdFor must return different ids`,
  );
}
