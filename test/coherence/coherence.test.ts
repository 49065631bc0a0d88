import { afterAll, expect, test } from "vitest";
import { type ScriptedAnswer, startReferenceServer } from "../../src/reference-server/server.ts";
import { cases, firstSeed } from "../support/cases.ts";
import { emptyTally, World } from "../support/coherence/world.ts";

const requestsWanted = cases(2_000, 1_000_000);

const tally = emptyTally();
let playing: World | null = null;
const answer = (): ScriptedAnswer => playing?.answer() ?? { output: [] };

test("every request of a random stack shows the model exactly the outgoing Turn", { timeout: 36_000_000 }, async () => {
  await using server = await startReferenceServer({ answer, seed: "coherence" });
  for (let seed = firstSeed; tally.requests < requestsWanted && tally.incoherent.length < 5; seed += 1) {
    server.clear();
    playing = new World(seed, server, tally);
    await playing.play();
  }
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
  expect(tally.parallel / tally.responses).toBeGreaterThanOrEqual(0.3);
  expect(tally.reasoned / tally.responses).toBeGreaterThanOrEqual(0.45);
  expect(tally.chained).toBeGreaterThan(requestsWanted / 5);
  expect(tally.rebased).toBeGreaterThan(requestsWanted / 50);
  expect(tally.instructed).toBeGreaterThan(requestsWanted / 50);
  expect(tally.retried).toBeGreaterThan(requestsWanted / 200);
  expect(tally.again).toBeGreaterThan(requestsWanted / 200);
  expect(tally.repeated).toBeGreaterThan(requestsWanted / 200);
});

afterAll(() => {
  const {
    requests,
    chained,
    rebased,
    full,
    failedRuns,
    forks,
    instructed,
    faulty,
    retried,
    again,
    repeated,
    lost,
    incoherent,
  } = tally;
  process.stdout.write(
    `coherence: ${requests} requests judged (${chained} chained, ${rebased} rebased, ${full} full), ${lost} refused for lost state, ${faulty} answered by a fault, ${retried} sent again, ${again} runs asked anew, ${repeated} deliveries that came twice, ${failedRuns} failed runs, ${forks} forks, ${instructed} with system messages in the instructions, ${incoherent.length} incoherent\n`,
  );
});
