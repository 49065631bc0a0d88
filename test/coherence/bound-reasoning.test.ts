import { expect, test } from "vitest";
import { cases, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { bindingDialect } from "../support/dialects.ts";

const requestsWanted = cases(40, 20_000, 300);

test("a server that looks at what thoughts were made from refuses no request, whatever was edited before them", {
  timeout: 36_000_000,
}, async () => {
  const tally = emptyTally();
  await play(bindingDialect, { requests: requestsWanted, tally });
  expect(tally.incoherent).toEqual([]);
  expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
  if (!isTelling) return;
  expect(tally.reasoned).toBeGreaterThan(requestsWanted / 20);
  expect(tally.forks).toBeGreaterThan(0);
});
