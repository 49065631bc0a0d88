import { kindOf } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";

/** A stretch of a text that a detector found. */
export type FoundSpan = { readonly start: number; readonly end: number };

/** Finds values in a text. It must depend on the text alone, and find a value wherever the text has it. */
export type FindValues = RegExp | ((text: string) => readonly string[]);

/** What turnlog's own detectors find, by kind. Each reads a text once, however long it is. */
export const detectorByKind = {
  email: byPattern(/(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu),
  phone: byPattern(/(?<![\w+])\+\d(?:[ ().-]{0,2}\d){7,14}(?!\d)/g),
  ip: byPattern(/(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\d|\.\d)/g),
  card: (text: string) => grouped(text, { run: /\d(?:[ -]?\d){12,}/g, from: 13, to: 19, isValid: isCard }),
  iban: (text: string) =>
    grouped(text, { run: /(?<![A-Za-z\d])[A-Z]{2}\d\d(?: ?[A-Z\d]){11,}/g, from: 15, to: 34, isValid: isIban }),
  "api-key": byPattern(
    /(?<![A-Za-z\d])(?:sk-[\w-]{16,}|gh[pousr]_[A-Za-z\d]{20,}|github_pat_\w{20,}|AKIA[A-Z\d]{16}|xox[abposr]-[\w-]{10,}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----/g,
  ),
} as const;

export type DetectorKind = keyof typeof detectorByKind;

function byPattern(pattern: RegExp) {
  return (text: string): readonly FoundSpan[] =>
    Array.from(text.matchAll(pattern), ({ 0: { length }, index }) => ({ start: index, end: index + length }));
}

/** A detector of the caller's. */
export function detectorOf(where: string, find: FindValues): (text: string) => readonly FoundSpan[] {
  if (find instanceof RegExp) {
    const flags = find.flags.replaceAll(/[gy]/g, "");
    const spans = byPattern(new RegExp(find.source, `${flags}g`));
    return (text) => spans(text).filter(({ start, end }) => end > start);
  }
  return (text) => valuesOf(where, find(text)).flatMap((value) => occurrencesOf(value, text));
}

function valuesOf(where: string, given: unknown): readonly string[] {
  if (Array.isArray(given) && given.every((value): value is string => typeof value === "string" && value !== ""))
    return [...new Set(given)];
  unwatched(given);
  const what = Array.isArray(given) ? "a list with something other than texts" : kindOf(given);
  throw new TypeError(`${where} returned ${what}: return a list of the values found in the text`);
}

/** Every place of a value in a text. */
export function occurrencesOf(value: string, text: string): readonly FoundSpan[] {
  const spans: FoundSpan[] = [];
  for (let start = text.indexOf(value); start >= 0; start = text.indexOf(value, start + value.length))
    spans.push({ start, end: start + value.length });
  return spans;
}

type Grouping = {
  readonly run: RegExp;
  /** The fewest and the most characters of a value, without the separators. */
  readonly from: number;
  readonly to: number;
  readonly isValid: (value: string) => boolean;
};

/** The longest valid values in runs of groups: what comes next to a value, such as the date behind a card's number, is another group. */
function grouped(text: string, { run, from, to, isValid }: Grouping): readonly FoundSpan[] {
  const spans: FoundSpan[] = [];
  for (const { 0: whole, index } of text.matchAll(run)) {
    const groups = Array.from(whole.matchAll(/[A-Z\d]+/g), ({ 0: group, index: at }) => ({ group, at }));
    for (let first = 0; first < groups.length; ) {
      const last = lastOf(groups, first, { from, to, isValid });
      const [begin, end] = [groups[first], groups[last ?? groups.length]];
      if (begin !== undefined && end !== undefined)
        spans.push({ start: index + begin.at, end: index + end.at + end.group.length });
      first = (last ?? first) + 1;
    }
  }
  return spans;
}

type Group = { readonly group: string };

/** The last group of the longest valid value that begins with this group; null if there is none. */
function lastOf(groups: readonly Group[], first: number, { from, to, isValid }: Omit<Grouping, "run">): number | null {
  let [value, last]: [string, number | null] = ["", null];
  for (let n = first; n < groups.length && value.length < to; n += 1) {
    value += groups[n]?.group ?? "";
    if (value.length >= from && value.length <= to && isValid(value)) last = n;
  }
  return last;
}

/** The check digit of cards (Luhn), and a first digit that cards have. */
function isCard(digits: string): boolean {
  let sum = 0;
  for (const [n, digit] of Array.from(digits).reverse().entries()) {
    const twice = Number(digit) * 2;
    sum += n % 2 === 0 ? Number(digit) : twice > 9 ? twice - 9 : twice;
  }
  return sum % 10 === 0 && /^[2-6]/.test(digits);
}

/** The check digits of IBANs: the number is 1 modulo 97. */
function isIban(iban: string): boolean {
  const digits = (iban.slice(4) + iban.slice(0, 4)).replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  let rest = 0;
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}
