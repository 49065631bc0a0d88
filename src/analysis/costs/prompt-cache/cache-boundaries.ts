import type { CacheUnit } from "./cache-prompt.ts";
import type { CacheRules } from "./cache-rules.ts";

/** Where a prompt is cached, and where entries are looked for. Places are indexes of units; an entry covers everything up to its place. */
export type CacheBoundaries = {
  /** The lifetime of the entry that is written at a place. */
  readonly writes: Writes;
  readonly looked: Places;
  /** The places that could be looked at if the server looked back without a limit. */
  readonly possible: Places;
};

type Writes = Pick<ReadonlyMap<number, string>, "get" | "size">;
type Places = Pick<ReadonlySet<number>, "has">;

/** What a request asks for as a whole: the name of a lifetime, and no boundaries but its breakpoints (OpenAI's mode `explicit`). */
export type AskedBoundaries = { readonly lifetime: string; readonly isExplicit: boolean };

export function boundariesOf(
  units: readonly CacheUnit[],
  { boundaries, lookback }: Pick<CacheRules, "boundaries" | "lookback">,
  asked: AskedBoundaries,
): CacheBoundaries {
  const { lifetime } = asked;
  const all: Places = { has: (place) => place >= 0 && place < units.length };
  if (boundaries === "every-unit") {
    // Without a list: a prompt has thousands of units, and a verdict asks for a few of them.
    const writes: Writes = { size: units.length, get: (place) => (all.has(place) ? lifetime : undefined) };
    return { writes, looked: all, possible: all };
  }
  if (boundaries === "message-ends") return atMessageEnds(units, lookback, asked);
  const writes = new Map<number, string>();
  for (const [place, { breakpoint }] of units.entries()) if (breakpoint !== null) writes.set(place, breakpoint);
  const looked = new Set([...writes.keys()].flatMap((place) => behind(units, place, lookback)));
  return { writes, looked, possible: all };
}

/** OpenAI from GPT-5.6 on (its guide to prompt caching): the newest message end and breakpoints, the latest four. */
function atMessageEnds(
  units: readonly CacheUnit[],
  lookback: number,
  { lifetime, isExplicit }: AskedBoundaries,
): CacheBoundaries {
  const ends = isExplicit ? [] : units.flatMap((_, place) => (endsMessage(units, place) ? [place] : []));
  const marks = units.flatMap(({ breakpoint }, place) => (breakpoint === null ? [] : [place]));
  const asksFor = (place: number): string => {
    const own = units[place]?.breakpoint ?? "default";
    return own === "default" ? lifetime : own;
  };
  const written = [...ends.slice(-1), ...marks.filter((place) => place !== ends.at(-1))];
  const latest = written.toSorted((one, other) => one - other).slice(-maxWrites);
  const beginning = ends.filter((place) => units[place]?.by === "developer").slice(-1);
  return {
    writes: new Map(latest.map((place) => [place, asksFor(place)])),
    looked: new Set([...ends.slice(-(lookback + 1)), ...beginning, ...marks.slice(0, 2), ...marks.slice(-50)]),
    possible: new Set([...ends, ...marks]),
  };
}

const maxWrites = 4;

/** The places that a server searches from a breakpoint: a number of positions back, the first its own. */
function behind(units: readonly CacheUnit[], breakpoint: number, lookback: number): readonly number[] {
  const places: number[] = [];
  let left = lookback;
  for (let place = breakpoint; place >= 0; place -= 1) {
    const [unit, next] = [units[place], units[place + 1]];
    const isCounted = place === breakpoint || !continues(unit, next);
    if (isCounted && unit?.kind !== "setting") left -= 1;
    if (left < 0) break;
    places.push(place);
  }
  return places;
}

/** A run of calls is one position, and so is a run of results. */
const continues = (unit: CacheUnit | undefined, next: CacheUnit | undefined): boolean =>
  (unit?.by === "call" || unit?.by === "result") && unit.by === next?.by;

/** OpenAI from GPT-5.6 on: a message of the user, the last result of a group, the last developer message of the beginning. */
function endsMessage(units: readonly CacheUnit[], place: number): boolean {
  const [by, next] = [units[place]?.by, units[place + 1]?.by];
  if (by === "user") return true;
  if (by === "result") return next !== "result";
  const first = units.findIndex(({ kind, by: speaker }) => kind === "block" && speaker !== "developer");
  return by === "developer" && next !== "developer" && (first < 0 || place < first);
}
