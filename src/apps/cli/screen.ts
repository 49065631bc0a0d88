import { inOneLine, isPlain, printable } from "../../base/printable.ts";

/** Colours for people; each is the identity if output goes into a file or a pipe. */
export type Style = {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
};

const plain = (text: string): string => text;
const colour =
  (code: number) =>
  (text: string): string =>
    `\u001b[${code}m${text}\u001b[0m`;

export const createStyle = (isColoured: boolean): Style =>
  isColoured
    ? { bold: colour(1), dim: colour(2), good: colour(32), warn: colour(33), bad: colour(31) }
    : { bold: plain, dim: plain, good: plain, warn: plain, bad: plain };

/** A text that is safe for a terminal: with our own colours, if any, and without other control characters. */
export const shown = (text: string, isColoured: boolean): string =>
  isColoured
    ? text
        .split(ownCodes)
        .map((part, index) => (index % 2 === 1 ? part : printable(part)))
        .join("")
    : printable(text);

// biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
const ownCodes = /(\u001b\[(?:[012]|3[123])m)/;

/** A cell, with a style that is applied once its width is known. */
export type Cell = string | { readonly text: string; readonly style: (text: string) => string };

/** Rows with aligned columns, two blanks between; the last column is cut at the edge of the terminal. */
export function tableLines(rows: readonly (readonly Cell[])[], { columns }: { readonly columns: number }): string[] {
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

/** A line feed in a cell would start a new row. */
const textOf = (cell: Cell): string => inOneLine(typeof cell === "string" ? cell : cell.text);
const padded = (text: string, width: number, wanted: number): string => text + " ".repeat(Math.max(0, wanted - width));

/** The width in terminal cells: wide East Asian letters and emoji take two, combining marks none. */
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
