import type { Boundaries } from "./boundaries.ts";
import type { Shared } from "./earlier-prompts.ts";
import type { CacheEntry } from "./entries.ts";
import type { PromptPlace } from "./prompt.ts";

/**
 * Why a request read what it read from the server's cache. `read`: all that is cached of what it shares with an earlier request. Of
 * several causes, the one that applies to the earliest part of the prompt is given.
 */
export type CacheReason =
  /** The front has read no request since the server started, or was cleared. */
  | "first"
  | "read"
  /** The instructions or a message differ (`differs`); or a tool; or a setting. */
  | "changed"
  | "tools-changed"
  | "setting-changed"
  /** A request with other values of the members that separate caches shares more. */
  | "other-partition"
  /** This request has no boundary, or the earlier one had none. */
  | "no-breakpoint"
  | "below-minimum"
  | "expired"
  /** The answer to the request that wrote the entry had not begun. */
  | "not-yet-readable"
  | "out-of-lookback"
  /** There is an entry, at a place that is no boundary of this request. */
  | "boundary-moved"
  /** By the faults `evict` and `cold-machine`: the entry is lost, or this request or the one that wrote it went to another machine. */
  | "evicted"
  | "cold-machine";

/** What a server decided about the cache for one request. Its answer does not say so: tests compare it with what a client concludes. */
export interface CacheVerdict {
  readonly reason: CacheReason;
  /** The index of the earlier request that shares most with this one, and of the newest if several do; null if there is none. */
  readonly against: number | null;
  /** The first unit that is not shared with that request: of this prompt, or one that it lacks; null if it shares all of its units. */
  readonly differs: { readonly path: string; readonly kind: string } | null;
  /** The entry that was read: its last unit, and the index of the request that wrote it; null if none was read. */
  readonly entry: { readonly path: string; readonly writtenBy: number } | null;
  /** Tokens, as the answer reports them; and those that the prompt shares with that earlier request. */
  readonly tokens: {
    readonly prompt: number;
    readonly read: number;
    readonly written: number;
    readonly shared: number;
  };
  /** Whether the answer reports what was cached. */
  readonly isTold: boolean;
}

/** What is known when a verdict is given. Places are indexes of the prompt's units. */
export interface Situation {
  readonly places: readonly PromptPlace[];
  /** Those that the request has, before the minimum is applied. */
  readonly boundaries: Boundaries;
  readonly now: number;
  readonly isFirst: boolean;
  readonly isColdMachine: boolean;
  /** With earlier prompts of its partition, and with those of others. */
  readonly shared: Shared;
  readonly sharedElsewhere: Shared;
  /** The last place of the entry that was read; -1 for none. */
  readonly read: number;
  entryAt(place: number): CacheEntry | undefined;
  /** The entry of another machine. */
  elsewhereAt(place: number): CacheEntry | undefined;
}

/** The verdict on a request, with its tokens as they are reported. */
export function verdictOn(
  situation: Situation,
  { tokens, isTold }: { readonly tokens: Omit<CacheVerdict["tokens"], "shared">; readonly isTold: boolean },
): CacheVerdict {
  const { places, read } = situation;
  const nearest = isElsewhere(situation) ? situation.sharedElsewhere : situation.shared;
  const differing = differingUnit(places, nearest);
  const entry = situation.entryAt(read);
  return {
    ...{ reason: reasonFor(situation), isTold, against: nearest.prompt?.index ?? null },
    differs: differing === undefined ? null : { path: differing.path, kind: differing.kind },
    entry: entry === undefined ? null : { path: places[read]?.unit.path ?? "", writtenBy: entry.writtenBy },
    tokens: { ...tokens, shared: nearest.tokens },
  };
}

/** Whether the prompt shares more with a prompt of another partition, or its own has none yet. */
const isElsewhere = ({ shared, sharedElsewhere }: Situation): boolean =>
  shared.prompt === undefined || sharedElsewhere.tokens > shared.tokens;

/** The reason for what was read. What a fault took away would have been read first of all. */
function reasonFor(situation: Situation): CacheReason {
  if (situation.isFirst) return "first";
  return (
    faultReason(situation) ??
    (isElsewhere(situation) ? "other-partition" : (unreadReason(situation) ?? changeReason(situation)))
  );
}

/** The fault without which more would have been read. */
function faultReason({ places, boundaries, read, now, isColdMachine, ...known }: Situation): CacheReason | undefined {
  for (let place = places.length - 1; place > read; place -= 1) {
    if (!boundaries.looksAt(place)) continue;
    const [own, elsewhere] = [known.entryAt(place), known.elsewhereAt(place)].map((entry) =>
      entry !== undefined && entry.endsAt >= now && entry.isReadable ? entry : undefined,
    );
    if (own !== undefined) return own.isEvicted ? "evicted" : isColdMachine ? "cold-machine" : undefined;
    if (elsewhere !== undefined) return "cold-machine";
  }
  return undefined;
}

/** Why an entry within the shared prefix was not read; undefined if it has none that is deeper. */
function unreadReason({ boundaries, shared, read, now, ...known }: Situation): CacheReason | undefined {
  if (boundaries.writes.length === 0 || shared.prompt?.hasBoundary !== true) return "no-breakpoint";
  if (shared.prompt.lastWrite < 0) return "below-minimum";
  const entryAt = (place: number): CacheEntry | undefined => {
    const [own, elsewhere] = [known.entryAt(place), known.elsewhereAt(place)];
    return (own?.endsAt ?? 0) >= (elsewhere?.endsAt ?? 0) ? own : elsewhere;
  };
  let deepest = shared.place;
  while (deepest > read && entryAt(deepest) === undefined) deepest -= 1;
  const entry = entryAt(deepest);
  if (entry === undefined || deepest <= read) return undefined;
  if (entry.endsAt < now) return "expired";
  if (!entry.isReadable) return "not-yet-readable";
  return boundaries.canEndAt(deepest) ? "out-of-lookback" : "boundary-moved";
}

/** What differs within the part of the earlier prompt that was cached; `read` if nothing does. */
function changeReason({ places, shared }: Situation): CacheReason {
  const differing = differingUnit(places, shared)?.kind;
  if (differing === undefined || (shared.prompt?.lastWrite ?? -1) <= shared.place) return "read";
  if (differing === "setting") return "setting-changed";
  return differing === "tool" ? "tools-changed" : "changed";
}

/** The first unit that differs: where a tool or the instructions are missing now, that of the earlier prompt. */
function differingUnit(places: readonly PromptPlace[], { place, prompt }: Shared): PromptPlace["unit"] | undefined {
  const [now, then] = [places, prompt?.places ?? []].map((each) => each[place + 1]?.unit);
  if (prompt === undefined || now === undefined || then === undefined) return prompt === undefined ? undefined : now;
  const isMissing =
    then.kind !== now.kind && (now.kind === "message" || (now.kind === "setting" && then.kind !== "message"));
  return isMissing ? then : now;
}
