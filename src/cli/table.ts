import { inOneLine } from "../projections/wording.ts";
import type { CliContext } from "./context.ts";

/** A cell, and how it is coloured once its width is known. */
export type Cell = string | { readonly text: string; readonly style: (text: string) => string };

/** Rows with aligned columns, two blanks between; the last column is cut at the edge of the terminal. */
export function tableLines(rows: readonly (readonly Cell[])[], { columns }: Pick<CliContext, "columns">): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(textOf(cell)));
  }
  return rows.map((row) => {
    let left = columns;
    const cells = row.map((cell, index) => {
      const isLast = index === row.length - 1;
      const text = isLast ? cut(textOf(cell), Math.max(left, 10)) : padded(textOf(cell), widths[index] ?? 0);
      left -= widthOf(text) + 2;
      return typeof cell === "string" ? text : cell.style(text);
    });
    return cells.join("  ").trimEnd();
  });
}

/** A line feed in a cell would begin a row. */
const textOf = (cell: Cell): string => inOneLine(typeof cell === "string" ? cell : cell.text);
const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));

/** In terminal cells: wide East Asian letters and emoji take two, marks that combine none. */
export function widthOf(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
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

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}
