import { excerpt, printable } from "../base/printable.ts";
import { type Block, idOf } from "../domain/block.ts";
import type { Turn } from "../domain/turn.ts";
import { turnDifference } from "../domain/turn-difference.ts";
import { type BlockLabels, labelIn } from "../wording/labels.ts";
import { shownText } from "../wording/shown-text.ts";
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
export type DraftFold = Omit<StackFold, "kind"> & { readonly rows: readonly DraftRow[] };

/** How many unchanged blocks side by side become one row. */
const leastFolded = 3;

/** All rows of a step, in the order of the request; what layers removed is where it was. */
export function draftRows(step: Step): readonly DraftRow[] {
  const edits = editsOf(step);
  const { client, outgoing } = step;
  const clientById = new Map(client.blocks.map((block, index) => [block.id, { block, index }]));
  const signs = signsOf(step);
  const rows: DraftRow[] = outgoing.blocks.map((block, index) => ({
    ...{ id: idOf(block), outgoing: block, index, sign: signs(index) },
    client: clientById.get(block.id)?.block ?? null,
    edits: edits.get(idOf(block)) ?? [],
  }));
  return [...placeRemoved(rows, { client, outgoing, edits })];
}

type Edits = ReadonlyMap<string, readonly DraftEdit[]>;

/** Blocks that are not in the request come behind the block that they followed in the client's Turn. */
function placeRemoved(
  rows: readonly DraftRow[],
  { client, outgoing, edits }: { readonly client: Turn; readonly outgoing: Turn; readonly edits: Edits },
): readonly DraftRow[] {
  const isSent = new Set(outgoing.blocks.map(({ id }) => id));
  const behind = new Map<string | null, DraftRow[]>();
  let last: string | null = null;
  for (const [index, block] of client.blocks.entries()) {
    if (isSent.has(block.id)) {
      last = idOf(block);
      continue;
    }
    const row = { id: idOf(block), client: block, outgoing: null, index, sign: null };
    const group = behind.get(last) ?? [];
    group.push({ ...row, edits: edits.get(idOf(block)) ?? [] });
    behind.set(last, group);
  }
  if (behind.size === 0) return rows;
  return [...(behind.get(null) ?? []), ...rows.flatMap((row) => [row, ...(behind.get(row.id) ?? [])])];
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
function signsOf(step: Step): (index: number) => RequestSign {
  const { outgoing, data, newest } = step;
  const { anchor, sendFrom } = data.decision;
  const first = instructionBlocks(step);
  const held = new Map(newest?.turn.blocks.map((block) => [block.id, block.recordedAs]));
  return (index) => {
    if (index < first) return "instructions";
    if (anchor !== null && index - first < sendFrom) return "held";
    const block = outgoing.at(index);
    const before = block === undefined ? undefined : held.get(block.id);
    if (before === undefined) return "new";
    return before === block?.recordedAs ? "again" : "changed";
  };
}

/** The rows with runs of untouched blocks folded, but for those that the reader opened, by the index of their first block. */
export function foldRows(rows: readonly DraftRow[], opened: ReadonlySet<number>): readonly (DraftRow | DraftFold)[] {
  const folded: (DraftRow | DraftFold)[] = [];
  let run: DraftRow[] = [];
  const close = (): void => {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return;
    if (run.length < leastFolded || opened.has(first.index)) folded.push(...run);
    else folded.push({ from: first.index, to: last.index, sign: first.sign ?? "held", rows: run });
    run = [];
  };
  for (const row of rows) {
    const isQuiet =
      row.edits.length === 0 && (row.sign === "held" || row.sign === "instructions") && row.client !== null;
    if (!isQuiet || (run[0] !== undefined && run[0].sign !== row.sign)) close();
    if (isQuiet) run.push(row);
    else folded.push(row);
  }
  close();
  return folded;
}

/** A row with its texts. */
export function rowDocument(
  row: DraftRow | DraftFold,
  {
    labels,
    revisionOf,
  }: { readonly labels: BlockLabels; readonly revisionOf: (layer: number, id: string) => number | null },
): StackRow | StackFold {
  if ("rows" in row) return { kind: "fold", from: row.from, to: row.to, sign: row.sign };
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
