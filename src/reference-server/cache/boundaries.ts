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
 * @param lifetime - The lifetime that the request names as a whole.
 */
export function boundariesOf(places: readonly PromptPlace[], facts: CacheFacts, lifetime: string): Boundaries {
  switch (facts.boundaries) {
    case "every-unit":
      return { writes: places.map((_, at) => ({ at, lifetime })), looksAt: () => true, canEndAt: () => true };
    case "breakpoints":
      return atBreakpoints(places, facts.lookback);
    case "message-ends":
      return atMessageEnds(places, facts.lookback, lifetime);
  }
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

/** OpenAI from GPT-5.6 on: one entry after the newest message end; the server looks there and at a number of earlier ends. */
function atMessageEnds(places: readonly PromptPlace[], lookback: number, lifetime: string): Boundaries {
  const ends = places.flatMap((_, at) => (isMessageEnd(places, at) ? [at] : []));
  const looked = new Set(ends.slice(-1 - lookback));
  return {
    writes: ends.slice(-1).map((at) => ({ at, lifetime })),
    looksAt: (place) => looked.has(place),
    canEndAt: (place) => ends.includes(place),
  };
}

/** A message of the user, the last of a group of results, and the last developer message at the beginning. */
function isMessageEnd(places: readonly PromptPlace[], at: number): boolean {
  const speaker = (index: number): PromptPlace["unit"]["by"] => places[index]?.unit.by;
  if (speaker(at) === "developer") {
    const isInitial = places.slice(0, at).every(({ unit }) => unit.kind !== "message" || unit.by === "developer");
    return isInitial && speaker(at + 1) !== "developer";
  }
  return speaker(at) === "user" || (speaker(at) === "result" && speaker(at + 1) !== "result");
}
