import { type Block, idOf } from "../../domain/block.ts";
import { erasedFormOf } from "../../domain/events/erased-content.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Provenance } from "../../engine/planning/divergence.ts";
import { leadingSystemBlocks } from "../../engine/planning/instruction-blocks.ts";
import { changedBefore } from "../../engine/planning/request-settings.ts";
import { changedBy, isAfter, type OnTheWay } from "../../engine/recorded/changed-by.ts";
import { promptChange } from "../../engine/recorded/prompt-change.ts";
import { type Blame, type BlockChange, lastChange } from "../../projections/client-turn/blame.ts";
import { type CacheAuthor, cacheAuthorOf, type PromptDivergence } from "../../projections/views/cache-author.ts";
import { erasedIn, type SentPrompt, sentTurn } from "./sent-prompt.ts";

/** Who changed a prompt since an earlier one, and what. */
export type CacheCulprit = {
  readonly author: CacheAuthor | null;
  /** The first block that differs, and who changed it; its index is in the Turn. Null if a setting or a repair made the difference. */
  readonly divergence: PromptDivergence | null;
  /** The block then and now; null where there is none. */
  readonly edit: { readonly before: Block | null; readonly after: Block | null } | null;
  /** Where the block got its present version, if the log says so. */
  readonly changed: BlockChange | null;
};

type Compared = {
  readonly then: SentPrompt;
  readonly now: SentPrompt;
  readonly provenance: Provenance;
  readonly blame: ReadonlyMap<string, Blame>;
};

export const bySettings: CacheCulprit = { author: { kind: "settings" }, divergence: null, edit: null, changed: null };

/** Who changed the instructions: a block that is sent as instructions has an author, other instructions are settings. */
export function instructionsChangedBy(compared: Compared): CacheCulprit {
  const said = ({ outgoing }: SentPrompt): Turn => outgoing.slice(leadingSystemBlocks(outgoing).length);
  const { then, now } = compared;
  // What is said before them, or not said any more, is a change of the whole Turn.
  const isSame = between(said(then), said(now), compared) === null;
  const found = (isSame ? null : between(then.outgoing, now.outgoing, compared)) ?? bySettings;
  const erased = erasedBetween(compared);
  return erased < said(now).length ? earlier(byErasure(erased, compared), found) : found;
}

/** Who changed whether a prompt has images: an erasure, if it took one of them. A provider counts it among the settings. */
export function imagesChangedBy(compared: Compared): CacheCulprit {
  const hadImage = ({ payload }: Block): boolean => erasedFormOf(payload).parts.includes("image");
  return byErasure(erasedBetween(compared, hadImage), compared) ?? bySettings;
}

/** Who changed the blocks. */
export function blocksChangedBy(compared: Compared): CacheCulprit {
  const { then, now } = compared;
  const [before, since] = [sentTurn(then), sentTurn(now)];
  const erased = erasedBetween(compared);
  const found = between(before, since, compared);
  if (found !== null || erased >= 0) return earlier(byErasure(erased, compared), found ?? byEngine);
  // A wire may send instructions as its first message.
  if (changedBefore(then.settings, now.settings).includes("instructions")) return instructionsChangedBy(compared);
  return areRepairedAlike(compared) ? grownBy(before.length, since, compared) : byEngine;
}

/** The place of the first block that the earlier request sent, and for which this one has a stand-in; -1 if there is none. */
function erasedBetween({ then, now, blame }: Compared, isMeant: (block: Block) => boolean = () => true): number {
  const [wasErased, isErased] = [standsInIn(then, blame), standsInIn(now, blame)];
  return now.outgoing.blocks.findIndex((block) => {
    const { isErased: isGone, id } = block;
    return isGone && id !== null && then.outgoing.indexOf(id) >= 0 && !wasErased(id) && isErased(id) && isMeant(block);
  });
}

/** Whether a prompt had a stand-in for an erased block, or left it out. Nothing is repaired in instructions: there the time of the erasure says it. */
function standsInIn(prompt: SentPrompt, blame: Compared["blame"]): (id: BlockId) => boolean {
  const repaired = erasedIn(prompt);
  return (id) => {
    if (prompt.input.indexOf(id) >= 0) return repaired.has(id);
    const { erased } = blame.get(id) ?? {};
    return erased !== undefined && !isAfter(erased, prompt.recorded);
  };
}

/** An erasure of the block at a place of the Turn, -1 for none: its name is the same, and its content is not. */
function byErasure(index: number, { now, blame }: Compared): CacheCulprit | null {
  const block = now.outgoing.at(index);
  if (index < 0 || block === undefined) return null;
  const { erased = null } = blame.get(idOf(block)) ?? {};
  const divergence = { index, blockId: block.id, change: "erased", actor: erased?.actor ?? null } as const;
  return { author: { kind: "erasure" }, divergence, edit: { before: null, after: block }, changed: erased };
}

/** Of two changes, the one of the earlier part of the prompt. */
const earlier = (erased: CacheCulprit | null, found: CacheCulprit): CacheCulprit =>
  erased !== null && (erased.divergence?.index ?? 0) <= (found.divergence?.index ?? Number.POSITIVE_INFINITY)
    ? erased
    : found;

const byEngine: CacheCulprit = { author: { kind: "engine" }, divergence: null, edit: null, changed: null };

/** Whether the blocks of the earlier request were repaired in the same way for both. */
function areRepairedAlike({ then, now }: Pick<Compared, "then" | "now">): boolean {
  const [before, since] = [then, now].map(({ request: { decision } }) =>
    JSON.stringify(decision.repairs.filter(({ index }) => index < then.input.length)),
  );
  return before === since;
}

/** A wire that joins messages of one speaker adds the next block to the last message of the earlier request. */
function grownBy(index: number, now: Turn, { provenance, blame }: Compared): CacheCulprit {
  const block = now.at(index);
  if (block === undefined) return byEngine;
  const divergence = { index, blockId: block.id, change: "inserted", actor: provenance.authorOf(block) } as const;
  return {
    ...{ author: cacheAuthorOf(divergence), divergence },
    ...{ edit: { before: null, after: block }, changed: lastChange(blame, block) },
  };
}

function between(then: Turn, now: Turn, compared: Compared): CacheCulprit | null {
  const { then: asked, now: request, provenance, blame } = compared;
  const place = asked.recorded;
  const since = { earlier: onTheWay(asked), now: onTheWay(request), place, blame };
  const found = promptChange(then, now, { provenance, actorOf: (changed) => changedBy(changed, since) });
  if (found === null) return null;
  const { divergence, before, after } = found;
  const { blockId, actor, change } = divergence;
  const places = [request.outgoing, asked.outgoing].map((turn) => turn.blocks.findIndex(({ id }) => id === blockId));
  const index = places.find((each) => each >= 0) ?? divergence.index;
  return {
    author: cacheAuthorOf({ actor, change }),
    divergence: { ...divergence, index },
    edit: { before, after },
    changed: after === null ? (blame.get(blockId ?? "")?.removed ?? null) : lastChange(blame, after),
  };
}

const onTheWay = ({ passes, recorded: { frame } }: SentPrompt): OnTheWay | null => passes && { passes, frame };
