import { printable } from "../projections/wording.ts";

/** Colours for people; each is the identity where there is nobody to see them. */
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

/** A text as it may reach a terminal: our own colours, where there are any, and nothing else that a terminal obeys. */
export const shown = (text: string, isColoured: boolean): string =>
  isColoured
    ? text
        .split(ownCodes)
        .map((part, index) => (index % 2 === 1 ? part : printable(part)))
        .join("")
    : printable(text);

// biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
const ownCodes = /(\u001b\[(?:[012]|3[123])m)/;
