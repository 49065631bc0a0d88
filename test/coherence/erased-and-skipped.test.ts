import { afterAll, expect, test } from "vitest";
import { cases, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { dialects } from "../support/dialects.ts";

const requestsWanted = cases(20, 60_000, 150);
const wireRequestsWanted = cases(8, 20_000, 60);
const [tally, wireTally] = [emptyTally(), emptyTally()];

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

test("and so it does on other wires", { timeout: 36_000_000 }, async () => {
  const { chat, anthropic, google, ollama } = dialects;
  const kept = [dialects["google-interactions"], dialects["anthropic-threads"]] as const;
  await play([...kept, chat, anthropic, google, ollama], {
    requests: wireRequestsWanted,
    tally: wireTally,
    troubled: 1,
    erasing: 1,
  });
  expect(wireTally.incoherent).toEqual([]);
  expect(wireTally.requests).toBeGreaterThanOrEqual(wireRequestsWanted);
});

afterAll(() => {
  for (const each of [tally, wireTally]) {
    const { requests, erasures, erasedLines, standIns, skips, parentSkips, meanwhile, incoherent } = each;
    process.stdout.write(
      `erased and skipped: ${requests} requests judged, ${erasures} erasures of ${erasedLines} lines, ${standIns} requests with stand-ins, ${skips} damaged events skipped and ${parentSkips} of ancestors, ${meanwhile} appends of others in mid-run, ${incoherent.length} incoherent
`,
    );
  }
});
