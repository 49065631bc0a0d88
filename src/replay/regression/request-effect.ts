import { utf8Length } from "../../base/utf8.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { RequestPair } from "./culprit.ts";

/** What it changes that a request is made otherwise. */
export type RequestEffect = {
  /** It continued from a response, and sends everything now. */
  readonly breaksChain: boolean;
  /** It gives up more of an earlier prompt, so that the prompt cache serves less of it. */
  readonly breaksCache: boolean;
  /** How many reasoning blocks it leaves out that were sent before. */
  readonly lostReasoning: number;
  /** The size of what the model reads now, as a part of what it read before; null if that is not known. */
  readonly size: number | null;
  /** The part of what it reads that an earlier request began with, and the cache may serve; null if nothing of it is lost. */
  readonly kept: number | null;
};

/** The Turns that left the innermost layer; null if unknown. */
export type RequestTurns = { readonly before: Turn | null; readonly now: Turn | null };

export function requestEffect({ before, now }: RequestPair, turns: RequestTurns): RequestEffect {
  if (before === null || now === null)
    return { breaksChain: false, breaksCache: false, lostReasoning: 0, size: null, kept: null };
  const [then, today] = [before.data, now.data];
  const isFull = today.decision.strategy === "full";
  const lost = (today.decision.cache?.lostBytes ?? 0) - (then.decision.cache?.lostBytes ?? 0);
  return {
    breaksChain: then.decision.strategy !== "full" && isFull,
    breaksCache: lost > 0 || losesSettings(then, today),
    lostReasoning: Math.max(0, omitted(today, turns.now) - omitted(then, turns.before)),
    ...sizes(today, turns),
  };
}

/** The first block that differs; null if none does, or a Turn is not known. */
export function firstOtherBlock({ before, now }: RequestTurns): number | null {
  if (before === null || now === null || before.digest === now.digest) return null;
  const at = Array.from({ length: Math.min(before.length, now.length) }).findIndex(
    (_, index) => before.at(index)?.recordedAs !== now.at(index)?.recordedAs,
  );
  return at < 0 ? Math.min(before.length, now.length) : at;
}

/** A server reads model, instructions and tools before everything else. */
const losesSettings = (then: InferenceRequestedData, today: InferenceRequestedData): boolean =>
  firstSettings(today) > 0 && firstSettings(then) === 0;

const firstSettings = ({ decision }: InferenceRequestedData): number =>
  decision.cache?.settings.filter((path) => /^(model|instructions|tools)\b/.test(path)).length ?? 0;

function omitted({ decision, input }: InferenceRequestedData, turn: Turn | null): number {
  if (turn === null) return 0;
  // Leading system blocks may be outside the input.
  const first = turn.length - input.blocks;
  return decision.repairs.filter(({ rule, index }) => rule === "omit" && turn.at(first + index)?.kind === "reasoning")
    .length;
}

function sizes(
  { decision: { cache } }: InferenceRequestedData,
  { before, now }: RequestTurns,
): Pick<RequestEffect, "size" | "kept"> {
  if (before === null || now === null) return { size: null, kept: null };
  const [then, today] = [bytesOf(before), bytesOf(now)];
  const isLost = cache != null && (cache.lostBytes > 0 || cache.settings.length > 0);
  return {
    size: then === 0 ? null : today / then,
    kept: isLost && today > 0 ? bytesOf(now.slice(Math.min(cache.keptBlocks, now.length))) / today : null,
  };
}

const bytesOf = (turn: Turn): number =>
  turn.blocks.reduce((sum, { payload }) => sum + utf8Length(JSON.stringify(payload)), 0);
