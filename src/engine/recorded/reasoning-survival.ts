import type { JsonObject } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import { Block, idOf } from "../../domain/block.ts";
import type { Divergence } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { behind, firstPlace, type HeldItem, isSamePlace } from "../planning/bound-place.ts";
import { divergenceOf, type Provenance } from "../planning/divergence.ts";
import { changedBefore } from "../planning/request-settings.ts";
import type { Codec } from "../ports/codec.ts";
import { heldOf, itemsOf, type MadeAnswer, type ReasoningTrail, type SentAs } from "./reasoning-trail.ts";

/** A part of the reasoning's prefix that has changed since, and who changed it; null if unknown. */
export type ReasoningBreak = {
  /** `instructions`, `tools` (or another setting that the codec names), `model`, `blocks`. */
  readonly what: string;
  readonly actor: Actor | null;
  /** For `blocks`: the first one that differs, if the Turn shows it; its index is in the Turn. */
  readonly divergence: Divergence | null;
  /** For `blocks` that the Turn still has: why a request left one of them out. */
  readonly omitted: string | null;
};

/** What happens to one reasoning block of a Turn that is sent. */
export type ReasoningFate = {
  /** Its place in the Turn. */
  readonly index: number;
  readonly blockId: BlockId;
  /** The provider's id of it; null if it gave none. */
  readonly itemId: string | null;
  /** The answer that it came in; null if the log does not have it. */
  readonly from: {
    readonly inferenceId: string;
    readonly stream: string;
    readonly revision: number;
    readonly at: string;
  } | null;
  /** Whether the prefix of the reasoning is unchanged: `unknown` if the log does not have it. */
  readonly prefix: "intact" | "broken" | "unknown";
  readonly brokenBy: readonly ReasoningBreak[];
  /**
   * What the provider does with it: `accepted`, `withheld` from the model without an error, or the request is `refused`; `left-out`
   * if it is not sent.
   */
  readonly fate: "accepted" | "withheld" | "refused" | "left-out";
  /** Why it is not accepted: `prefix`, `model`, `turn-boundary`, or the reason for leaving it out. */
  readonly reason: string | null;
};

/** A Turn and how it was sent, or would be. */
export type SentTurn = SentAs & {
  readonly outgoing: Turn;
  /** The part of the Turn that the input is made from. */
  readonly input: Turn;
  readonly settings: JsonObject;
  readonly settingsDigest: string;
  readonly settingsOf: (digest: string) => JsonObject;
  readonly codec: Pick<Codec, "readsReasoning">;
  readonly provenance: Provenance;
};

/**
 * What happens to each reasoning block of a Turn (rule: Reasoning survival). Pure. A block depends on what preceded it in the
 * request that it answered, as that was sent: instructions, tools and blocks, of which only the oldest reasoning may be missing
 * since.
 */
export function reasoningFates(trail: ReasoningTrail, sent: SentTurn): readonly ReasoningFate[] {
  const items = itemsOf(heldOf(trail, sent.input, sent));
  const lastUser = Math.max(
    sent.input.blocks.findLastIndex(({ kind }) => kind === "user"),
    // A late result counts as a user's message.
    ...sent.decision.repairs.flatMap(({ rule, index }) => (rule === "late-result" ? [index] : [])),
  );
  const changedSettings = memoised((made: MadeAnswer) => changedSince(trail, made, sent));
  const fates: ReasoningFate[] = [];
  let place = firstPlace;
  for (const item of items) {
    const here = place;
    place = behind(place, item);
    const block = item.isReasoning ? sent.input.at(item.index) : undefined;
    if (block === undefined) continue;
    const { made, there } = originOf(trail, block);
    const brokenBy = made === null ? [] : [...changedSettings(made)];
    if (made !== null && there !== null && !isSamePlace(there, here)) {
      brokenBy.push(blocksBroken({ made, block }, { item, items, sent }));
    }
    const isBroken = brokenBy.some(({ what }) => what !== "model");
    fates.push({
      index: item.index + sent.outgoing.length - sent.input.length,
      blockId: idOf(block),
      itemId: block.wire?.itemId ?? null,
      from: made === null ? null : placeIn(made),
      prefix: there === null ? "unknown" : isBroken ? "broken" : "intact",
      brokenBy,
      ...fateOf(item, brokenBy, { ...sent, isEarlierTurn: item.index < lastUser }),
    });
  }
  return fates;
}

/** The answer that a block came in, and the place that it had there; null if the log does not have them. */
function originOf(trail: ReasoningTrail, { wire }: Block) {
  const group = wire?.group;
  const made = group === undefined ? null : (trail.answers.get(group.id) ?? null);
  return { made, there: made?.places.get(group?.index ?? 0) ?? null };
}

const placeIn = ({ inferenceId, stream, revision, at }: MadeAnswer) => ({ inferenceId, stream, revision, at });

type Circumstances = Pick<SentTurn, "decision" | "settings" | "codec"> & { readonly isEarlierTurn: boolean };

function fateOf(
  { omitted }: HeldItem,
  brokenBy: readonly ReasoningBreak[],
  { decision, settings, codec, isEarlierTurn }: Circumstances,
): Pick<ReasoningFate, "fate" | "reason"> {
  if (omitted !== null) return { fate: "left-out", reason: omitted };
  const { reasoningPrefix } = decision.capabilities;
  const checks = reasoningPrefix === "withhold" || reasoningPrefix === "refuse";
  if (!checks) return { fate: "accepted", reason: null };
  if (brokenBy.some(({ what }) => what === "model")) return { fate: "withheld", reason: "model" };
  if (isEarlierTurn && codec.readsReasoning?.(settings) === "turn")
    return { fate: "withheld", reason: "turn-boundary" };
  if (brokenBy.length === 0) return { fate: "accepted", reason: null };
  return { fate: reasoningPrefix === "refuse" ? "refused" : "withheld", reason: "prefix" };
}

/** The settings that a model reads before the blocks and that have changed since the request of an answer. */
function changedSince(trail: ReasoningTrail, made: MadeAnswer, sent: SentTurn): readonly ReasoningBreak[] {
  if (made.settingsDigest === sent.settingsDigest) return [];
  const before = sent.settingsOf(made.settingsDigest);
  const isSameModel = before["model"] === sent.settings["model"];
  const changed = changedBefore(before, sent.settings);
  return [...(isSameModel ? [] : ["model"]), ...changed].map((what) => ({
    ...{ what, divergence: null, omitted: null },
    actor: what === "instructions" ? instructionsChangedBy(trail, made, sent) : null,
  }));
}

/** Who changed a block of the instructions, or else who declared the settings. */
function instructionsChangedBy(trail: ReasoningTrail, made: MadeAnswer, sent: SentTurn): Actor | null {
  const said = ({ outgoing, input }: Pick<SentTurn, "outgoing" | "input">): Turn =>
    outgoing.slice(outgoing.length - input.length);
  const divergence = divergenceOf(said(made), said(sent), sent.provenance);
  return divergence?.actor ?? trail.declarers.get(sent.settingsDigest) ?? null;
}

type Broken = { readonly made: MadeAnswer; readonly block: Block };
type BrokenIn = { readonly item: HeldItem; readonly items: readonly HeldItem[]; readonly sent: SentTurn };

/** The first difference in the blocks before a block, and who made it. */
function blocksBroken({ made, block }: Broken, { item, items, sent }: BrokenIn): ReasoningBreak {
  const place = made.output.findIndex((each) => Block.areEqual(each, block));
  const then = [...made.input.blocks, ...made.output.slice(0, Math.max(0, place)), block];
  const now = [...sent.input.blocks.slice(0, item.index), block];
  const counts = (other: Block): boolean => other.kind !== "reasoning" || other === block;
  const divergence =
    divergenceOf(Turn.of(then.filter(counts)), Turn.of(now.filter(counts)), sent.provenance) ??
    divergenceOf(Turn.of(then), Turn.of(now), sent.provenance);
  if (divergence !== null) {
    const { blockId } = divergence;
    const places = [sent.outgoing, made.outgoing].map((turn) => turn.blocks.findIndex(({ id }) => id === blockId));
    const index = places.find((found) => found >= 0) ?? divergence.index;
    return { what: "blocks", actor: divergence.actor, divergence: { ...divergence, index }, omitted: null };
  }
  const had = new Set(itemsOf(made.asked).flatMap(({ index, digest }) => (digest === null ? [] : [index])));
  const lacking = items.find(({ index, omitted }) => omitted !== null && index < item.index && had.has(index));
  return { what: "blocks", actor: { kind: "engine" }, divergence: null, omitted: lacking?.omitted ?? null };
}

function memoised<Key, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}
