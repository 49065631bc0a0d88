/**
 * The form of a text that searching compares: composed (NFC), without case, with every run of white space as one space. `STRASSE`
 * and `straße` are equal, `é` and `e` are not.
 */
export const foldText = (text: string): string => inOneSpace(withoutCase(text.normalize("NFD")).normalize("NFC"));

/** Goes through upper case, so that all lower-case forms of a letter (final sigma, ß) become equal; ẞ lower-cases to one of them. */
const withoutCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");

/** A text with every run of white space as one space. */
export const inOneSpace = (text: string): string => text.replace(/\s+/gu, " ");

/** A range of a text in UTF-16 units; `end` is exclusive. */
export type TextRange = { readonly start: number; readonly end: number };

/** The first place of a folded text in a text of single spaces; null if there is none. */
export function findFolded(text: string, folded: string): TextRange | null {
  const start = foldText(text).indexOf(folded);
  if (start < 0) return null;
  const end = start + folded.length;
  // Most letters fold to as many units as they have.
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
