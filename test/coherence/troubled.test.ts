import { afterAll, expect, test } from "vitest";
import { cases, isLong, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { dialects } from "../support/dialects.ts";

const requestsWanted = cases(60, 200_000, 500);
const wireRequestsWanted = cases(15, 60_000, 150);
const tally = emptyTally();
const wireTally = emptyTally();

test("a conversation whose events are damaged and skipped, and to which others append in mid-run, shows the model what was meant", {
  timeout: 36_000_000,
}, async () => {
  await play(dialects.responses, { requests: requestsWanted, tally, troubled: 1 });
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
  if (!isTelling) return;
  expect(tally.meanwhile).toBeGreaterThan(requestsWanted / 3);
  expect(tally.skips).toBeGreaterThan(requestsWanted / 5);
  expect(tally.parentSkips).toBeGreaterThan(0);
  expect(tally.damagedForks).toBeGreaterThan(0);
  if (isLong) expect(tally.leftForks).toBeGreaterThan(0);
  expect(tally.taken).toBeGreaterThan(0);
});

test("and so it does on other wires", { timeout: 36_000_000 }, async () => {
  const { chat, anthropic, google, ollama } = dialects;
  const kept = [dialects["google-interactions"], dialects["anthropic-threads"]] as const;
  await play([...kept, chat, anthropic, google, ollama], {
    ...{ requests: wireRequestsWanted, tally: wireTally, troubled: 1 },
  });
  expect(wireTally.incoherent).toEqual([]);
  expect(wireTally.requests).toBeGreaterThanOrEqual(wireRequestsWanted);
});

afterAll(() => {
  for (const { requests, meanwhile, taken, skips, parentSkips, damagedForks, leftForks, incoherent } of [
    tally,
    wireTally,
  ])
    process.stdout.write(
      `troubled: ${requests} requests judged, ${meanwhile} appends of others in mid-run, ${taken} runs taken, ${skips} damaged events skipped and ${parentSkips} of ancestors, ${damagedForks} forks of damaged conversations, ${leftForks} forks left damaged in mid-run, ${incoherent.length} incoherent\n`,
    );
});
