import { expect, test } from "vitest";
import type { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";
import { cases } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { dialects } from "../support/dialects.ts";
import { guessedIn } from "../support/log/guesses.ts";

const requests = cases(16, 5_000, 100);

test("no digest in events of a drawn stack follows from contents, and with the key all are right", {
  timeout: 3_600_000,
}, async () => {
  const tally = emptyTally();
  let [recorded, blocks] = [0, 0];
  const onWorld = async (store: TurnlogStore): Promise<void> => {
    const found = await guessedIn(store);
    expect(found.guessed).toEqual([]);
    recorded += found.recorded;
    blocks += found.blocks;
    for await (const { stream, problem } of verifyStore(store.events, { codecs: store.codecs }))
      expect(problem, stream).toBeNull();
  };
  await play(dialects.responses, { requests, tally, onWorld });
  expect(tally.incoherent).toEqual([]);
  expect(recorded).toBeGreaterThan(blocks);
  expect(blocks).toBeGreaterThan(requests);
});

test("the same look finds digests of contents in every conversation that is written as json", {
  timeout: 3_600_000,
}, async () => {
  const tally = emptyTally();
  let worlds = 0;
  const onWorld = async (store: TurnlogStore): Promise<void> => {
    const found = await guessedIn(store);
    expect(found.blocks).toBeGreaterThan(0);
    expect(found.guessed.length).toBeGreaterThan(0);
    worlds += 1;
  };
  await play(dialects.responses, { requests: Math.ceil(requests / 4), tally, encoding: "json", onWorld });
  expect(tally.incoherent).toEqual([]);
  expect(worlds).toBeGreaterThan(0);
});
