import { isJsonList, type JsonObject, omitMembers } from "../../base/json.ts";
import { Block } from "../../domain/block.ts";
import { type ErasedForm, erasedFormOf } from "../../domain/events/erased-content.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { shapedBlocks } from "../../engine/planning/build-request.ts";
import { quotedCalls } from "../../engine/planning/late-result.ts";
import { isOfErasure } from "../../engine/planning/repairs.ts";
import type { Codec, SentBlock } from "../../engine/ports/codec.ts";
import type { RunPasses } from "../../projections/client-turn/run-passes.ts";
import type { PlacedDetails } from "./prompt-cache/placed-details.ts";

/** A request of a conversation, with everything that its server held for it. */
export type SentPrompt = {
  /** Where the log has it; not the whole event, because a trail keeps thousands. */
  readonly recorded: Pick<RecordedEvent, "stream" | "revision" | "at" | "frame">;
  /** Content of its body was erased since. */
  readonly hasErasedBody: boolean;
  /** The calls that had been erased when its messages about late results quoted them. */
  readonly quotedErased: ReadonlySet<BlockId | null>;
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

/** The length in bytes of the stand-in for the content of a block that was sent before it was erased. */
export type LengthOf = (block: Block) => number;

export type KnownInput = {
  /** What is known of the prompt, or of a request that it continues from. */
  readonly held: (at: SentPrompt) => WholeInput | undefined;
  readonly lengthOf: LengthOf;
};

export function wholeInput(prompt: SentPrompt, codec: Codec, { held, lengthOf }: KnownInput): WholeInput {
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
    const { decision } = part.request;
    const add = (blocks: readonly SentBlock[]): void => {
      for (const each of blocks) input.push(each);
    };
    const answer = { ...part, input: part.input.slice(decision.sendFrom) };
    add(shapedBlocks(beforeErasures(answer, lengthOf), part.from, [], carriageOf(part, codec)));
    placed.push({ before: input.length, details: decision.details });
    add(sentInput(part, codec, lengthOf));
  }
  return { input, placed, starts };
}

const carriageOf = ({ request: { scope, decision } }: Pick<Part, "request">, codec: Codec) => ({
  ...{ codec, scope, itemIds: decision.capabilities["itemIds"] === true },
});

/** What a request sent itself, after the repairs. */
export function sentInput(
  { input, request, quotedErased }: Omit<Part, "from">,
  codec: Codec,
  lengthOf: LengthOf,
): readonly SentBlock[] {
  const { sendFrom, repairs } = request.decision;
  const sent = beforeErasures({ input, request, quotedErased, from: sendFrom }, lengthOf);
  return shapedBlocks(sent, sendFrom, repairs, carriageOf({ request }, codec));
}

/** The blocks that a request sent or quoted itself, each as often as it did, and that were erased since. */
export function erasedSince(part: Omit<Part, "from">): readonly Block[] {
  const { input, request } = part;
  const { sendFrom, repairs } = request.decision;
  const standIns = standInsOf(part);
  const omitted = new Set(repairs.flatMap(({ rule, index }) => (rule === "omit" ? [index] : [])));
  const sent = input
    .after(sendFrom)
    .filter(({ isErased, id }, offset) => isErased && !standIns.has(id) && !omitted.has(sendFrom + offset));
  return [...sent, ...quotedSince(part, input)];
}

/** The calls among these blocks that a request quoted, and that were erased since. */
function quotedSince(part: Omit<Part, "from">, blocks: Turn): readonly Block[] {
  const quoted = quotedCalls(part.request.decision.repairs, blocks).filter(({ isErased }) => isErased);
  if (quoted.length === 0) return quoted;
  const standIns = standInsOf(part);
  return quoted.filter(({ id }) => !standIns.has(id) && !part.quotedErased.has(id));
}

/** The blocks for which a prompt had stand-ins, or which it left out, because their content had been erased. */
export const erasedIn = (prompt: SentPrompt): ReadonlySet<BlockId | null> =>
  new Set(partsOf(prompt).flatMap((part) => [...standInsOf(part)]));

const standInsOf = ({ input, request: { decision } }: Pick<Part, "input" | "request">): ReadonlySet<BlockId | null> =>
  new Set(decision.repairs.filter(isOfErasure).map(({ index }) => input.at(index)?.id ?? null));

/** The Turn of a part as it was when it was sent. The repairs were made for these blocks, parts and all. */
function beforeErasures(part: Part, lengthOf: LengthOf): Turn {
  const standIns = standInsOf(part);
  const isOfLater = ({ isErased, id }: Block): boolean => isErased && !standIns.has(id);
  const { input, from } = part;
  const sent = input.after(from);
  if (quotedSince(part, input).length === 0 && !sent.some(isOfLater)) return input;
  const known = (block: Block): Block => beforeErasure(block, lengthOf(block));
  const held = input.slice(from);
  return held
    .replaceEach(quotedSince(part, held), known)
    .concat(sent.map((block) => (isOfLater(block) ? known(block) : block)));
}

/** A block that was sent before it was erased: its content is not known, but its name tells it from the stand-in and from other blocks. */
function beforeErasure(block: Block, length: number): Block {
  const { id, kind, wire, payload, recordedAs } = block;
  const name = recordedAs.slice(0, leastLength);
  const text = name.padEnd(length, "x");
  const form = erasedFormOf(payload);
  const members = membersBeforeErasure(block, form, { name, text });
  const known = { id, kind, payload: { ...omitMembers(payload, contents), ...members } };
  if (wire === null || !form.isSealed) return new Block({ ...known, wire });
  const isOnlySealed = Object.values(members).every((each) => isJsonList(each) && each.length === 0);
  return new Block({ ...known, wire: { ...wire, ciphertext: isOnlySealed ? text : name } });
}

const contents: ReadonlySet<string> = new Set(["content", "summary", "output", "arguments"]);

/** The members with the content of a block, the first of which has the text, and the others the name. */
function membersBeforeErasure(
  { kind, type, payload }: Block,
  form: ErasedForm,
  { name, text }: { readonly name: string; readonly text: string },
): JsonObject {
  const parts = form.parts.map((each, place) => partBeforeErasure(each, place === 0 ? text : name));
  const first = parts.length === 0 ? text : name;
  switch (kind) {
    case "reasoning":
      return {
        ...(parts.length === 0 ? {} : { content: parts }),
        ...(form.summary && { summary: form.summary.map((_, n) => ({ type: "text", text: n === 0 ? first : name })) }),
      };
    case "tool_result":
      return { output: parts.length === 0 ? text : parts };
    case "tool_call":
    case "other":
      if (payload["arguments"] !== undefined)
        return { arguments: type === "custom" ? text : JSON.stringify({ erased: text }) };
      return form.isSealed ? {} : { erased: text };
    default:
      return { content: parts.length === 0 ? [{ type: "text", text }] : parts };
  }
}

/** The stand-in for a block that was sent before it was erased is at least this long, in bytes: part of its name. */
export const leastLength = 16;

/** A part of a type that every codec can write. */
function partBeforeErasure(type: string, text: string): JsonObject {
  const data = (mediaType: string): string => `data:${mediaType};base64,${btoa(text)}`;
  switch (type) {
    case "image":
      return { type, url: data("image/png") };
    case "file":
      return { type, name: "erased.pdf", data: data("application/pdf") };
    case "audio":
      return { type, audio: { data: btoa(text), format: "wav" } };
    case "refusal":
      return { type, refusal: text };
    default:
      return { type: "text", text };
  }
}

/** The blocks of the Turn that this was made from, without those that were left out. What was held before has the same places. */
export function sentTurn(prompt: SentPrompt): Turn {
  const repairs = partsOf(prompt).flatMap(({ request }) => request.decision.repairs);
  const omitted = new Set(repairs.flatMap(({ rule, index }) => (rule === "omit" ? [index] : [])));
  return Turn.of(prompt.input.blocks.filter((_, index) => !omitted.has(index)));
}

type Part = Pick<SentPrompt, "input" | "request" | "quotedErased"> & {
  /** Where the blocks begin that the server did not hold for the request before: first the answer to that one. */
  readonly from: number;
};

/** The requests that a prompt consists of, oldest first: a server adds what it is sent to what it holds. */
function partsOf(prompt: SentPrompt): readonly Part[] {
  const parts: Part[] = [];
  for (let at: SentPrompt | null = prompt; at !== null; at = at.before) parts.push(partOf(at));
  return parts.reverse();
}

const partOf = ({ input, request, quotedErased, before }: SentPrompt): Part => ({
  ...{ input, request, quotedErased },
  from: before?.input.length ?? 0,
});
