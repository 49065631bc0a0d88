import { diffLines } from "diff";
import { printableJson } from "../../base/printable.ts";
import type { BodyRow } from "./what-if-documents.ts";

/** Bodies that differ more are shown whole; a longer line is cut; equal lines beside a difference that are shown; rows of one answer. */
const [mostEdits, mostCharacters, context, mostRows] = [1_500, 2_000, 3, 600];

type Compared = { readonly rows: readonly BodyRow[]; readonly first: number | null; readonly hasMore: boolean };

/** Two bodies beside each other, by lines of indented JSON: what is the same folds. */
export function bodyRows(left: string | null, right: string | null): Compared {
  const rows = foldSame(left === null || right === null ? oneSide(left, right) : bothSides(left, right));
  const first = rows.findIndex(({ kind }) => kind === "changed");
  return { rows: rows.slice(0, mostRows), first: first < 0 ? null : first, hasMore: rows.length > mostRows };
}

type Line = Exclude<BodyRow, { readonly kind: "fold" }>;

const oneSide = (left: string | null, right: string | null): readonly Line[] =>
  linesOf(left ?? right ?? "").map((line) => ({
    ...{ kind: "changed", left: left === null ? null : line, right: right === null ? null : line },
  }));

function bothSides(left: string, right: string): readonly Line[] {
  const texts = [`${linesOf(left).join("\n")}\n`, `${linesOf(right).join("\n")}\n`] as const;
  const changes = diffLines(...texts, { maxEditLength: mostEdits }) ?? [
    { value: texts[0], removed: true, added: false },
    { value: texts[1], removed: false, added: true },
  ];
  const lines: Line[] = [];
  let [gone, came]: [string[], string[]] = [[], []];
  const flush = (): void => {
    for (let n = 0; n < Math.max(gone.length, came.length); n += 1)
      lines.push({ kind: "changed", left: gone[n] ?? null, right: came[n] ?? null });
    [gone, came] = [[], []];
  };
  for (const { value, added, removed } of changes) {
    const own = value.slice(0, -1).split("\n");
    if (removed) gone.push(...own);
    else if (added) came.push(...own);
    else {
      flush();
      lines.push(...own.map((line): Line => ({ kind: "same", left: line, right: line })));
    }
  }
  flush();
  return lines;
}

function linesOf(body: string): readonly string[] {
  const value: unknown = JSON.parse(body);
  return printableJson(JSON.stringify(value, null, 2))
    .split("\n")
    .map((line) => (line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line));
}

/** Equal lines that are not beside a difference become one row. */
function foldSame(lines: readonly Line[]): readonly BodyRow[] {
  const isNear = new Set<number>();
  for (const [place, { kind }] of lines.entries())
    if (kind === "changed") for (let near = place - context; near <= place + context; near += 1) isNear.add(near);
  const rows: BodyRow[] = [];
  for (const [place, line] of lines.entries()) {
    if (isNear.has(place)) {
      rows.push(line);
      continue;
    }
    const last = rows.at(-1);
    if (last?.kind === "fold") rows[rows.length - 1] = { kind: "fold", lines: last.lines + 1 };
    else rows.push({ kind: "fold", lines: 1 });
  }
  return rows;
}
