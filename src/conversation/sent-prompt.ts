import type { JsonObject } from "../base/json.ts";
import { Block } from "../domain/block.ts";
import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { BlockId } from "../domain/ids.ts";
import { Turn } from "../domain/turn.ts";
import { shapedBlocks } from "../engine/planning/build-request.ts";
import { isOfErasure } from "../engine/planning/repairs.ts";
import type { Codec, SentBlock } from "../engine/stack/codec.ts";
import type { RunPasses } from "../projections/run-passes.ts";
import type { PlacedDetails } from "../providers/caching/placed-details.ts";

/** A request of a conversation, with everything that its server held for it. */
export type SentPrompt = {
  /** Where the log has it; not the whole event, because a trail keeps thousands. */
  readonly recorded: Pick<RecordedEvent, "stream" | "revision" | "at" | "frame">;
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  /** The Turn that left the innermost layer, and the part that the input was made from. */
  readonly outgoing: Turn;
  readonly input: Turn;
  /** The request whose answer it continued from. */
  readonly before: SentPrompt | null;
  /** What the layers of its run did; while the run is open, this changes with its next events. */
  readonly passes: RunPasses | null;
};

/** What the server read of a prompt: what it held before, and what it was sent, after the repairs. */
export type WholeInput = {
  readonly input: readonly SentBlock[];
  /** The details of each of its requests; in the body of all, their places count from its beginning. */
  readonly placed: readonly PlacedDetails[];
  /** The number of blocks before the part of each request, which begins with the answer to the request before it. */
  readonly starts: readonly number[];
};

/** The same for the request that a prompt continues from: what was sent before it. */
export const inputBefore = ({ input, placed, starts }: WholeInput): WholeInput => ({
  input: input.slice(0, starts.at(-1)),
  placed: placed.slice(0, -1),
  starts: starts.slice(0, -1),
});

/** @param held - What is known of the prompt, or of a request that it continues from. */
export function wholeInput(
  prompt: SentPrompt,
  codec: Codec,
  held: (at: SentPrompt) => WholeInput | undefined,
): WholeInput {
  const parts: Part[] = [];
  let known: WholeInput | undefined;
  for (let at: SentPrompt | null = prompt; at !== null; at = at.before) {
    known = held(at);
    if (known !== undefined) break;
    parts.push(partOf(at));
  }
  const input = known?.input.slice() ?? [];
  const placed = known?.placed.slice() ?? [];
  const starts = known?.starts.slice() ?? [];
  for (const part of parts.reverse()) {
    starts.push(input.length);
    const { scope, decision } = part.request;
    const carriage = { codec, scope, itemIds: decision.capabilities["itemIds"] === true };
    const standIns = standInsOf(part);
    const asSent = (each: SentBlock): SentBlock =>
      each.block.isErased && !standIns.has(each.block.id) ? { ...each, block: beforeErasure(each.block) } : each;
    const add = (blocks: readonly SentBlock[]): void => {
      for (const each of blocks) input.push(asSent(each));
    };
    add(shapedBlocks(part.input.slice(decision.sendFrom), part.from, [], carriage));
    placed.push({ before: input.length, details: decision.details });
    add(shapedBlocks(part.input, decision.sendFrom, decision.repairs, carriage));
  }
  return { input, placed, starts };
}

/** The blocks for which a prompt had stand-ins, or which it left out, because their content had been erased. */
export const erasedIn = (prompt: SentPrompt): ReadonlySet<BlockId | null> =>
  new Set(partsOf(prompt).flatMap((part) => [...standInsOf(part)]));

const standInsOf = ({ input, request: { decision } }: Pick<Part, "input" | "request">): ReadonlySet<BlockId | null> =>
  new Set(decision.repairs.filter(isOfErasure).map(({ index }) => input.at(index)?.id ?? null));

/** A block that was sent before it was erased: its content is not known, but its name tells it from the stand-in and from other blocks. */
function beforeErasure(block: Block): Block {
  const { id, kind, wire, recordedAs } = block;
  const text = `[erased ${recordedAs}]`;
  const { content, summary, output, arguments: called, ...facts } = block.payload;
  const parts = [{ type: "text", text }];
  const members = {
    ...(content === undefined ? {} : { content: parts }),
    ...(summary === undefined ? {} : { summary: parts }),
    ...(output === undefined ? {} : { output: text }),
    ...(called === undefined ? {} : { arguments: block.type === "custom" ? text : JSON.stringify({ erased: text }) }),
  };
  return new Block({ id, kind, wire, payload: { ...facts, ...members } });
}

/** The blocks of the Turn that this was made from, without those that were left out. What was held before has the same places. */
export function sentTurn(prompt: SentPrompt): Turn {
  const repairs = partsOf(prompt).flatMap(({ request }) => request.decision.repairs);
  const omitted = new Set(repairs.flatMap(({ rule, index }) => (rule === "omit" ? [index] : [])));
  return Turn.of(prompt.input.blocks.filter((_, index) => !omitted.has(index)));
}

type Part = Pick<SentPrompt, "input" | "request"> & {
  /** Where the blocks begin that the server did not hold for the request before: first the answer to that one. */
  readonly from: number;
};

/** The requests that a prompt consists of, oldest first: a server adds what it is sent to what it holds. */
function partsOf(prompt: SentPrompt): readonly Part[] {
  const parts: Part[] = [];
  for (let at: SentPrompt | null = prompt; at !== null; at = at.before) parts.push(partOf(at));
  return parts.reverse();
}

const partOf = ({ input, request, before }: SentPrompt): Part => ({ input, request, from: before?.input.length ?? 0 });
