import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { openCalls } from "../../domain/calls.ts";
import { assistant, text, user } from "../../domain/make-block.ts";
import type { Turn } from "../../domain/turn.ts";
import { noteLength } from "../options/compact-policy.ts";

/** A stretch of a Turn that can be dropped: none of its calls waits for a result behind it. */
export type Droppable = {
  readonly start: number;
  readonly end: number;
  /** Whole exchanges, or the first steps of the only exchange. */
  readonly of: "exchanges" | "steps";
};

/**
 * Cuts every tool result in the first `before` blocks to `maxLength` characters: its beginning and its end stay, with a note of the
 * length that was cut. Returns the same Turn if no result is longer.
 */
export function truncateResults(
  turn: Turn,
  { maxLength, before = turn.length }: { readonly maxLength: number; readonly before?: number },
): Turn {
  const long = turn.blocks
    .slice(0, before)
    .filter((block) => isPlainResult(block) && JSON.stringify(truncated(block, maxLength)) !== outputText(block));
  return long.length === 0 ? turn : turn.replaceEach(long, (block) => withOutput(block, truncated(block, maxLength)));
}

/** Results of functions and custom tools; other results (screenshots) are in their provider's form. */
const isPlainResult = ({ kind, type }: Block): boolean =>
  kind === "tool_result" && (type === "function" || type === "custom");

const outputText = ({ payload }: Block): string => JSON.stringify(payload["output"] ?? null);
const withOutput = (block: Block, output: JsonValue): Block => block.withPayload({ ...block.payload, output });

function truncated({ payload }: Block, maxLength: number): JsonValue {
  const { output = null } = payload;
  if (typeof output === "string") return cut(output, maxLength);
  return isJsonList(output) ? output.map((part) => cutPart(part, maxLength)) : output;
}

function cutPart(part: JsonValue, maxLength: number): JsonValue {
  if (!isJsonObject(part)) return part;
  const { type, text: said } = part;
  if (typeof said === "string") {
    const shorter = cut(said, maxLength);
    return shorter === said ? part : withText(part, shorter);
  }
  if (JSON.stringify(part).length <= maxLength) return part;
  return text(`[${typeof type === "string" ? type : "part"} left out]`);
}

const withText = (part: JsonObject, said: string): JsonObject => ({ ...part, text: said });

function cut(whole: string, maxLength: number): string {
  if (whole.length <= maxLength) return whole;
  const half = Math.floor((maxLength - noteLength) / 2);
  const start = whole.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const end = whole.slice(-half).replace(/^[\uDC00-\uDFFF]/, "");
  const left = whole.length - start.length - end.length;
  return `${start}\n[${left} of ${whole.length} characters left out]\n${end}`;
}

/**
 * The oldest exchanges except the newest `keep`; if there are no more than that, the oldest steps of the newest exchange except the
 * newest `keep`. Null if neither may be dropped.
 */
export function droppableIn({ blocks, exchanges }: Turn, keep: number): Droppable | null {
  const [first] = exchanges;
  const last = exchanges.at(-1);
  if (first === undefined || last === undefined) return null;
  const { start } = first;
  const end = lastClosed(
    blocks,
    start,
    exchanges.slice(1, exchanges.length - keep + 1).map((each) => each.start),
  );
  if (end !== null) return { start, end, of: "exchanges" };
  const steps = stepsAfter(blocks, last.start);
  const behind = lastClosed(blocks, last.start, steps.slice(1, Math.max(1, steps.length - keep + 1)));
  return behind === null ? null : { start: last.start + 1, end: behind, of: "steps" };
}

/** The last of these places at which no call is open. */
function lastClosed(blocks: readonly Block[], start: number, places: readonly number[]): number | null {
  return places.findLast((end) => openCalls(blocks.slice(start, end)).length === 0) ?? null;
}

/** Where the steps after a user's block begin: at the model's first block, and at its first block after results. */
function stepsAfter(blocks: readonly Block[], start: number): readonly number[] {
  const places = [start + 1];
  for (let at = start + 2; at < blocks.length; at += 1) {
    if (blocks[at - 1]?.kind === "tool_result" && blocks[at]?.kind !== "tool_result") places.push(at);
  }
  return places;
}

/** The blocks that are dropped with a stretch: its system blocks stay. */
export const droppedBlocks = ({ blocks }: Turn, { start, end }: Droppable): readonly Block[] =>
  blocks.slice(start, end).filter(({ kind }) => kind !== "system");

const summaryBegin = "Summary of what came before:";

/** The summary that replaces a stretch: a user's message for whole exchanges, the model's own notes for steps. */
export const summaryBlock = (summary: string, { of }: Droppable): Block =>
  (of === "steps" ? assistant : user)(`${summaryBegin}\n\n${summary}`);

/** The stretch that may be dropped, unless it contains only a summary, which cannot be shortened further. */
export function summarisable(turn: Turn, keep: number): Droppable | null {
  const stretch = droppableIn(turn, keep);
  if (stretch === null) return null;
  const dropped = droppedBlocks(turn, stretch);
  return dropped.some(
    ({ kind, text: said }) => (kind !== "user" && kind !== "assistant") || !said.startsWith(summaryBegin),
  )
    ? stretch
    : null;
}

/** The Turn without a stretch, and with the blocks that replace it. */
export function withoutStretch(turn: Turn, stretch: Droppable, instead: readonly Block[] = []): Turn {
  const { blocks } = turn;
  const kept = blocks.slice(stretch.start, stretch.end).filter(({ kind }) => kind === "system");
  return turn.with([...blocks.slice(0, stretch.start), ...kept, ...instead, ...blocks.slice(stretch.end)]);
}
