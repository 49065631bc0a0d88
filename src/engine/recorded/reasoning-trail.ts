import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { Decision } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import { usageOf } from "../../projections/usage.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { type BoundPlace, behind, boundItemOf, firstPlace, type HeldItem, sentItems } from "../planning/bound-place.ts";
import { inputTurn, outgoingTurn } from "./recorded-request.ts";

/** What a server holds: the items that it was sent, after what it held before. Lists share their prefixes. */
export type HeldItems = {
  readonly before: HeldItems | null;
  readonly items: readonly HeldItem[];
  readonly end: BoundPlace;
};

/** An answer, and what it was made from. */
export type MadeAnswer = {
  readonly inferenceId: string;
  readonly stream: string;
  readonly revision: number;
  /** When it came. */
  readonly at: string;
  readonly settingsDigest: string;
  /** The Turn that left the innermost layer, and the part that the input was made from. */
  readonly outgoing: Turn;
  readonly input: Turn;
  /** What the server held for the request, and with the answer. */
  readonly asked: HeldItems;
  readonly after: HeldItems;
  readonly output: readonly Block[];
  /** The place of each reasoning block of the output, by its index there. */
  readonly places: ReadonlyMap<number, BoundPlace>;
  /** As the provider counted them. */
  readonly reasoningTokens: number;
};

/** What the events so far say about the prefixes of reasoning: everything that its survival is judged by. */
export type ReasoningTrail = {
  /** By inference id. */
  readonly answers: Map<string, MadeAnswer>;
  /** Who first declared settings, by their digest. */
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

/** Applies the next event, after `view` has applied it. */
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
    const item = boundItemOf(block, input.length + offset);
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

/** What a server holds of a request: the anchor's items, then the ones that were sent, after the repairs. */
export function heldOf(trail: ReasoningTrail, input: Turn, sent: SentAs): HeldItems {
  const { anchor, sendFrom } = sent.decision;
  const before =
    anchor === null ? null : (trail.answers.get(anchor.inferenceId ?? "")?.after ?? unshaped(input, sendFrom));
  const items = sentItems(input, sent);
  return { before, items, end: items.reduce(behind, before?.end ?? firstPlace) };
}

/** The items in order, from the first on. */
export function itemsOf(held: HeldItems): readonly HeldItem[] {
  const parts: (readonly HeldItem[])[] = [];
  for (let part: HeldItems | null = held; part !== null; part = part.before) parts.push(part.items);
  return parts.reverse().flat();
}

/** The items of a context whose request is unknown: the Turn's blocks. */
function unshaped(input: Turn, length: number): HeldItems {
  const items = input.blocks.slice(0, length).map((block, index) => boundItemOf(block, index));
  return { before: null, items, end: items.reduce(behind, firstPlace) };
}
