import { inOneLine, isPlain } from "../projections/wording.ts";
import type { CliContext } from "./context.ts";

/** A cell, and how it is coloured once its width is known. */
export type Cell = string | { readonly text: string; readonly style: (text: string) => string };

/** Rows with aligned columns, two blanks between; the last column is cut at the edge of the terminal. */
export function tableLines(rows: readonly (readonly Cell[])[], { columns }: Pick<CliContext, "columns">): string[] {
  const widths: number[] = [];
  const lines = rows.map((row) =>
    row.map((cell, index) => {
      const text = textOf(cell);
      const width = widthOf(text);
      widths[index] = Math.max(widths[index] ?? 0, width);
      return { cell, text, width };
    }),
  );
  return lines.map((row) => {
    let left = columns;
    const cells = row.map(({ cell, text, width }, index) => {
      const isLast = index === row.length - 1;
      const shown = isLast ? cut(text, width, Math.max(left, 10)) : padded(text, width, widths[index] ?? 0);
      left -= (widths[index] ?? 0) + 2;
      return typeof cell === "string" ? shown : cell.style(shown);
    });
    return cells.join("  ").trimEnd();
  });
}

/** A line feed in a cell would begin a row. */
const textOf = (cell: Cell): string => inOneLine(typeof cell === "string" ? cell : cell.text);
const padded = (text: string, width: number, wanted: number): string => text + " ".repeat(Math.max(0, wanted - width));

/** In terminal cells: wide East Asian letters and emoji take two, marks that combine none. */
export function widthOf(text: string): number {
  if (isPlain(text)) return text.length;
  let width = 0;
  for (const character of text) {
    if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return width;
}

function cut(text: string, width: number, wanted: number): string {
  if (width <= wanted) return text;
  let kept = "";
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > wanted) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}
