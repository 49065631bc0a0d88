import { diffArrays, diffLines } from "diff";
import { jsonBytes } from "./by-bytes.ts";
import type { Piece, TextDifference } from "./page-documents.ts";

/** Longer texts are compared by lines, and those that differ too much not at all. */
const [mostByWords, mostEdits] = [20_000, 600];
/** The part of the longer text that has to be shared, so that the difference is shown in place. */
const leastShared = 0.4;
/** The most bytes of pieces: of texts that differ in more places, old and new are shown whole. */
const mostBytes = 30_000;
/** What is shown of a long piece before it folds. */
const [mostShown, shownOfLong, contextCharacters] = [{ characters: 360, lines: 6 }, { characters: 90, lines: 1 }, 36];
/** What a fold carries, so that the page can open it without asking. */
const carriedCharacters = 6_000;

/** The difference of two texts, in words, ready to be shown: unchanged text is cut, changed text only folded. */
export function textDifference(before: string, after: string): TextDifference {
  const about = { before: before.length, after: after.length };
  const changes = changesOf(before, after);
  const shared = changes === null ? 0 : sum(changes.filter(({ op }) => op === "same"));
  const isShared = changes !== null && shared >= leastShared * Math.min(before.length, after.length);
  const pieces = isShared ? foldedPieces(changes) : [];
  if (isShared && jsonBytes(pieces) <= mostBytes) return { ...about, isWhole: false, pieces };
  const whole = [
    { op: "del" as const, text: before },
    { op: "ins" as const, text: after },
  ];
  return { ...about, isWhole: true, pieces: foldedPieces(whole) };
}

function foldedPieces(pieces: readonly Change[]): readonly Piece[] {
  const shown = pieces.filter(({ text }) => text !== "");
  return shown.map((piece, index) => folded(piece, index, shown.length));
}

type Change = Pick<Piece, "op" | "text">;

const sum = (changes: readonly Change[]): number => changes.reduce((all, { text }) => all + text.length, 0);

function changesOf(before: string, after: string): readonly Change[] | null {
  const limit = { maxEditLength: mostEdits };
  if (before.length + after.length > mostByWords) {
    const lines = diffLines(before, after, limit);
    // It would take more edits than that.
    return lines === undefined ? null : lines.map(({ value, ...rest }) => ({ op: opOf(rest), text: value }));
  }
  const words = diffArrays(wordsOf(before), wordsOf(after), limit);
  if (words === undefined) return null;
  return tidied(words.map(({ value, ...rest }) => ({ op: opOf(rest), text: value.join("") })));
}

const opOf = ({ added, removed }: { readonly added: boolean; readonly removed: boolean }): Change["op"] =>
  added ? "ins" : removed ? "del" : "same";

/** Words and what is between them. */
const wordsOf = (text: string): string[] => text.match(/\s+|\S+/gu) ?? [];

/**
 * Joins changes that only blanks are between, and puts what both sides of a change begin and end with outside of it, so that people read
 * one change where a person would have made one.
 */
function tidied(changes: readonly Change[]): readonly Change[] {
  const tidy: Change[] = [];
  let [del, ins] = ["", ""];
  const close = (): void => {
    const [start, end] = commonEnds(del, ins);
    const inner = (text: string): string => text.slice(start.length, text.length - end.length);
    push(tidy, { op: "same", text: start });
    push(tidy, { op: "del", text: inner(del) });
    push(tidy, { op: "ins", text: inner(ins) });
    push(tidy, { op: "same", text: end });
    [del, ins] = ["", ""];
  };
  for (const [index, { op, text }] of changes.entries()) {
    if (op === "del") del += text;
    else if (op === "ins") ins += text;
    else if (del + ins !== "" && text.trim() === "" && index < changes.length - 1)
      [del, ins] = [del + text, ins + text];
    else {
      close();
      push(tidy, { op, text });
    }
  }
  close();
  return tidy;
}

function push(changes: Change[], { op, text }: Change): void {
  if (text === "") return;
  const last = changes.at(-1);
  if (last?.op === op) changes[changes.length - 1] = { op, text: last.text + text };
  else changes.push({ op, text });
}

function commonEnds(left: string, right: string): readonly [string, string] {
  const most = Math.min(left.length, right.length);
  let start = 0;
  while (start < most && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < most - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  return [left.slice(0, start), end === 0 ? "" : left.slice(-end)];
}

function folded({ op, text }: Change, index: number, length: number): Piece {
  if (op === "same") return { op, text: cut(text, index === 0, index === length - 1), more: null };
  const lines = text.split("\n");
  if (lines.length <= mostShown.lines && text.length <= mostShown.characters) return { op, text, more: null };
  const shown = lines.slice(0, shownOfLong.lines).join("\n").slice(0, shownOfLong.characters);
  const rest = text.slice(shown.length);
  return { op, text: shown, more: { text: rest.slice(0, carriedCharacters), lines: rest.split("\n").length } };
}

/** Unchanged text, with what is next to a change. */
function cut(text: string, isFirst: boolean, isLast: boolean): string {
  const kept = (isFirst ? 0 : contextCharacters) + (isLast ? 0 : contextCharacters);
  if (text.length <= kept + 4) return text;
  const [head, tail] = [isFirst ? "" : text.slice(0, contextCharacters), isLast ? "" : text.slice(-contextCharacters)];
  return `${head}…${tail}`;
}
