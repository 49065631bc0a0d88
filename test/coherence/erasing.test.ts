import { afterAll, expect, test } from "vitest";
import { cases, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { dialects } from "../support/dialects.ts";

const requestsWanted = cases(40, 100_000, 400);
const wireRequestsWanted = cases(15, 40_000, 150);
const tally = emptyTally();
const wireTally = emptyTally();

test("a conversation whose blocks are erased goes on as its server holds it, and nothing says what was erased", {
  timeout: 36_000_000,
}, async () => {
  await play(dialects.responses, { requests: requestsWanted, tally, erasing: 1 });
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
  if (!isTelling) return;
  // The long form draws 10,000 erasures or more.
  expect(tally.erasures).toBeGreaterThan(requestsWanted / 10);
  expect(tally.readings).toBeGreaterThan(tally.erasures);
  expect(tally.standIns).toBeGreaterThan(0);
});

test("and so it does on other wires", { timeout: 36_000_000 }, async () => {
  const { chat, anthropic, google, ollama } = dialects;
  const kept = [dialects["google-interactions"], dialects["anthropic-threads"]] as const;
  await play([...kept, chat, anthropic, google, ollama], {
    requests: wireRequestsWanted,
    tally: wireTally,
    erasing: 1,
  });
  expect(wireTally.incoherent).toEqual([]);
  expect(wireTally.requests).toBeGreaterThanOrEqual(wireRequestsWanted);
});

afterAll(() => {
  for (const { requests, erasures, erasedLines, standIns, readings, incoherent } of [tally, wireTally])
    process.stdout.write(
      `erasing: ${requests} requests judged, ${erasures} erasures of ${erasedLines} lines, ${standIns} requests with stand-ins, ${readings} answers compared before and after, ${incoherent.length} incoherent\n`,
    );
});
