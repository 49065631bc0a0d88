import { afterAll, expect, test } from "vitest";
import { cases, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { dialects } from "../support/dialects.ts";

const requestsWanted = cases(20, 60_000, 150);
const tally = emptyTally();

test("a conversation whose events are damaged, skipped and erased, in its own stream and in its ancestors', shows the model what is left", {
  timeout: 36_000_000,
}, async () => {
  await play(dialects.responses, { requests: requestsWanted, tally, troubled: 1, erasing: 1 });
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
  if (!isTelling) return;
  expect(tally.erasures).toBeGreaterThan(requestsWanted / 20);
  expect(tally.skips).toBeGreaterThan(requestsWanted / 10);
});

afterAll(() => {
  const { requests, erasures, erasedLines, standIns, skips, parentSkips, meanwhile, incoherent } = tally;
  process.stdout.write(
    `erased and skipped: ${requests} requests judged, ${erasures} erasures of ${erasedLines} lines, ${standIns} requests with stand-ins, ${skips} damaged events skipped and ${parentSkips} of ancestors, ${meanwhile} appends of others in mid-run, ${incoherent.length} incoherent\n`,
  );
});
