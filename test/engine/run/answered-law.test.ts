import { expect, test } from "vitest";
import { isTelling, seeds } from "../../support/cases.ts";
import { type AnsweredTally, playAnswered } from "../../support/run/answered-world.ts";

const drawn = seeds(60, 100_000, 400);

test(`a message is answered once, whichever process is asked and wherever snapshots are, in ${drawn.length} histories from seed ${drawn[0]}`, async () => {
  const tally: AnsweredTally = {
    ...{ asked: 0, given: 0, givenByKey: 0, again: 0, pending: 0, failed: 0, reverts: 0, compactions: 0, edits: 0 },
    erased: 0,
  };
  for (const seed of drawn) {
    try {
      await playAnswered(seed, tally);
    } catch (cause) {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
  if (isTelling) expect(Object.entries(tally).filter(([, count]) => count < 20)).toEqual([]);
}, 3_600_000);
