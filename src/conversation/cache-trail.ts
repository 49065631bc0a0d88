import { copiedMap, GrowingMap } from "../base/growing-map.ts";
import type { JsonObject } from "../base/json.ts";
import { Block } from "../domain/block.ts";
import type { ConversationEvent } from "../domain/events/event.ts";
import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Counts } from "../domain/events/shared.ts";
import type { BlockId } from "../domain/ids.ts";
import { Turn } from "../domain/turn.ts";
import { shapedBlocks } from "../engine/planning/build-request.ts";
import { inputTurn, outgoingTurn } from "../engine/planning/recorded-request.ts";
import { isOfErasure } from "../engine/planning/repairs.ts";
import type { Codec, SentBlock } from "../engine/stack/codec.ts";
import type { Follower } from "../log/fold/fold.ts";
import { partsOf as tokenPartsOf } from "../projections/billed-parts.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import type { RunTurns } from "../projections/run-turns.ts";
import { answerCounts } from "../providers/answer-counts.ts";
import { detailsOfWhole, type PlacedDetails } from "../providers/caching/placed-details.ts";
import { type CacheDiagnosis, diagnosisIn } from "../providers/caching/told-diagnosis.ts";
import { codecs } from "../providers/codecs.ts";

/** A request of a conversation, with everything that its server held for it. */
export type SentPrompt = {
  readonly recorded: RecordedEvent;
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  /** The Turn that left the innermost layer, and the part that the input was made from. */
  readonly outgoing: Turn;
  readonly input: Turn;
  /** The request whose answer it continued from. */
  readonly before: SentPrompt | null;
  /** The Turns of its run, which know who removed blocks there. */
  readonly turns: RunTurns | null;
};

/** What became of a request. */
export type PromptOutcome = {
  /** What its answer, or its failure, reported; null for nothing. */
  readonly counts: Counts | null;
  /** What its vendor says of the prompt; null if the answer does not say. */
  readonly diagnosis: CacheDiagnosis | null;
  /** When its answer began, as a time in milliseconds; null if it had none. */
  readonly answerAt: number | null;
  /** The server rejected it before it acted, and cached nothing. */
  readonly isRejected: boolean;
};

/** All requests of a conversation so far, those of layers included, oldest first. */
export type CacheTrail = {
  readonly prompts: Map<string, SentPrompt>;
  readonly outcomes: Map<string, PromptOutcome>;
  /** Names of settings whose content was erased, or that were declared as a difference from such: their prompts are not known. */
  readonly erasedSettings: Set<string>;
};

export const emptyTrail = (): CacheTrail => ({
  prompts: new GrowingMap(),
  outcomes: new GrowingMap(),
  erasedSettings: new Set(),
});

/** A trail that goes on by itself. The prompts of the open run know its Turns, of which the copy has another object. */
export function copiedTrail(
  { prompts, outcomes, erasedSettings }: CacheTrail,
  { from, to }: { readonly from: RunTurns | null; readonly to: RunTurns | null },
): CacheTrail {
  const copy = copiedMap(prompts);
  const own = from === null ? [] : [...prompts].filter(([, prompt]) => prompt.turns === from);
  for (const [id, prompt] of own) {
    const before = prompt.before === null ? null : (copy.get(prompt.before.request.inferenceId) ?? prompt.before);
    copy.set(id, { ...prompt, before, turns: to });
  }
  return { prompts: copy, outcomes: copiedMap(outcomes), erasedSettings: new Set(erasedSettings) };
}

/** Follows a reading of events, also one that starts over. */
export function cacheTrailReader(): { readonly follow: () => Follower; readonly trail: () => CacheTrail } {
  let trail = emptyTrail();
  return {
    follow() {
      const own = emptyTrail();
      trail = own;
      return (recorded, view) => {
        notePrompt(own, recorded, view);
      };
    },
    trail: () => trail,
  };
}

/** Follows the next event, with the view after it. */
export function notePrompt(trail: CacheTrail, recorded: RecordedEvent, view: ConversationView): void {
  const { prompts, outcomes, erasedSettings } = trail;
  const { event, hasErased } = recorded;
  if (event.type === "SettingsDeclared" && (hasErased === true || erasedSettings.has(event.data.base ?? "")))
    erasedSettings.add(event.data.digest);
  if (event.type !== "InferenceRequested" && event.type !== "WarmUpRequested") {
    const prompt = "inferenceId" in event.data ? prompts.get(event.data.inferenceId) : undefined;
    const outcome = prompt === undefined ? null : outcomeOf(recorded, prompt);
    if (prompt !== undefined && outcome !== null) outcomes.set(prompt.request.inferenceId, outcome);
    return;
  }
  const { inferenceId, settingsDigest, decision } = event.data;
  prompts.set(inferenceId, {
    ...{ recorded, request: event.data, settings: view.server.settings.get(settingsDigest) ?? {} },
    ...{ outgoing: outgoingTurn(view, recorded), input: inputTurn(view, recorded) },
    before: prompts.get(decision.anchor?.inferenceId ?? "") ?? null,
    turns: view.client.run?.turns ?? null,
  });
}

/** What an event says about the outcome of a request; null if it says nothing. */
export function outcomeOf(
  { event, at }: { readonly event: ConversationEvent; readonly at: string },
  prompt: SentPrompt,
): PromptOutcome | null {
  const { request, settings, recorded } = prompt;
  switch (event.type) {
    case "ResponseReceived":
    case "WarmUpAnswered": {
      const { usage, rest, echoed, firstMs } = event.data;
      const repeated = Object.fromEntries(echoed.map((name) => [name, settings[name] ?? null]));
      const answered = { members: { ...rest, ...repeated }, encoder: request.encoder };
      return {
        counts: usage === undefined ? null : soundCounts(answerCounts.countsOf({ usage, ...answered })),
        diagnosis: diagnosisIn(familyOf(request.encoder), rest),
        answerAt: firstMs === undefined ? Date.parse(at) : Date.parse(recorded.at) + firstMs,
        isRejected: false,
      };
    }
    case "InferenceFailed":
    case "WarmUpFailed": {
      const { usage, outcome } = event.data;
      const counts =
        usage === undefined
          ? null
          : soundCounts(answerCounts.countsOf({ usage, members: {}, encoder: request.encoder }));
      // Tokens that were counted were read by the model.
      return {
        counts,
        diagnosis: null,
        answerAt: counts === null ? null : Date.parse(at),
        isRejected: outcome === "rejected",
      };
    }
    default:
      return null;
  }
}

const familyOf = (encoder: string): string => codecs.get(encoder)?.family ?? "";

/** Null if they contradict each other: then none of them can be relied on. */
const soundCounts = (counts: Counts): Counts | null => (tokenPartsOf(counts) === null ? null : counts);

/**
 * What the server read of a prompt: what it held before, and what it was sent, after the repairs; and the details of its body, whose places
 * count from the beginning of that.
 */
export function wholeInput(
  prompt: SentPrompt,
  codec: Codec,
): { readonly input: readonly SentBlock[]; readonly details: JsonObject | undefined } {
  const input: SentBlock[] = [];
  const sent: PlacedDetails[] = [];
  for (const part of partsOf(prompt)) {
    const { scope, decision } = part.request;
    const carriage = { codec, scope, itemIds: decision.capabilities["itemIds"] === true };
    const standIns = standInsOf(part);
    const asSent = (each: SentBlock): SentBlock =>
      each.block.isErased && !standIns.has(each.block.id) ? { ...each, block: beforeErasure(each.block) } : each;
    input.push(...shapedBlocks(part.input.slice(decision.sendFrom), part.from, [], carriage).map(asSent));
    sent.push({ before: input.length, details: decision.details });
    input.push(...shapedBlocks(part.input, decision.sendFrom, decision.repairs, carriage).map(asSent));
  }
  return { input, details: detailsOfWhole(sent) };
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
  for (let at: SentPrompt | null = prompt; at !== null; at = at.before)
    parts.push({ input: at.input, request: at.request, from: at.before?.input.length ?? 0 });
  return parts.reverse();
}
