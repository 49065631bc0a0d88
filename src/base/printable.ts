/** A text on one line, without control characters for terminals, cut to this many characters. */
export function excerpt(text: string, length: number): string {
  const beginning = text.length > length ? text.slice(0, length + 1) : text;
  if (length > 0 && tidy.test(beginning)) {
    const shown = text.length > length ? beginning.slice(0, -2) : text;
    return `${shown.replace(/[\n\t]/g, " ")}${text.length > length ? "…" : ""}`;
  }
  // Takes more than is shown, so that a long text costs no more than a short one.
  const line = printable(text.slice(0, length * 4))
    .replace(/\s+/gu, " ")
    .trim();
  // A plain text has one character per unit.
  const characters = isPlain(line) ? line : Array.from(line);
  const isWhole = characters.length <= length && text.length <= length * 4;
  if (isWhole) return line;
  const kept = characters.slice(0, length - 1);
  return `${typeof kept === "string" ? kept : kept.join("")}…`;
}

/** Plain words with one blank or line feed between two, as most texts begin: their excerpt has a character for each of theirs. */
const tidy = /^[!-~]+(?:[ \n\t][!-~]+)*$/;

/**
 * A text without characters that control a terminal or are invisible: control and direction characters, line separators and
 * characters without width become blanks. Line feeds and tabs stay, and so do joiners that combine emoji, or choose a character's
 * look.
 */
export const printable = (text: string): string => (isPlain(text) ? text : text.replace(unprintable, " "));

/**
 * Whether a text has only Latin letters, digits, blanks and the punctuation of their languages: each is one character of one width.
 * Most texts are like that, and searching them for rare characters is slow.
 */
export const isPlain = (text: string): boolean => plain.test(text);
const plain = /^[\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u203a]*$/;

/** The same on one line: line feeds and tabs become blanks. */
export const inOneLine = (text: string): string => printable(text).replace(/[\n\t]/g, " ");

/** The same JSON text with these characters as escapes, so that its value is unchanged. */
export const printableJson = (json: string): string =>
  json.replace(unprintable, (character) =>
    Array.from({ length: character.length }, (_, index) => escapeOf(character.charCodeAt(index))).join(""),
  );

const escapeOf = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;

const unprintable = new RegExp(
  [
    "(?![\\n\\t])",
    // Allows one variation selector after a character; more of them hide something.
    "(?!(?<![\\ufe00-\\ufe0f])[\\ufe00-\\ufe0f])",
    "(?!(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic}))",
    "[\\p{Cc}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029\\ufff9-\\ufffb]",
  ].join(""),
  "gu",
);
