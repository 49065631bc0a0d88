import { describeDivergence } from "../../analysis/descriptions/describe-inference.ts";
import { actorLabel } from "../../analysis/descriptions/labels.ts";
import { counted, grouped } from "../../base/counted.ts";
import { inOneLine } from "../../base/printable.ts";
import type { WhyDocument } from "../documents/requests.ts";
import type { Screen } from "./context.ts";
import type { Cell, Style } from "./screen.ts";

type Reasoning = NonNullable<WhyDocument["reasoning"]>;
type Told = Reasoning["blocks"][number];

/** What happened to a request's reasoning: a line per block, then who broke it, and its cost. */
export function printReasoning({ blocks, size, told, unknown }: Reasoning, { print, table, style }: Screen): void {
  print("", style.bold(`Reasoning: ${summaryOf(blocks)}`));
  table(blocks.map((block) => rowOf(block, style)));
  for (const { index, brokenBy } of blocks)
    for (const broken of brokenBy) print(`  block ${index}: ${brokenWords(broken)}`);
  for (const block of blocks.filter(({ isSurprise }) => isSurprise)) print(`  ${style.bad(surpriseWords(block))}`);
  for (const { itemId, reason } of unknown)
    print(`  ${style.bad(`the server withheld ${itemId ?? "an item"} (${reason}), which this Turn does not have`)}`);
  if (told === null && blocks.length > 0) print("  the server did not answer this request, or has not yet");
  const { sentBytes, sentReasoningBytes, fullBytes, fullReasoningBytes, reasoningTokens } = size;
  print(
    `  carried: ${share(sentReasoningBytes, sentBytes)} sent, ${share(fullReasoningBytes, fullBytes)} when everything is sent; ` +
      `made for ${counted(reasoningTokens, "token")}`,
  );
}

function summaryOf(blocks: readonly Told[]): string {
  if (blocks.length === 0) return "none";
  const fates = Map.groupBy(blocks, ({ fate }) => fate);
  return [...fates].map(([fate, { length }]) => `${length} ${fateWords[fate]}`).join(", ");
}

const fateWords = { accepted: "accepted", withheld: "withheld", refused: "refused", "left-out": "left out" } as const;

function rowOf(block: Told, style: Style): readonly Cell[] {
  const { index, label, prefix, fate, reason, ageMs, begins } = block;
  const what = reason === null ? fateWords[fate] : `${fateWords[fate]} (${inOneLine(reason)})`;
  return [
    { text: String(index).padStart(4), style: style.bold },
    label,
    { text: `prefix ${prefix}`, style: prefix === "broken" ? style.bad : style.dim },
    { text: what, style: fate === "accepted" ? style.good : style.bad },
    { text: ageMs === null ? "" : ageWords(ageMs), style: style.dim },
    begins,
  ];
}

function brokenWords({ what, actor, divergence, omitted }: Told["brokenBy"][number]): string {
  if (divergence !== null) return describeDivergence(divergence);
  if (what !== "blocks") {
    const changed = `${inOneLine(what)} changed since it was made`;
    return actor === null ? changed : `${changed}, by ${actorLabel(actor)}`;
  }
  return omitted === null
    ? "what was sent before it has changed since it was made"
    : `a block before it is no longer sent (${inOneLine(omitted)})`;
}

function surpriseWords({ index, fate, withheld }: Told): string {
  if (withheld !== null) return `block ${index}: the server withheld it unexpectedly (${inOneLine(withheld)})`;
  return `block ${index}: the server did not say that it ${fateWords[fate]} it; where it does not check, set its capability reasoningPrefix to ignore`;
}

const share = (part: number, whole: number): string => `${grouped(part)} of ${grouped(whole)} bytes`;

/** An age in the unit that people would use. */
function ageWords(ageMs: number): string {
  const minutes = Math.floor(ageMs / 60_000);
  if (minutes < 60) return `${minutes} min old`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h old` : `${Math.floor(hours / 24)} days old`;
}
