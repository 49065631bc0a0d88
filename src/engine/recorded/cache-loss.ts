import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { CacheLoss, Repair } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import { notRead } from "../../domain/not-read.ts";
import type { Turn } from "../../domain/turn.ts";
import { equalBeginning } from "../../domain/turn-difference.ts";
import { type Blame, lastChange } from "../../projections/client-turn/blame.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { ConversationView, LatestAnswer } from "../../projections/views/conversation-view.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import { isOfErasure } from "../planning/repairs.ts";
import { changedSettings, differsForCertain } from "../planning/request-settings.ts";
import { changedSince, isAfter, type OnTheWay } from "./changed-by.ts";
import { type ActorOf, promptChange } from "./prompt-change.ts";
import { outgoingTurn, recordedPlan, requestOf } from "./recorded-request.ts";

/** A request, and what its endpoint was sent before. */
export type CacheLossOf = Pick<PlanRequest, "contexts" | "provenance" | "scope" | "settings" | "settingsDigest"> & {
  /** The Turn that leaves the innermost layer, and the part that the input is made from. */
  readonly outgoing: Turn;
  readonly turn: Turn;
  readonly now: OnTheWay;
  readonly latest: LatestAnswer;
  readonly blame: ReadonlyMap<string, Blame> | null;
  /** How it is made legal. */
  readonly repairs: readonly Repair[];
};

/**
 * What of an earlier prompt a request gives up, so that no prompt cache can serve it, and who caused that. It compares by digests, so it
 * costs little while conversations only grow. The earlier request is the newest answered one, or an older one that shares more.
 */
export function cacheLoss(asked: CacheLossOf): CacheLoss {
  const { outgoing, latest, contexts, settings, settingsDigest } = asked;
  const { context, turn } = latest;
  const promptLength = turn.length - (context.length - context.inputLength);
  const isSame = context.settingsDigest === settingsDigest;
  // Mostly the Turn goes on from the answer, and one digest tells.
  if (isSame && turn.length <= outgoing.length && outgoing.contextAt(turn.length) === turn.digest)
    return orErased(asked, wholeLoss(context, promptLength), context);
  const prompt = turn.slice(promptLength);
  const kept = equalBeginning(prompt, outgoing);
  const isErased = !isSame && [context.settingsDigest, settingsDigest].some(contexts.hasErasedSettings);
  const before = contexts.settings(context.settingsDigest);
  const differing = isSame ? [] : changedPaths(before, settings);
  const changed = isErased ? differing.filter((path) => differsForCertain(before, settings, path)) : differing;
  if (!isErased && changed.length === 0 && kept === prompt.length)
    return orErased(asked, wholeLoss(context, kept), context);
  const other = wholePrefix(asked);
  if (other !== null && (isErased || changed.length > 0 || other.inputLength > kept))
    return orErased(asked, wholeLoss(other, other.inputLength), other);
  // It is not known whether what is read before the blocks differs, so no block is the first that does.
  const found = isErased || kept === prompt.length ? null : changeOf(asked, prompt);
  const loss = {
    ...{ against: context.inferenceId, settings: [...changed], unit: found?.blockId ?? null },
    ...{ actor: found?.actor ?? null, keptBlocks: kept, ...(isErased ? { erased: true as const } : {}) },
    lostBytes: bytesAgain(prompt, outgoing, isErased || changed.some(isReadFirst) ? 0 : kept),
  };
  return orErased(asked, loss, context);
}

/** The same if a block before has lost its content since the earlier request: it has its name still, and a stand-in is sent for it. */
function orErased({ outgoing, turn, repairs, blame }: CacheLossOf, loss: CacheLoss, before: ServerContext): CacheLoss {
  const first = outgoing.length - turn.length;
  const places = repairs.filter(isOfErasure).map(({ index }) => first + index);
  for (const place of places.toSorted((one, other) => one - other)) {
    const block = outgoing.at(place);
    if (block === undefined || place >= loss.keptBlocks) return loss;
    const erased = (blame ?? notRead()).get(idOf(block))?.erased;
    if (erased === undefined || !isAfter(erased, before)) continue;
    const again = loss.settings.some(isReadFirst) ? [] : outgoing.slice(loss.keptBlocks).after(place + 1);
    return {
      ...{ ...loss, unit: block.id, actor: erased.actor, erased: true, keptBlocks: place },
      lostBytes: loss.lostBytes + again.reduce((sum, each) => sum + bytesOf(each), 0),
    };
  }
  return loss;
}

/** The bytes that are sent again of what was sent before, from a place on. */
function bytesAgain(prompt: Turn, outgoing: Turn, from: number): number {
  const sent = new Set<BlockId | null>(prompt.after(from).map(idOf));
  return outgoing.after(from).reduce((sum, block) => sum + (sent.has(block.id) ? bytesOf(block) : 0), 0);
}

/** What every server reads before the messages. */
const isReadFirst = (path: string): boolean => /^(model|instructions|tools)\b/.test(path);

const wholeLoss = ({ inferenceId: against }: ServerContext, keptBlocks: number): CacheLoss => ({
  ...{ against, settings: [], unit: null, actor: null, keptBlocks, lostBytes: 0 },
});

/** An earlier prompt with the same settings with which the Turn begins. */
function wholePrefix({ turn, contexts, scope, settingsDigest }: CacheLossOf): ServerContext | null {
  for (const { digest } of turn.contexts()) {
    const same = contexts
      .ofTurn(digest)
      .findLast((each) => each.scope === scope && each.settingsDigest === settingsDigest);
    if (same !== undefined) return same;
  }
  return null;
}

function changeOf({ outgoing, now, latest: { context }, provenance, blame }: CacheLossOf, prompt: Turn) {
  const changeOfBlock = (block: Block) => lastChange(blame ?? notRead(), block);
  const actorOf: ActorOf = (changed, before) =>
    changedSince(changed, before, { now, place: context, authorOf: provenance.authorOf, changeOf: changeOfBlock });
  return promptChange(prompt, outgoing, { provenance, actorOf })?.divergence ?? null;
}

const bytesOf = ({ payload }: Block): number => utf8Length(JSON.stringify(payload));

/** The settings that differ, by path: `model`, `reasoning.effort`. */
function changedPaths(before: JsonObject, now: JsonObject): readonly string[] {
  return changedSettings(before, now).flatMap((name) => {
    const [was, is] = [before[name], now[name]];
    if (!isJsonObject(was) || !isJsonObject(is)) return [name];
    return changedSettings(was, is).map((member) => `${name}.${member}`);
  });
}

/** Whether settings were erased, so that it is not known what a request gives up. */
export const isUnknownLoss = ({ unit, erased }: Pick<CacheLoss, "unit" | "erased">): boolean =>
  erased === true && unit === null;

/** The same for a recorded request, from the log alone: null for the first of an endpoint, and for one beside the conversation. */
export function recordedLoss(view: ConversationView, recorded: RecordedEvent): CacheLoss | null {
  const { scope, decision } = requestOf(recorded);
  const latest = decision.reason === "aside" ? undefined : view.latest.get(scope);
  const { run, blame } = view.client;
  if (latest === undefined || run === null) return null;
  const now = { passes: run.turns.passes, frame: recorded.frame };
  const asked = { ...recordedPlan(view, recorded), outgoing: outgoingTurn(view, recorded), repairs: decision.repairs };
  return cacheLoss({ ...asked, latest, now, blame });
}
