import { expect, test } from "vitest";
import { cases, isTelling } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { keepingDialect } from "../support/keeping/dialect.ts";

const requestsWanted = cases(35, 100_000, 400);

test.each(["thread", "session"] as const)(
  "what a server keeps in a %s is continued once, and every request shows the model exactly the outgoing Turn",
  { timeout: 36_000_000 },
  async (keeping) => {
    const dialect = keepingDialect(keeping);
    const tally = emptyTally();
    await play(dialect, { requests: requestsWanted, tally });
    expect(tally.incoherent).toEqual([]);
    expect(dialect.violations).toEqual([]);
    expect(tally.requests).toBeGreaterThanOrEqual(requestsWanted);
    if (!isTelling) return;
    expect(tally.chained).toBeGreaterThan(requestsWanted / 20);
    expect(tally.forks).toBeGreaterThan(0);
    expect(tally.retried).toBeGreaterThan(0);
    expect(tally.lost).toBeGreaterThan(0);
  },
);
