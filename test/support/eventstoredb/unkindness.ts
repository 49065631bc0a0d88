/**
 * What the real servers do to their clients, each a switch: `test/support/eventstoredb` is kind unless it is told.
 * Where each was found: the versions named beside them, which were read in source.
 */
export interface Unkindness {
  /** An append that was acknowledged is readable only so many milliseconds later. 0: at once. */
  readonly indexLagMs: number;
  /** An append is replicated, and acknowledged, so many milliseconds after it was stored; until then a repeat of it gets no answer but a time-out. 0: at once. */
  readonly replicationMs: number;
  /** A node that is elected serves at once, though its index has caught up with the log only so many milliseconds later. 0: it has. */
  readonly lateLeaderMs: number;
  /** 24.2 to 24.10.4: a filtered subscription from the start that matched nothing before the end is told a checkpoint at 2^64 - 1. */
  readonly checkpointBeyondEnd: boolean;
  /** 23.10: a live subscription whose reader is slow is ended; later versions go back to catching up. */
  readonly endsSlowConsumers: boolean;
  /** A connection of which one reader takes nothing for so many milliseconds is dropped whole. Null: never. */
  readonly stalledReaderMs: number | null;
  /** How long a filter looks at a thousand events that do not match. */
  readonly searchMs: number;
  /** What counts against the limit of an append: `data` up to 24.10.3, `all` since. */
  readonly countedBytes: "data" | "all";
}

export const kind: Unkindness = {
  indexLagMs: 0,
  replicationMs: 0,
  lateLeaderMs: 0,
  checkpointBeyondEnd: false,
  endsSlowConsumers: false,
  stalledReaderMs: null,
  searchMs: 0,
  countedBytes: "all",
};

/** A random source, as `createRandom` gives it. */
interface Draw {
  readonly below: (limit: number) => number;
}

/** Each switch on or off by chance: together they stand for a server of some version on some day. */
export function drawUnkindness({ below }: Draw): Unkindness {
  const perhaps = <T>(on: T, off: T): T => (below(2) === 0 ? on : off);
  return {
    indexLagMs: perhaps(1 + below(8), 0),
    replicationMs: perhaps(1 + below(4), 0),
    lateLeaderMs: perhaps(5 + below(40), 0),
    checkpointBeyondEnd: perhaps(true, false),
    endsSlowConsumers: perhaps(true, false),
    stalledReaderMs: perhaps(100 + below(400), null),
    searchMs: perhaps(1 + below(4), 0),
    countedBytes: perhaps("all", "data"),
  };
}
