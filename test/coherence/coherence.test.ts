import { afterAll, expect, test } from "vitest";
import { cases, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { chatServers, dialects } from "../support/dialects.ts";

const requestsWanted = cases(240, 1_000_000, 1_400);

const toyRequestsWanted = cases(50, 100_000, 300);

const tally = emptyTally();
const toyTally = emptyTally();

test("every request of a random stack shows the model exactly the outgoing Turn", { timeout: 36_000_000 }, async () => {
  await play(dialects.responses, { requests: requestsWanted, tally });
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
  if (!isTelling) return;
  expect(tally.parallel / tally.responses).toBeGreaterThanOrEqual(0.3);
  expect(tally.reasoned / tally.responses).toBeGreaterThanOrEqual(0.45);
  expect(tally.chained).toBeGreaterThan(requestsWanted / 10);
  expect(tally.rebased).toBeGreaterThan(requestsWanted / 50);
  expect(tally.instructed).toBeGreaterThan(requestsWanted / 50);
  expect(tally.stateless).toBeGreaterThan(requestsWanted / 100);
  expect(tally.inObjects).toBeGreaterThan(requestsWanted / 100);
  expect(tally.retried).toBeGreaterThan(requestsWanted / 200);
  expect(tally.overSocket).toBeGreaterThan(requestsWanted / 20);
  expect(tally.lived).toBeGreaterThanOrEqual(Math.floor(requestsWanted / 1_000));
  expect(tally.warmUps).toBeGreaterThan(requestsWanted / 1_000);
  expect(tally.warm).toBeGreaterThan(requestsWanted / 1_000);
  expect(tally.again).toBeGreaterThan(requestsWanted / 200);
  expect(tally.repeated).toBeGreaterThan(requestsWanted / 200);
  expect(tally.compacted).toBeGreaterThan(requestsWanted / 100);
  expect(tally.omitted).toBeGreaterThan(requestsWanted / 50);
  expect(tally.elsewhere).toBeGreaterThan(requestsWanted / 200);
  expect(tally.late).toBeGreaterThan(requestsWanted / 100);
  expect(tally.toldLate).toBeGreaterThan(requestsWanted / 100);
  expect(tally.refused).toBeGreaterThan(0);
  expect(tally.interrupted).toBeGreaterThan(requestsWanted / 100);
});

test("and so it does in another dialect, whose codec and transport are somebody else's", {
  timeout: 36_000_000,
}, async () => {
  await play(dialects.toy, { requests: toyRequestsWanted, tally: toyTally });
  expect(toyTally.incoherent).toEqual([]);
  expect(toyTally.requests).toBeGreaterThanOrEqual(toyRequestsWanted);
  expect(toyTally.full).toBeGreaterThanOrEqual(toyTally.requests);
  if (!isTelling) return;
  expect(toyTally.parallel / toyTally.responses).toBeGreaterThanOrEqual(0.25);
  expect(toyTally.instructed).toBeGreaterThan(toyRequestsWanted / 50);
  expect(toyTally.retried).toBeGreaterThan(toyRequestsWanted / 200);
  expect(toyTally.repeated).toBeGreaterThan(0);
});

const wireRequestsWanted = cases(35, 100_000, 200);
const wires = ["chat", "anthropic", "google", "ollama", "ai-sdk"] as const;
const wireTallies = new Map(wires.map((name) => [name, emptyTally()]));

test.each([...wireTallies])("and so it does on the wire of %s", { timeout: 36_000_000 }, async (name, tally) => {
  await play(name === "chat" ? chatServers : dialects[name], { requests: wireRequestsWanted, tally });
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(wireRequestsWanted);
  expect(tally.full).toBeGreaterThanOrEqual(tally.requests);
  if (!isTelling) return;
  expect(tally.parallel / tally.responses).toBeGreaterThanOrEqual(0.25);
  expect(tally.reasoned / tally.responses).toBeGreaterThanOrEqual(0.4);
  if (name !== "google") expect(tally.instructed).toBeGreaterThan(wireRequestsWanted / 50);
  expect(tally.retried).toBeGreaterThan(0);
  expect(tally.omitted).toBeGreaterThan(wireRequestsWanted / 20);
  expect(tally.interrupted).toBeGreaterThan(0);
});

const keptTallies = new Map(
  (["google-interactions", "anthropic-threads"] as const).map((name) => [name, emptyTally()]),
);

test.each([...keptTallies])(
  "and so it does on the wire of %s, whose server is continued from",
  {
    timeout: 36_000_000,
  },
  async (name, tally) => {
    await play(dialects[name], { requests: wireRequestsWanted, tally });
    expect(tally.incoherent).toEqual([]);
    expect(tally.requests).toBeGreaterThanOrEqual(wireRequestsWanted);
    if (!isTelling) return;
    expect(tally.parallel / tally.responses).toBeGreaterThanOrEqual(0.25);
    expect(tally.chained).toBeGreaterThan(wireRequestsWanted / 10);
    expect(tally.forks).toBeGreaterThan(0);
    expect(tally.retried).toBeGreaterThan(0);
  },
);

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
    stateless,
    inObjects,
    overSocket,
    lived,
    warmUps,
    warm,
    compacted,
    omitted,
    elsewhere,
    refused,
    interrupted,
    late,
    toldLate,
    incoherent,
  } = tally;
  process.stdout.write(
    `coherence: ${requests} requests judged (${chained} chained, ${rebased} rebased, ${full} full), ${stateless} of worlds in mode stateless, ${inObjects} in conversation objects, ${overSocket} over WebSocket, ${lived} of them from what ended with its connection, ${warmUps} warm-ups and ${warm} that continued from one, ${lost} refused for lost state, ${faulty} answered by a fault, ${retried} sent again, ${again} runs asked anew, ${repeated} deliveries that came twice, ${failedRuns} failed runs, ${forks} forks, ${compacted} Turns made shorter, ${omitted} without parts that cannot be said, ${elsewhere} without files that another server keeps, ${refused} runs that ended for a part, ${interrupted} that tell of a run that broke off, ${late} results that came late and ${toldLate} that tell of one, ${instructed} with system messages in the instructions, ${incoherent.length} incoherent; ${toyTally.requests} of another dialect, ${toyTally.incoherent.length} incoherent${[...wireTallies, ...keptTallies].map(([name, { requests, incoherent }]) => `; ${requests} of ${name}, ${incoherent.length} incoherent`).join("")}\n`,
  );
});
