/**
 * A text as searching compares it: composed (NFC), without a difference between upper and lower case, with every run of white
 * space as one space. `STRASSE` and `straße` are equal, `é` and `e` are not.
 */
export const foldText = (text: string): string => inOneSpace(withoutCase(text.normalize("NFD")).normalize("NFC"));

/** Through upper case, so that every lower-case form of a letter (final sigma, ß) comes to the same; of ẞ the lower case is one of them. */
const withoutCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");

/** A text with every run of white space as one space. */
export const inOneSpace = (text: string): string => text.replace(/\s+/gu, " ");

/** A part of a text, from its first UTF-16 unit to the one behind its last. */
export type TextRange = { readonly start: number; readonly end: number };

/** Where a text of single spaces first holds a folded one; null where it does not. */
export function findFolded(text: string, folded: string): TextRange | null {
  const start = foldText(text).indexOf(folded);
  if (start < 0) return null;
  const end = start + folded.length;
  // Mostly every letter folds to as many as it is made of.
  if (foldText(text.slice(start, end)) === folded) return { start, end };
  return atGraphemes(text, { start, end });
}

function atGraphemes(text: string, { start, end }: TextRange): TextRange {
  let [from, to, folded] = [0, text.length, 0];
  for (const { segment, index } of new Intl.Segmenter().segment(text)) {
    if (folded <= start) from = index;
    folded += foldText(segment).length;
    if (folded < end) continue;
    to = index + segment.length;
    break;
  }
  return { start: from, end: to };
}
