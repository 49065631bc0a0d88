import type { Block } from "../../domain/block.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Codec } from "../ports/codec.ts";
import { type Carrier, omitParts, type UnsendablePart, unsendableParts, withoutParts } from "./parts.ts";

/** The destination that omissions and ids depend on, besides the blocks. */
export type GroupOptions = {
  readonly scope: string;
  readonly codec: Codec;
  /** The endpoint's capabilities for parts of messages. */
  readonly capabilities?: Capabilities;
  /** Whether ids of stored items are sent at all: a switch of the dialect. */
  readonly itemIds: boolean;
  /** Ids of blocks whose ciphertext the provider refused. */
  readonly quarantined: ReadonlySet<string>;
  /** Why a block is left out although it came from this endpoint, which has not refused it. */
  readonly unwanted?: (block: Block, index: number) => string | null;
  /** Whether a block is known to replace, at the endpoint, everything that is before it now. */
  readonly covers?: (block: Block, index: number) => boolean;
};

/** A block to send, with the state of its group: the items of one response, which are sent together. */
export type Candidate = {
  /** The block as it is sent: a late result is a message. */
  block: Block;
  /** Its index in the Turn. */
  readonly index: number;
  readonly group: string | null;
  /** Why it is left out; null if it is sent. */
  omitted: string | null;
  /** The place of the call that it answers too late to be sent as its result. */
  late: number | null;
  /** Its parts that are left out. */
  unsent: readonly UnsendablePart[];
  /** Whether it is sent with the id of its item. */
  hasId: boolean;
};

/** Neighbouring blocks that follow each other in one response as they do here. A block without a response is a group of its own. */
export type Group = {
  readonly members: readonly Candidate[];
  /** All items of the response are here, and nothing is sent between them. */
  isIntact: boolean;
  /** An item of the group, or an equal one, was sent before: this later copy is sent without ids. */
  isRepeated: boolean;
  /** One of its calls is sent under another call id, so it is no longer the item that the provider issued. */
  isRenamed: boolean;
  /** The prefix of its reasoning has changed, and the endpoint rejects that. */
  isUnbound: boolean;
  /** The server paused it, and something other than its continuation follows. */
  isLeftPaused: boolean;
};

/**
 * Splits blocks into groups; the first block is at `start` in the Turn. A generator, because a long Turn has thousands of groups, and
 * shaping looks at two at a time.
 */
export function* groupsOf(blocks: readonly Block[], start: number, to: Carrier): Generator<Group, undefined> {
  for (let from = 0; from < blocks.length; ) {
    let end = from + 1;
    while (end < blocks.length && follows(blocks[end - 1], blocks[end])) end += 1;
    const first = blocks[from]?.wire?.group;
    const members: Candidate[] = [];
    for (let place = from; place < end; place += 1) {
      const block = blocks[place];
      if (block === undefined) continue;
      members.push({
        block,
        index: start + place,
        group: first?.id ?? null,
        omitted: null,
        late: null,
        unsent: unsendableParts(blocks, place, to),
        hasId: false,
      });
    }
    const isIntact = first?.index === 0 && first.size === members.length;
    yield { members, isIntact, isRepeated: false, isRenamed: false, isUnbound: false, isLeftPaused: false };
    from = end;
  }
}

/** Whether a block is sent with the id of its item, unless a repair removes it. */
export function carriesId(block: Block, { scope, itemIds }: Pick<GroupOptions, "scope" | "itemIds">): boolean {
  const { wire } = block;
  // It is unknown which items of an incomplete answer the server kept, and what was erased is not asked for again.
  if (wire?.itemId === undefined || wire.partial === true || block.isErased) return false;
  return itemIds && wire.scope === scope && wire.group?.stored === true;
}

/** The same block as it counts without its item's id. */
export function withoutItemId(block: Block): Block {
  if (block.wire?.itemId === undefined) return block;
  const { itemId: _, ...wire } = block.wire;
  return block.withWire(wire);
}

/**
 * Planning and shaping, 1 and 2: foreign content is left out; a group that is not whole is sent without ids, and without the blocks
 * that its codec's rules exclude. Leaving one item out breaks the group for the others, so this repeats until nothing changes.
 */
export function legaliseGroup(group: Group, options: GroupOptions): void {
  const { members } = group;
  for (let isSettled = false; !isSettled; ) {
    const isBroken =
      !group.isIntact ||
      members.some(({ block, omitted, unsent }) => omitted !== null || unsent.length > 0 || block.isErased);
    const mayHaveIds = !isBroken && !group.isRepeated && !group.isRenamed;
    isSettled = true;
    for (const [place, candidate] of members.entries()) {
      candidate.hasId = mayHaveIds && carriesId(candidate.block, options);
      if (candidate.omitted !== null) continue;
      candidate.omitted =
        unsendable(candidate, options) ??
        (group.isUnbound && candidate.block.kind === "reasoning" ? "broken-prefix" : null) ??
        options.codec.brokenGroupRule?.(candidate.block, {
          ...{ withId: candidate.hasId, isBroken, isLeftPaused: group.isLeftPaused, next: members[place + 1]?.block },
        }) ??
        null;
      isSettled &&= candidate.omitted === null;
    }
  }
}

/** Why a block cannot be part of a request at all. */
export function unsendable(
  { block, index, unsent, hasId }: Pick<Candidate, "block" | "index" | "unsent" | "hasId">,
  options: GroupOptions,
): string | null {
  const { kind, wire, id } = block;
  if (block.isErased && !hasStandIn(block)) return "erased";
  if (wire?.partial === true && kind !== "assistant") return "partial";
  if (wire?.incomplete === true && kind === "tool_call") return "incomplete-call";
  // Only the endpoint that issued verbatim content understands it.
  const isOwn = kind === "reasoning" || kind === "other";
  if (isOwn && wire !== null && wire.scope !== options.scope) return "foreign";
  if (isOwn && id !== null && options.quarantined.has(id)) return "quarantined";
  const unwanted = options.unwanted?.(block, index) ?? null;
  if (unwanted !== null) return unwanted;
  const left = unsent.length === 0 ? block : withoutParts(block, omitParts(index, block, unsent));
  const isSent = left !== null && options.codec.unsendableReason(left, { withId: hasId }) === null;
  return isSent ? null : "unsendable";
}

/** Whether an erased block can be sent at all: a stand-in of reasoning, or of an item that only its server understands, would be neither. */
const hasStandIn = ({ kind, type }: Block): boolean => {
  if (kind === "tool_call" || kind === "tool_result") return type === "function" || type === "custom";
  return kind !== "reasoning" && kind !== "other";
};

function follows(before: Block | undefined, after: Block | undefined): boolean {
  const [left, right] = [before?.wire?.group, after?.wire?.group];
  return left !== undefined && right !== undefined && left.id === right.id && right.index === left.index + 1;
}
