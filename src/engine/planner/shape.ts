import { isJsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ItemCodec } from "../provider.ts";
import { pairCalls } from "./pair-calls.ts";

/** What shaping has to know besides the blocks: where they go, and what is there already. */
export type ShapeOptions = {
  readonly scope: string;
  readonly codec: ItemCodec;
  /** Whether ids of stored items are sent at all: a dialect switch. */
  readonly itemIds: boolean;
  /** Ids of reasoning blocks that the provider refused. */
  readonly quarantined: ReadonlySet<string>;
  /** Where the anchor's output begins, whose calls are open; 0 for a full request. */
  readonly heldFrom: number;
};

/** A block to send, with what is known of its group: the items of one response, which are replayed together. */
export type Candidate = {
  readonly block: Block;
  /** Its index in the Turn. */
  readonly index: number;
  readonly group: string | null;
  /** All items of its group are there, in order, as they were received. */
  readonly isIntact: boolean;
  omitted: string | null;
  hasId: boolean;
};

/**
 * What has to change so that the blocks of a Turn from `from` on are a legal continuation (MODEL 5). Pure and
 * deterministic; blocks that the anchor holds are not touched, and the Turn itself stays as it is.
 */
export function shape(turn: Turn, from: number, options: ShapeOptions): readonly Repair[] {
  const blocks = turn.after(from);
  const usedIds = heldItemIds(turn, from, blocks);
  const candidates = groupsOf(blocks, from).flatMap((group) => {
    shapeGroup(group, usedIds, options);
    return group;
  });
  for (const candidate of candidates) {
    const isEarlyTrigger = candidate.block.itemType === "compaction_trigger" && candidate.index !== turn.length - 1;
    if (isEarlyTrigger) candidate.omitted ??= "not-last";
  }
  const heldOutput = turn.after(options.heldFrom).slice(0, from - options.heldFrom);
  const kept = candidates.filter((candidate) => candidate.omitted === null);
  return [
    ...candidates.flatMap((candidate) => repairsOf(candidate, options)),
    ...pairCalls(kept, { heldOutput, heldFrom: options.heldFrom, turn }),
  ];
}

/** Whether a block goes out with the id of its item unless a repair takes it away. */
export function carriesId(block: Block, { scope, itemIds }: Pick<ShapeOptions, "scope" | "itemIds">): boolean {
  const { wire } = block;
  // Of an answer that did not complete nobody knows which items the server kept.
  if (wire?.itemId === undefined || wire.partial === true) return false;
  return itemIds && wire.scope === scope && wire.group?.stored === true;
}

/** Cuts the blocks into stretches that follow each other in one response as they do here. */
function groupsOf(blocks: readonly Block[], from: number): readonly (readonly Candidate[])[] {
  const groups: Candidate[][] = [];
  for (let start = 0; start < blocks.length; ) {
    let end = start + 1;
    while (end < blocks.length && follows(blocks[end - 1], blocks[end])) end += 1;
    const group = blocks[start]?.wire?.group;
    const isIntact = group !== undefined && group.index === 0 && end - start === group.size;
    groups.push(
      blocks.slice(start, end).map((block, offset) => ({
        block,
        index: from + start + offset,
        group: group?.id ?? null,
        isIntact,
        omitted: null,
        hasId: false,
      })),
    );
    start = end;
  }
  return groups;
}

function follows(before: Block | undefined, after: Block | undefined): boolean {
  const [left, right] = [before?.wire?.group, after?.wire?.group];
  return left !== undefined && right !== undefined && left.id === right.id && right.index === left.index + 1;
}

/**
 * Rules 1 and 2: what is foreign goes, a broken group goes without reasoning and ids. Leaving out one item may cost
 * another its id or its follower, so it is looked at until nothing changes; each round leaves out at least one more.
 */
function shapeGroup(group: readonly Candidate[], usedIds: Set<string>, options: ShapeOptions): void {
  const isRepeated = group.some(({ block }) => usedIds.has(block.wire?.itemId ?? ""));
  const hasIncompleteCall = group.some(({ block }) => isIncompleteCall(block));
  for (let isSettled = false; !isSettled; ) {
    isSettled = true;
    // A server wants an item that it knows by id with its reasoning, or without the id.
    const isWhole = group.every(({ block, omitted }) => block.kind !== "reasoning" || omitted === null);
    let isFollowed = false;
    for (const candidate of [...group].reverse()) {
      const { block } = candidate;
      candidate.hasId = candidate.isIntact && isWhole && !isRepeated && carriesId(block, options);
      if (candidate.omitted === null) {
        candidate.omitted =
          block.kind === "reasoning"
            ? unsendableReasoning(candidate, options, { hasIncompleteCall, isFollowed })
            : unsendableItem(candidate, options);
        isSettled &&= candidate.omitted === null;
      }
      if (block.kind !== "reasoning") isFollowed = candidate.omitted === null;
    }
  }
  for (const { block, hasId, omitted } of group) {
    if (hasId && omitted === null && block.wire?.itemId !== undefined) usedIds.add(block.wire.itemId);
  }
}

type Around = { readonly hasIncompleteCall: boolean; readonly isFollowed: boolean };

function unsendableReasoning(candidate: Candidate, options: ShapeOptions, around: Around): string | null {
  const { block, isIntact, hasId } = candidate;
  if (block.wire === null) return "edited-reasoning";
  if (block.wire.scope !== options.scope) return "foreign";
  if (block.id !== null && options.quarantined.has(block.id)) return "quarantined";
  if (!isIntact || around.hasIncompleteCall) return "broken-group";
  if (!around.isFollowed) return "no-follower";
  return hasId || hasCiphertext(block) ? null : "unreadable";
}

function unsendableItem({ block, hasId }: Candidate, options: ShapeOptions): string | null {
  if (isIncompleteCall(block)) return "incomplete-call";
  // Only their own endpoint understands what is kept verbatim.
  if (block.kind === "other" && block.wire !== null && block.wire.scope !== options.scope) return "foreign";
  return options.codec.refusal(block, { withId: hasId }) === null ? null : "unsendable";
}

/** The ids of items that the anchor holds; looked up only where a block to send has one. */
function heldItemIds(turn: Turn, from: number, blocks: readonly Block[]): Set<string> {
  if (from === 0 || !blocks.some(({ wire }) => wire?.itemId !== undefined)) return new Set();
  return new Set(turn.blocks.slice(0, from).flatMap(({ wire }) => wire?.itemId ?? []));
}

function repairsOf({ index, omitted, hasId, block }: Candidate, options: ShapeOptions): readonly Repair[] {
  if (omitted !== null) return [{ action: "omit", index, rule: omitted }];
  return carriesId(block, options) && !hasId ? [{ action: "omit-id", index, rule: "broken-group" }] : [];
}

const isIncompleteCall = (block: Block): boolean =>
  block.kind === "tool_call" && residueMember(block, "status") === "incomplete";

const hasCiphertext = (block: Block): boolean => typeof residueMember(block, "encrypted_content") === "string";

function residueMember(block: Block, name: string): unknown {
  const residue = block.wire?.residue;
  return isJsonObject(residue) && isJsonObject(residue["set"]) ? residue["set"][name] : undefined;
}
