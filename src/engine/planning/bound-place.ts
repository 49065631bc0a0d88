import { sha256Hex } from "../../base/sha256.ts";
import type { Block } from "../../domain/block.ts";
import { plainNames } from "../../domain/block-names.ts";
import { emptyContext, extendContext } from "../../domain/context.ts";
import type { BoundDigest, Decision, Repair } from "../../domain/events/inference-events.ts";
import type { BlockName } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { carriesId, withoutItemId } from "./groups.ts";
import { toldLate } from "./late-result.ts";
import { repairIndexOf } from "./repairs.ts";

/**
 * The prefix that the reasoning produced here depends on: everything before a block in what a server was sent. All blocks except
 * reasoning as one digest, and the reasoning separately, newest first, because the oldest may be left out later.
 */
export type BoundPlace = { readonly others: string; readonly reasoning: EarlierReasoning | null };
type EarlierReasoning = { readonly digest: string; readonly count: number; readonly before: EarlierReasoning | null };

export const firstPlace: BoundPlace = { others: emptyContext, reasoning: null };

/** A block of the input, by its place there, and whether the request sent it. */
export type HeldItem = {
  readonly index: number;
  readonly isReasoning: boolean;
  /** A compaction replaces everything before it: blocks made after it depend on nothing earlier. */
  readonly compacts?: boolean;
  /** The digest that counts; null if the block is not there. */
  readonly digest: BlockName | null;
  /** Why it was left out. */
  readonly omitted: string | null;
};

/** The place of the next block. */
export function behind({ others, reasoning }: BoundPlace, { digest, isReasoning, compacts }: HeldItem): BoundPlace {
  if (digest === null) return { others, reasoning };
  if (compacts === true) return { others: extendContext(emptyContext, digest), reasoning: null };
  if (isReasoning) return { others, reasoning: { digest, count: (reasoning?.count ?? 0) + 1, before: reasoning } };
  return { others: extendContext(others, digest), reasoning };
}

/** Whether blocks made at one place may be sent at another: the blocks before it are the same, except for the oldest reasoning. */
export function isSamePlace(made: BoundPlace, now: BoundPlace): boolean {
  if (made.others !== now.others) return false;
  let [then, still] = [made.reasoning, now.reasoning];
  while (then !== still) {
    if (still === null) return true;
    if (then?.digest !== still.digest) return false;
    [then, still] = [then.before, still.before];
  }
  return true;
}

/** A place as a request records it. */
export const digestOfPlace = ({ others, reasoning }: BoundPlace): BoundDigest => ({
  others,
  reasoning: reasoning?.count ?? 0,
  newest: reasoning?.digest ?? null,
});

/** The place that a record describes, as far as the digest says. */
export const placeOfDigest = ({ others, reasoning, newest }: BoundDigest): BoundPlace => ({
  others,
  reasoning: newest === null ? null : { digest: newest, count: reasoning, before: null },
});

/**
 * `isSamePlace` for a recorded place. Compares only the newest reasoning: two prefixes that both end with it belong to one list,
 * and the shorter one lacks the oldest reasoning.
 */
export const isPlaceOf = (made: BoundDigest, { others, reasoning }: BoundPlace): boolean =>
  made.others === others &&
  (reasoning === null || (reasoning.digest === made.newest && reasoning.count <= made.reasoning));

/** A block as it counts in a request. `isBare`: it is sent without the id of its item. */
export function boundItemOf(block: Block, index: number, isBare = false): HeldItem {
  const isReasoning = block.kind === "reasoning";
  const compacts = block.wire?.compacts === true;
  // Encrypted content contains the id that it was issued under, even if it is sent without; an item that only the server knows does
  // not.
  const digest = isBare && block.kind === "other" && !compacts ? withoutItemId(block).recordedAs : block.recordedAs;
  return { index, isReasoning, compacts, digest, omitted: null };
}

/** The answer to an open call, or a user's message at the end of a request that cannot end as it does. */
export const insertedItem = (rule: "answer" | "prompt", index: number): HeldItem => ({
  ...{ index, isReasoning: false, digest: rule === "answer" ? anAnswer : aPrompt, omitted: null },
});

// Of no conversation, so they give nothing away.
const anAnswer = plainNames.nameOf(sha256Hex("turnlog/aborted"));
const aPrompt = plainNames.nameOf(sha256Hex("turnlog/prompt"));

type Sent = {
  readonly decision: Pick<Decision, "sendFrom" | "repairs" | "capabilities">;
  readonly scope: string;
};

/** The items of a Turn that are sent, after the repairs. */
export function sentItems(input: Turn, { decision, scope }: Sent): readonly HeldItem[] {
  const { sendFrom, repairs, capabilities } = decision;
  const byPlace = Map.groupBy(repairs, repairIndexOf);
  const items: HeldItem[] = [];
  for (const [offset, block] of [...input.after(sendFrom), null].entries()) {
    const index = sendFrom + offset;
    const here = byPlace.get(index) ?? [];
    for (const { rule } of here) if (rule === "answer" || rule === "prompt") items.push(insertedItem(rule, index));
    if (block === null) continue;
    const said = toldLate(block, here, input);
    const isBare = !carriesId(said, { scope, itemIds: capabilities["itemIds"] === true }) || here.some(takesId);
    const omitted = here.find(({ rule }) => rule === "omit");
    items.push(omitted === undefined ? boundItemOf(said, index, isBare) : leftOut(block, index, omitted));
  }
  return items;
}

const leftOut = ({ kind }: Block, index: number, { detail }: Repair): HeldItem => ({
  ...{ index, isReasoning: kind === "reasoning", digest: null },
  omitted: typeof detail["reason"] === "string" ? detail["reason"] : "omit",
});

/** A call that is sent under another id counts as the same call: the model reads the same. */
const takesId = ({ rule }: Repair): boolean => rule === "omit-id" || rule === "rename-call";
