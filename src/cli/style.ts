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
