import * as z from "zod";
import { unreachable } from "../base/result.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import { type Block, idOf } from "./block.ts";
import { type BlockJson, blockFromJson, blockJsonSchema } from "./block-json.ts";
import { type BlockId, type BlockName, blockIdSchema, blockNameSchema } from "./ids.ts";
import type { Turn } from "./turn.ts";

/** One version of a block that the log already holds. */
type BlockVersion = { readonly id: BlockId; readonly digest: BlockName };

/** The content of an edit: a block, or a reference to a version in the log, which keeps its author. */
export type BlockContent = { readonly block: BlockJson } | { readonly ref: BlockVersion };

/**
 * One change of a Turn. `after` names the block before the place; null is the beginning. Neighbouring new blocks are one
 * `insert`; a `replace` gives a block other content under its own id.
 */
export type Edit =
  | { readonly op: "insert"; readonly after: BlockId | null; readonly blocks: readonly BlockContent[] }
  | { readonly op: "replace"; readonly blockId: BlockId; readonly block: BlockContent }
  | { readonly op: "remove"; readonly blockIds: readonly BlockId[] }
  | { readonly op: "move"; readonly blockId: BlockId; readonly after: BlockId | null };

const contentSchema = z.union([
  z.strictObject({ block: blockJsonSchema }),
  z.strictObject({ ref: z.strictObject({ id: blockIdSchema, digest: blockNameSchema }) }),
]);
const placeSchema = blockIdSchema.nullable();

export const editSchema: z.ZodType<Edit> = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("insert"), after: placeSchema, blocks: z.array(contentSchema).min(1) }),
  z.strictObject({ op: z.literal("replace"), blockId: blockIdSchema, block: contentSchema }),
  z.strictObject({ op: z.literal("remove"), blockIds: z.array(blockIdSchema).min(1) }),
  z.strictObject({ op: z.literal("move"), blockId: blockIdSchema, after: placeSchema }),
]);

/** The blocks that edits contain, in order, without those that they only refer to. */
export const blocksOfEdits = (edits: readonly Edit[]): readonly BlockJson[] =>
  edits.flatMap(contentsOf).flatMap((content) => ("block" in content ? [content.block] : []));

function contentsOf(edit: Edit): readonly BlockContent[] {
  if (edit.op === "insert") return edit.blocks;
  return edit.op === "replace" ? [edit.block] : [];
}

/** The id of a content's block. */
export const contentId = (content: BlockContent): BlockId => ("ref" in content ? content.ref.id : content.block.id);

/** Returns the block of a version, or undefined if the log does not hold it. */
export type ResolveBlock = (version: BlockVersion) => Block | undefined;

/**
 * Applies edits to `turn`. First, removed and moved blocks are taken out, and replaced blocks change in place. Then inserts and
 * moves are placed in the order listed; each `after` must name a block that is in place by then.
 * The result shares everything before the first change, so edits at the end of a long Turn cost only what they add.
 *
 * @throws {TurnlogError} `edit-does-not-apply` if an edit names a block that is not there, or would use an id twice.
 * @throws {TurnlogError} `unknown-block-version` if `resolve` does not know a version that an edit refers to.
 */
export function applyEdits(turn: Turn, edits: readonly Edit[], resolve: ResolveBlock): Turn {
  const changes = gatherChanges(turn, edits, resolve);
  const { head, nodeById } = tailToChange(turn, changes);
  for (const edit of edits) {
    if (edit.op !== "insert" && edit.op !== "move") continue;
    let place = nodeById.get(edit.after);
    if (place === undefined) throw doesNotApply(edit, "the block before it is not in place");
    for (const block of placedBy(edit, changes, resolve)) {
      const id = idOf(block);
      const index = turn.indexOf(id);
      const isBefore = index >= 0 && index < changes.start;
      if (isBefore || nodeById.has(id)) throw doesNotApply(edit, `${id} is there already`);
      place.next = { block, next: place.next };
      place = place.next;
      nodeById.set(id, place);
    }
  }
  const blocks: Block[] = [];
  for (let node = head.next; node !== null; node = node.next) blocks.push(node.block);
  return turn.slice(changes.start).concat(blocks);
}

const doesNotApply = (edit: Edit, reason: string): TurnlogError =>
  new TurnlogError("edit-does-not-apply", `cannot ${describeEdit(edit)}: ${reason}`);

/** Describes an edit in one short phrase. It names blocks and shows no content. */
export function describeEdit(edit: Edit): string {
  switch (edit.op) {
    case "insert":
      return `insert ${edit.blocks.map(contentId).join(", ")} ${describePlace(edit.after)}`;
    case "replace":
      return `replace ${edit.blockId}`;
    case "remove":
      return `remove ${edit.blockIds.join(", ")}`;
    case "move":
      return `move ${edit.blockId} ${describePlace(edit.after)}`;
    default:
      return unreachable(edit);
  }
}

const describePlace = (after: BlockId | null): string => (after === null ? "to the beginning" : `after ${after}`);

/** What the edits do to existing blocks, and the place before which nothing changes. */
type Changes = {
  start: number;
  readonly removed: Set<BlockId>;
  readonly moved: Map<BlockId, Block>;
  readonly replaced: Map<BlockId, Block>;
};

function gatherChanges(turn: Turn, edits: readonly Edit[], resolve: ResolveBlock): Changes {
  const changes: Changes = { start: turn.length, removed: new Set(), moved: new Map(), replaced: new Map() };
  const { removed, moved, replaced } = changes;
  const touch = (edit: Edit, id: BlockId): Block => {
    const index = turn.indexOf(id);
    const block = index < 0 || removed.has(id) ? undefined : turn.at(index);
    if (block === undefined) throw doesNotApply(edit, `${id} is not there`);
    changes.start = Math.min(changes.start, index);
    return block;
  };
  const once = (edit: Edit, id: BlockId, others: readonly { has(id: BlockId): boolean }[]): void => {
    if (others.some((ids) => ids.has(id))) throw doesNotApply(edit, `another edit changes ${id} too`);
  };
  for (const edit of edits) {
    if (edit.op === "replace") {
      const { blockId, block } = edit;
      once(edit, blockId, [replaced]);
      touch(edit, blockId);
      if (contentId(block) !== blockId) throw doesNotApply(edit, `its content is ${contentId(block)}`);
      replaced.set(blockId, blockOf(block, resolve));
    } else if (edit.op === "remove") {
      for (const id of edit.blockIds) {
        once(edit, id, [moved, replaced]);
        touch(edit, id);
        removed.add(id);
      }
    } else {
      if (edit.op === "move") {
        moved.set(edit.blockId, touch(edit, edit.blockId));
      }
      // A block that these edits themselves place is no bound: its own edit is.
      const before = edit.after === null ? -1 : turn.indexOf(edit.after);
      if (before >= 0 || edit.after === null) changes.start = Math.min(changes.start, before + 1);
    }
  }
  return changes;
}

type Node = { readonly block: Block; next: Node | null };
type Head = { next: Node | null };

/** The blocks from `start` on that stay, as a linked list after the block before them. */
function tailToChange(turn: Turn, { start, removed, moved, replaced }: Changes) {
  const head: Head = { next: null };
  const before = start === 0 ? undefined : turn.at(start - 1);
  const nodeById = new Map<BlockId | null, Head>([[before === undefined ? null : idOf(before), head]]);
  let last = head;
  for (const block of turn.after(start)) {
    const id = idOf(block);
    if (removed.has(id) || moved.has(id)) continue;
    last.next = { block: replaced.get(id) ?? block, next: null };
    last = last.next;
    nodeById.set(id, last);
  }
  return { head, nodeById };
}

function placedBy(
  edit: Extract<Edit, { readonly op: "insert" | "move" }>,
  { moved, replaced }: Changes,
  resolve: ResolveBlock,
): readonly Block[] {
  if (edit.op === "insert") return edit.blocks.map((content) => blockOf(content, resolve));
  const block = replaced.get(edit.blockId) ?? moved.get(edit.blockId);
  return block === undefined ? [] : [block];
}

function blockOf(content: BlockContent, resolve: ResolveBlock): Block {
  if ("block" in content) return blockFromJson(content.block);
  const block = resolve(content.ref);
  if (block?.id !== content.ref.id) {
    const { id, digest } = content.ref;
    throw new TurnlogError("unknown-block-version", `the log holds no block ${id} with digest ${digest}`);
  }
  return block;
}
