import type { Block } from "../domain/block.ts";
import type { Divergence } from "../domain/events/inference-events.ts";
import type { Turn } from "../domain/turn.ts";
import { changedBy, type OnTheWay } from "../engine/planning/changed-by.ts";
import type { Provenance } from "../engine/planning/divergence.ts";
import { promptChange } from "../engine/planning/prompt-change.ts";
import { changedBefore } from "../engine/planning/request-settings.ts";
import { type Blame, type BlockChange, lastChange } from "../projections/blame.ts";
import { type CacheAuthor, cacheAuthorOf } from "../projections/cache-author.ts";
import { type SentPrompt, sentTurn } from "./cache-trail.ts";

/** Who changed a prompt since an earlier one, and what. */
export type CacheCulprit = {
  readonly author: CacheAuthor | null;
  /** The first block that differs, and who changed it; its index is in the Turn. Null if a setting or a repair made the difference. */
  readonly divergence: Divergence | null;
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

const bySettings: CacheCulprit = { author: { kind: "settings" }, divergence: null, edit: null, changed: null };

/** Who changed the instructions: a block that is sent as instructions has an author, other instructions are settings. */
export function instructionsChangedBy(compared: Compared): CacheCulprit {
  const said = ({ outgoing, input }: SentPrompt): Turn => outgoing.slice(outgoing.length - input.length);
  return between(said(compared.then), said(compared.now), compared) ?? bySettings;
}

/** Who changed the blocks. */
export function blocksChangedBy(compared: Compared): CacheCulprit {
  const { then, now } = compared;
  const [before, since] = [sentTurn(then), sentTurn(now)];
  const found = between(before, since, compared);
  if (found !== null) return found;
  // A wire may send instructions as its first message.
  if (changedBefore(then.settings, now.settings).includes("instructions")) return instructionsChangedBy(compared);
  return areRepairedAlike(compared) ? grownBy(before.length, since, compared) : byEngine;
}

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

const onTheWay = ({ turns, recorded: { frame } }: SentPrompt): OnTheWay | null => turns && { turns, frame };
