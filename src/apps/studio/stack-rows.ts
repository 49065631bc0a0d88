import { type BlockLabels, labelIn } from "../../analysis/descriptions/labels.ts";
import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { excerpt, printable } from "../../base/printable.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { turnDifference } from "../../domain/turn-difference.ts";
import type { RequestSign, StackEdit, StackFold, StackRow } from "./stack-documents.ts";
import { instructionBlocks, type Step } from "./step.ts";
import { textDifference } from "./text-difference.ts";

/** What the page shows of a text that did not change. */
export const beginningOf = (block: Block): string => excerpt(shownText(block), 240);

/** How many layers that changed one block are shown with the texts' differences. */
const mostDifferences = 2;

/** A block on its way: not yet with texts, which only shown rows need. */
export type DraftRow = {
  readonly id: string;
  readonly client: Block | null;
  readonly outgoing: Block | null;
  readonly index: number;
  readonly sign: RequestSign | null;
  readonly edits: readonly DraftEdit[];
};

type DraftEdit = Pick<StackEdit, "layer" | "change"> & { readonly before: Block | null; readonly after: Block | null };

/** A run of unchanged blocks that the server holds. */
export type DraftFold = Omit<StackFold, "kind">;

/** How many unchanged blocks side by side become one row. */
const leastFolded = 3;

/**
 * All rows of a step, in the order of the request; what layers removed is where it was. Runs of untouched blocks fold, but for those that the
 * reader opened, by the index of their first block. What the client's Turn and the request have in common by descent is not looked at
 * one by one: that is most of a long conversation.
 */
export function stackRows(step: Step, opened: ReadonlySet<number>): readonly (DraftRow | DraftFold)[] {
  const { client, outgoing } = step;
  const edits = editsOf(step);
  const shared = client.commonPrefixLength(outgoing);
  const clientById = new Map(client.after(shared).map((block) => [block.id, block]));
  const removed = removedBehind(step, { shared, edits });
  const signOf = signsOf(step);
  const rowOf = (block: Block, index: number): DraftRow => ({
    ...{ id: idOf(block), outgoing: block, index, sign: signOf(block, index) },
    client: index < shared ? block : (clientById.get(block.id) ?? null),
    edits: edits.get(idOf(block)) ?? [],
  });
  const rows: (DraftRow | DraftFold)[] = [...(removed.get(null) ?? [])];
  let run: DraftFold | null = null;
  const close = (): void => {
    if (run === null) return;
    const { from, to } = run;
    if (to - from + 1 >= leastFolded && !opened.has(from)) rows.push(run);
    else
      for (let index = from; index <= to; index += 1)
        rows.push(...[outgoing.at(index) ?? []].flat().map((each) => rowOf(each, index)));
    run = null;
  };
  const addQuiet = (from: number, to: number, sign: RequestSign): void => {
    if (run?.sign !== sign) close();
    run = { from: run?.from ?? from, to, sign };
  };
  // The last block of what is in common may have removed ones behind it.
  const [quiet, first] = [quietBeginning(step, shared - 1), instructionBlocks(step)];
  if (Math.min(quiet, first) > 0) addQuiet(0, Math.min(quiet, first) - 1, "instructions");
  if (quiet > first) addQuiet(first, quiet - 1, "held");
  for (const [place, block] of outgoing.after(quiet).entries()) {
    const row = rowOf(block, quiet + place);
    const { index, sign } = row;
    if (row.edits.length === 0 && row.client !== null && (sign === "held" || sign === "instructions"))
      addQuiet(index, index, sign);
    else {
      close();
      rows.push(row);
    }
    const gone = removed.get(row.id);
    if (gone === undefined) continue;
    close();
    rows.push(...gone);
  }
  close();
  return rows;
}

type Edits = ReadonlyMap<string, readonly DraftEdit[]>;

/**
 * How many blocks at the beginning of a request are certainly the client's own, untouched, and held by the server or sent as instructions; at
 * most so many. Behind the first change of any layer, each block is looked at.
 */
function quietBeginning(step: Step, most: number): number {
  const { anchor, sendFrom } = step.data.decision;
  const untouched = step.passes.map(({ given, handedOn }) => given.commonPrefixLength(handedOn));
  return Math.max(0, Math.min(most, instructionBlocks(step) + (anchor === null ? 0 : sendFrom), ...untouched));
}

/** Blocks that are not in the request, by the block that they followed in the client's Turn; null for its beginning. */
function removedBehind(
  { client, outgoing }: Step,
  { shared, edits }: { readonly shared: number; readonly edits: Edits },
): ReadonlyMap<string | null, readonly DraftRow[]> {
  const behind = new Map<string | null, DraftRow[]>();
  const isSent = new Set(outgoing.after(shared).map(({ id }) => id));
  const before = shared === 0 ? undefined : client.at(shared - 1);
  let last = before === undefined ? null : idOf(before);
  for (const [place, block] of client.after(shared).entries()) {
    if (isSent.has(block.id)) {
      last = idOf(block);
      continue;
    }
    const row = { id: idOf(block), client: block, outgoing: null, index: shared + place, sign: null };
    const group = behind.get(last) ?? [];
    group.push({ ...row, edits: edits.get(idOf(block)) ?? [] });
    behind.set(last, group);
  }
  return behind;
}

/** What each layer did, by block. */
function editsOf({ passes }: Step): Edits {
  const edits = new Map<string, DraftEdit[]>();
  const note = (id: string, edit: DraftEdit): void => {
    const known = edits.get(id) ?? [];
    known.push(edit);
    edits.set(id, known);
  };
  for (const [place, { given, handedOn }] of passes.entries()) {
    if (given === handedOn) continue;
    const layer = place + 1;
    const { added, removed, modified, moved } = turnDifference(given, handedOn);
    for (const block of added) note(idOf(block), { layer, change: "added", before: null, after: block });
    for (const block of removed) note(idOf(block), { layer, change: "removed", before: block, after: null });
    for (const { before, after } of modified) note(idOf(after), { layer, change: "modified", before, after });
    for (const block of moved) note(idOf(block), { layer, change: "moved", before: block, after: block });
  }
  return edits;
}

/** What becomes of each block of the request. */
function signsOf(step: Step): (block: Block, index: number) => RequestSign {
  const { outgoing, data, newest } = step;
  const { anchor, sendFrom } = data.decision;
  const first = instructionBlocks(step);
  const shared = newest === null ? 0 : newest.turn.commonPrefixLength(outgoing);
  const held = new Map(newest?.turn.after(shared).map((block) => [block.id, block.recordedAs]));
  return (block, index) => {
    if (index < first) return "instructions";
    if (anchor !== null && index - first < sendFrom) return "held";
    const before = index < shared ? block.recordedAs : held.get(block.id);
    if (before === undefined) return "new";
    return before === block.recordedAs ? "again" : "changed";
  };
}

/** A row with its texts. */
export function rowDocument(
  row: DraftRow | DraftFold,
  {
    labels,
    revisionOf,
  }: { readonly labels: BlockLabels; readonly revisionOf: (layer: number, id: string) => number | null },
): StackRow | StackFold {
  if (!("id" in row)) return { kind: "fold", from: row.from, to: row.to, sign: row.sign };
  const { id, client, outgoing, index, sign } = row;
  const block = outgoing ?? client;
  return {
    ...{ kind: "block", id, index },
    label: block === null ? "block" : labelIn(labels.labels, block),
    client: client === null ? null : beginningOf(client),
    edits: row.edits.map(({ layer, change, before, after }, place) => ({
      ...{ layer, change, revision: revisionOf(layer, id) },
      // The story of the block has the texts of all changes.
      difference: change === "moved" || place >= mostDifferences ? null : textDifference(textOf(before), textOf(after)),
    })),
    request: outgoing === null || sign === null ? null : { sign, text: beginningOf(outgoing) },
    characters: block === null ? 0 : shownText(block).length,
  };
}

const textOf = (block: Block | null): string => (block === null ? "" : printable(shownText(block)));
