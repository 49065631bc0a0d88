import { actorLabel } from "../../analysis/descriptions/labels.ts";
import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { counted } from "../../base/counted.ts";
import { printable } from "../../base/printable.ts";
import type { Actor } from "../../domain/actor.ts";
import { type BlockJson, blockFromJson } from "../../domain/block-json.ts";
import type { DifferenceDocument } from "../documents/differences.ts";
import type { Style } from "./screen.ts";

/**
 * The lines of a difference: the kind of change, the block with its place, and the author; then the earlier text after `-` and the
 * later one after `+`. Unchanged lines at the beginning and the end of a text are only counted.
 */
export function differenceLines(
  { added, removed, modified, moved }: DifferenceDocument,
  style: Style,
): readonly string[] {
  const head = (what: string, { index, label, by }: Headed): string =>
    style.bold(`${what} block ${index}, ${label}`) + (by === null ? "" : style.dim(`  by ${actorLabel(by)}`));
  return [
    ...removed.flatMap((block) => [head("removed", block), ...marked("-", linesOf(block), style.bad)]),
    ...added.flatMap((block) => [head("added", block), ...marked("+", linesOf(block), style.good)]),
    ...modified.flatMap(({ before, after, by, label }) => [
      head("modified", { index: after.index, by, label }),
      ...differingLines(linesOf(before), linesOf(after), style),
    ]),
    ...moved.map((block) => head("moved", block)),
  ];
}

/** The difference of two texts; an empty one is absent. */
export const textDifference = (before: string, after: string, style: Style): readonly string[] =>
  differingLines(before === "" ? [] : before.split("\n"), after === "" ? [] : after.split("\n"), style);

function differingLines(before: readonly string[], after: readonly string[], style: Style): readonly string[] {
  const { same, old, now, rest } = partsOf(before, after);
  return [
    ...kept(same, style),
    ...marked("-", old, style.bad),
    ...marked("+", now, style.good),
    ...kept(rest, style),
    ...(old.length + now.length === 0 ? [style.dim("  the text is the same, other fields differ")] : []),
  ];
}

const marked = (mark: string, lines: readonly string[], styled: (line: string) => string): readonly string[] =>
  lines.map((line) => styled(`${mark} ${line}`));

type Headed = { readonly index: number; readonly label: string; readonly by: Actor | null };

const linesOf = (json: BlockJson): readonly string[] => printable(shownText(blockFromJson(json))).split("\n");

/** The common lines at the beginning and the end of two texts, and the lines between. */
function partsOf(before: readonly string[], after: readonly string[]) {
  const most = Math.min(before.length, after.length);
  let same = 0;
  while (same < most && before[same] === after[same]) same += 1;
  let rest = 0;
  while (rest < most - same && before.at(-1 - rest) === after.at(-1 - rest)) rest += 1;
  return { same, old: before.slice(same, before.length - rest), now: after.slice(same, after.length - rest), rest };
}

const kept = (lines: number, { dim }: Style): readonly string[] =>
  lines === 0 ? [] : [dim(`  ${counted(lines, "line")} as before`)];

export const differenceCounts = ({ added, removed, modified, moved }: DifferenceDocument): string =>
  [
    `${counted(added.length, "block")} added`,
    `${removed.length} removed`,
    `${modified.length} modified`,
    `${moved.length} moved`,
  ].join(", ");
