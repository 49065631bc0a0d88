import type { CacheFacts } from "./facts.ts";
import type { PromptPlace } from "./prompt.ts";

/** A place of a prompt after which the server caches it, and the name of the entry's lifetime. */
export interface Write {
  readonly at: number;
  readonly lifetime: string;
}

/** Where a prompt is written to the cache, in order, and the places where entries are looked for. */
export interface Boundaries {
  readonly writes: readonly Write[];
  looksAt(place: number): boolean;
  /** Whether this request could have an entry there, however far it looks back. */
  canEndAt(place: number): boolean;
}

/**
 * The boundaries of a prompt, before the minimum is applied.
 *
 * @param asked.lifetime - The lifetime that the request names as a whole.
 * @param asked.isExplicit - Whether it has no other boundaries than its breakpoints, at a front that has both.
 */
export function boundariesOf(places: readonly PromptPlace[], facts: CacheFacts, asked: Asked): Boundaries {
  const { lifetime } = asked;
  switch (facts.boundaries) {
    case "every-unit":
      return { writes: places.map((_, at) => ({ at, lifetime })), looksAt: () => true, canEndAt: () => true };
    case "breakpoints":
      return atBreakpoints(places, facts.lookback);
    case "message-ends":
      return atMessageEnds(places, facts.lookback, asked);
  }
}

interface Asked {
  readonly lifetime: string;
  readonly isExplicit: boolean;
}

/** Anthropic: an entry after each breakpoint; from each, the server looks back over a number of positions, the first its own. */
function atBreakpoints(places: readonly PromptPlace[], lookback: number): Boundaries {
  const positions = positionsOf(places);
  const writes = places.flatMap(({ unit: { breakpoint } }, at) =>
    breakpoint === undefined ? [] : [{ at, lifetime: breakpoint }],
  );
  const isNear = (place: number, at: number): boolean =>
    place <= at && (positions[at] ?? 0) - (positions[place] ?? 0) < lookback;
  return { writes, looksAt: (place) => writes.some(({ at }) => isNear(place, at)), canEndAt: () => true };
}

/** The position of each place: a setting has none of its own, and a run of calls or of results has one. */
function positionsOf(places: readonly PromptPlace[]): readonly number[] {
  let position = 0;
  return places.map(({ unit }, at) => {
    const isInRun = isRun(unit) && places[at - 1]?.unit.by === unit.by;
    if (unit.kind !== "setting" && !isInRun) position += 1;
    return position;
  });
}

const isRun = ({ by }: PromptPlace["unit"]): boolean => by === "call" || by === "result";

/**
 * OpenAI from GPT-5.6 on: entries after the newest message end and after breakpoints, the latest four. The server looks there, at a number
 * of earlier message ends, at the end of the developer messages of the beginning, and at the first and the latest breakpoints.
 */
function atMessageEnds(places: readonly PromptPlace[], lookback: number, { lifetime, isExplicit }: Asked): Boundaries {
  const ends = isExplicit ? [] : places.flatMap((_, at) => (isMessageEnd(places, at) ? [at] : []));
  const marks = places.flatMap(({ unit: { breakpoint } }, at) => (breakpoint === undefined ? [] : [at]));
  const written = [...new Set([...ends.slice(-1), ...marks])].toSorted((one, other) => one - other).slice(-maxWrites);
  const initial = ends.filter((at) => places[at]?.unit.by === "developer").slice(-1);
  const looked = new Set([
    ...ends.slice(-1 - lookback),
    ...initial,
    ...marks.slice(0, firstMarks),
    ...marks.slice(-latestMarks),
  ]);
  return {
    writes: written.map((at) => ({ at, lifetime: lifetimeAt(places[at], lifetime) })),
    looksAt: (place) => looked.has(place),
    canEndAt: (place) => ends.includes(place) || marks.includes(place),
  };
}

/** A breakpoint may ask for a lifetime of its own. */
function lifetimeAt(place: PromptPlace | undefined, lifetime: string): string {
  const own = place?.unit.breakpoint ?? "default";
  return own === "default" ? lifetime : own;
}

/** OpenAI's guide to prompt caching, of September 2026. The reference of the same time says: the latest 80. */
const maxWrites = 4;
const firstMarks = 2;
const latestMarks = 50;

/** A message of the user, the last of a group of results, and the last developer message at the beginning. */
function isMessageEnd(places: readonly PromptPlace[], at: number): boolean {
  const speaker = (index: number): PromptPlace["unit"]["by"] => places[index]?.unit.by;
  if (speaker(at) === "developer") {
    const isInitial = places.slice(0, at).every(({ unit }) => unit.kind !== "message" || unit.by === "developer");
    return isInitial && speaker(at + 1) !== "developer";
  }
  return speaker(at) === "user" || (speaker(at) === "result" && speaker(at + 1) !== "result");
}
