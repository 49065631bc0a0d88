import { expect, test } from "vitest";
import { mixes } from "../../support/rehearsal/mixes.ts";
import { playGenerated } from "../../support/rehearsal/playing.ts";

test.each(mixes)("reads exactly what was meant under the edits of %o", async (options) => {
  const { figures, incoherent } = await playGenerated(options);
  expect(incoherent).toEqual([]);
  expect(figures.coherent).toBe(figures.requests);
  expect(figures.requests).toBeGreaterThan(40);
  expect(figures.full + figures.rebased).toBeGreaterThan(figures.conversations);
});
