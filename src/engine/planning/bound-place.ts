import { sha256Hex } from "../../base/sha256.ts";
import type { Block } from "../../domain/block.ts";
import { emptyContext, extendContext } from "../../domain/context.ts";
import type { BoundDigest, Decision, Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { carriesId, withoutItemId } from "./groups.ts";
import { toldLate } from "./late-result.ts";
import { repairIndexOf } from "./repairs.ts";

/**
 * What stands before a block in what a server is sent: what reasoning is bound to that was made there. All but reasoning, as one
 * digest, and the reasoning, newest first, because the oldest may be left out later.
 */
export type BoundPlace = { readonly others: string; readonly reasoning: EarlierReasoning | null };
type EarlierReasoning = { readonly digest: string; readonly count: number; readonly before: EarlierReasoning | null };

export const firstPlace: BoundPlace = { others: emptyContext, reasoning: null };

/** A block of the input, by its place there, and what came of it in the request. */
export type HeldItem = {
  readonly index: number;
  readonly isReasoning: boolean;
  /** It stands for what came before it: what is made behind it is bound to nothing earlier. */
  readonly compacts?: boolean;
  /** What it counts as; null for what is not there. */
  readonly digest: string | null;
  /** Why it was left out. */
  readonly omitted: string | null;
};

/** What stands before the block that comes next. */
export function behind({ others, reasoning }: BoundPlace, { digest, isReasoning, compacts }: HeldItem): BoundPlace {
  if (digest === null) return { others, reasoning };
  if (compacts === true) return { others: extendContext(emptyContext, digest), reasoning: null };
  if (isReasoning) return { others, reasoning: { digest, count: (reasoning?.count ?? 0) + 1, before: reasoning } };
  return { others: extendContext(others, digest), reasoning };
}

/** Whether what was made at one place may stand at another: there is the same before it, but for the oldest reasoning. */
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

/** A recorded place, as far as it tells what stands behind it. */
export const placeOfDigest = ({ others, reasoning, newest }: BoundDigest): BoundPlace => ({
  others,
  reasoning: newest === null ? null : { digest: newest, count: reasoning, before: null },
});

/**
 * The same as `isSamePlace`, by what is recorded of where it was made. It holds where it holds of all reasoning before: two beginnings
 * that both end with the newest one then are of one list, the shorter of which lacks the oldest.
 */
export const isPlaceOf = (made: BoundDigest, { others, reasoning }: BoundPlace): boolean =>
  made.others === others &&
  (reasoning === null || (reasoning.digest === made.newest && reasoning.count <= made.reasoning));

/** A block as it counts where it is sent. `isBare`: it goes without the id of its item. */
export function boundItemOf(block: Block, index: number, isBare = false): HeldItem {
  const isReasoning = block.kind === "reasoning";
  const compacts = block.wire?.compacts === true;
  // What is encrypted says under which id it was given out, also where it goes without; an item that only the server knows does not.
  const digest = isBare && block.kind === "other" && !compacts ? withoutItemId(block).digest : block.digest;
  return { index, isReasoning, compacts, digest, omitted: null };
}

/** What answers an open call, or is said by the user where a request cannot end as it does. */
export const insertedItem = (rule: "answer" | "prompt", index: number): HeldItem => ({
  ...{ index, isReasoning: false, digest: rule === "answer" ? anAnswer : aPrompt, omitted: null },
});

const anAnswer = sha256Hex("turnlog/aborted");
const aPrompt = sha256Hex("turnlog/prompt");

type Sent = {
  readonly decision: Pick<Decision, "sendFrom" | "repairs" | "capabilities">;
  readonly scope: string;
};

/** What is sent of a Turn, as the repairs leave it. */
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

/** A call goes out under another id as the same call: what a model reads of it does not change. */
const takesId = ({ rule }: Repair): boolean => rule === "omit-id" || rule === "rename-call";
