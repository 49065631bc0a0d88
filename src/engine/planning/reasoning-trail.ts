import { sha256Hex } from "../../base/sha256.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import { emptyContext, extendContext } from "../../domain/context.ts";
import type { Decision, Repair } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import { usageOf } from "../../projections/usage.ts";
import { withoutItemId } from "./build-request.ts";
import { carriesId } from "./groups.ts";
import { inputTurn, outgoingTurn } from "./recorded-request.ts";
import { placeOf } from "./repairs.ts";

/**
 * What stands before a block in what a server is sent: what reasoning is bound to that was made there. All but reasoning, as one
 * digest, and the reasoning, newest first, because the oldest may be left out later.
 */
export type BoundPlace = { readonly others: string; readonly reasoning: EarlierReasoning | null };
type EarlierReasoning = { readonly digest: string; readonly before: EarlierReasoning | null };

const atTheBeginning: BoundPlace = { others: emptyContext, reasoning: null };

/** A block of the input, by its place there, and what came of it in the request. */
export type HeldItem = {
  readonly index: number;
  readonly isReasoning: boolean;
  /** It stands for what came before it: what is made behind it is bound to nothing earlier. */
  readonly compacts?: boolean;
  /** What it counts as; null for what is not there. */
  readonly digest: string | null;
  /** Why it was left out. */
  readonly omitted: string | null;
};

/** What a server holds: what it was sent, behind what it held before. Lists share their beginnings. */
export type HeldItems = {
  readonly before: HeldItems | null;
  readonly items: readonly HeldItem[];
  readonly end: BoundPlace;
};

/** An answer with what it was made of. */
export type MadeAnswer = {
  readonly inferenceId: string;
  readonly stream: string;
  readonly revision: number;
  /** When it came. */
  readonly at: string;
  readonly settingsDigest: string;
  /** What left the innermost layer, and what of it the input was made of. */
  readonly outgoing: Turn;
  readonly input: Turn;
  /** What the server held of the request, and with the answer. */
  readonly asked: HeldItems;
  readonly after: HeldItems;
  readonly output: readonly Block[];
  /** What stood before each reasoning block of the output, by its place there. */
  readonly places: ReadonlyMap<number, BoundPlace>;
  /** As the provider counted them. */
  readonly reasoningTokens: number;
};

/** What the events so far tell of what reasoning was made from: everything that its survival is judged by. */
export type ReasoningTrail = {
  /** By inference id. */
  readonly answers: Map<string, MadeAnswer>;
  /** Who declared settings first, by their digest. */
  readonly declarers: Map<string, Actor>;
  readonly open: Map<string, Pick<MadeAnswer, "outgoing" | "input" | "asked" | "settingsDigest">>;
  /** The last request of the conversation. */
  last: RecordedEvent | null;
};

export const newTrail = (): ReasoningTrail => ({
  answers: new Map(),
  declarers: new Map(),
  open: new Map(),
  last: null,
});

/** Takes in the next event; `view` has taken it in. */
export function noteReasoning(trail: ReasoningTrail, recorded: RecordedEvent, view: ConversationView): void {
  const { event, actor, frame } = recorded;
  switch (event.type) {
    case "SettingsDeclared":
      if (!trail.declarers.has(event.data.digest)) trail.declarers.set(event.data.digest, actor);
      return;
    case "InferenceRequested": {
      if (isAside(frame)) return;
      const [outgoing, input] = [outgoingTurn(view, recorded), inputTurn(view, recorded)];
      const { inferenceId, settingsDigest } = event.data;
      trail.open.set(inferenceId, { outgoing, input, settingsDigest, asked: heldOf(trail, input, event.data) });
      trail.last = recorded;
      return;
    }
    case "InferenceFailed":
      trail.open.delete(event.data.inferenceId);
      return;
    case "ResponseReceived": {
      const { inferenceId, usage } = event.data;
      const asked = trail.open.get(inferenceId);
      trail.open.delete(inferenceId);
      const result = view.client.run?.turns.response(inferenceId) ?? null;
      if (asked === undefined || result === null) return;
      const { stream, revision, at } = recorded;
      const { reasoningTokens } = usageOf(usage);
      const made = { inferenceId, stream, revision, at, reasoningTokens, ...asked };
      trail.answers.set(inferenceId, { ...made, ...answered(asked, result) });
      return;
    }
    default:
  }
}

function answered(
  { outgoing, input, asked }: Pick<MadeAnswer, "outgoing" | "input" | "asked">,
  result: Turn,
): Pick<MadeAnswer, "output" | "places" | "after"> {
  const output = result.after(outgoing.length);
  const places = new Map<number, BoundPlace>();
  const items: HeldItem[] = [];
  let end = asked.end;
  for (const [offset, block] of output.entries()) {
    if (block.kind === "reasoning") places.set(block.wire?.group?.index ?? offset, end);
    const item = itemOf(block, input.length + offset);
    items.push(item);
    end = behind(end, item);
  }
  return { output, places, after: { before: asked, items, end } };
}

/** How a request was sent, or would be. */
export type SentAs = {
  readonly decision: Pick<Decision, "anchor" | "sendFrom" | "repairs" | "capabilities">;
  readonly scope: string;
};

/** What a server holds of a request: what the anchor holds, and what was sent behind it as its repairs left it. */
export function heldOf(trail: ReasoningTrail, input: Turn, { decision, scope }: SentAs): HeldItems {
  const { anchor, sendFrom, repairs, capabilities } = decision;
  const before =
    anchor === null ? null : (trail.answers.get(anchor.inferenceId ?? "")?.after ?? unshaped(input, sendFrom));
  const byPlace = Map.groupBy(repairs, placeOf);
  const items: HeldItem[] = [];
  let end = before?.end ?? atTheBeginning;
  const add = (item: HeldItem): void => {
    items.push(item);
    end = behind(end, item);
  };
  for (const [offset, block] of [...input.after(sendFrom), null].entries()) {
    const index = sendFrom + offset;
    const here = byPlace.get(index) ?? [];
    for (const { rule } of here)
      if (rule === "answer" || rule === "prompt")
        add({ index, isReasoning: false, digest: rule === "answer" ? anAnswer : aPrompt, omitted: null });
    if (block === null) continue;
    const isBare = !carriesId(block, { scope, itemIds: capabilities["itemIds"] === true }) || here.some(takesId);
    const omitted = here.find(({ rule }) => rule === "omit");
    add(omitted === undefined ? itemOf(block, index, isBare) : leftOut(block, index, omitted));
  }
  return { before, items, end };
}

/** The items from the beginning on. */
export function itemsOf(held: HeldItems): readonly HeldItem[] {
  const parts: (readonly HeldItem[])[] = [];
  for (let part: HeldItems | null = held; part !== null; part = part.before) parts.push(part.items);
  return parts.reverse().flat();
}

/** What stands before the block that comes next. */
export function behind({ others, reasoning }: BoundPlace, { digest, isReasoning, compacts }: HeldItem): BoundPlace {
  if (digest === null) return { others, reasoning };
  if (compacts === true) return { others: extendContext(emptyContext, digest), reasoning: null };
  if (isReasoning) return { others, reasoning: { digest, before: reasoning } };
  return { others: extendContext(others, digest), reasoning };
}

export const firstPlace = atTheBeginning;

/** Whether what was made at one place may stand at another: there is the same before it, but for the oldest reasoning. */
export function isSamePlace(made: BoundPlace, now: BoundPlace): boolean {
  if (made.others !== now.others) return false;
  let [then, still] = [made.reasoning, now.reasoning];
  while (then !== still) {
    if (still === null) return true;
    if (then?.digest !== still.digest) return false;
    [then, still] = [then.before, still.before];
  }
  return true;
}

function itemOf(block: Block, index: number, isBare = false): HeldItem {
  const isReasoning = block.kind === "reasoning";
  const compacts = block.wire?.compacts === true;
  // What is encrypted says under which id it was given out, also where it goes without; an item that only the server knows does not.
  const digest = isBare && block.kind === "other" && !compacts ? withoutItemId(block).digest : block.digest;
  return { index, isReasoning, compacts, digest, omitted: null };
}

const leftOut = ({ kind }: Block, index: number, { detail }: Repair): HeldItem => ({
  ...{ index, isReasoning: kind === "reasoning", digest: null },
  omitted: typeof detail["reason"] === "string" ? detail["reason"] : "omit",
});

/** A call goes out under another id as the same call: what a model reads of it does not change. */
const takesId = ({ rule }: Repair): boolean => rule === "omit-id" || rule === "rename-call";

/** What the answer to an open call counts as. */
const anAnswer = sha256Hex("turnlog/aborted");
const aPrompt = sha256Hex("turnlog/prompt");

/** Of a context whose request is not known: what the Turn says. */
function unshaped(input: Turn, length: number): HeldItems {
  const items = input.blocks.slice(0, length).map((block, index) => itemOf(block, index));
  return { before: null, items, end: items.reduce(behind, atTheBeginning) };
}
