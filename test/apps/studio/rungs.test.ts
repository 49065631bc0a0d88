import { expect, test } from "vitest";
import { Rungs } from "../../../src/apps/studio/rungs.ts";

test("there are at most 128 rungs, at even distances, however long a conversation is", () => {
  const rungs = new Rungs<number>();
  const kept = new Set<number>();
  for (let revision = 0; revision < 200_000; revision += 1) if (rungs.isDue(revision)) rungs.add(revision, revision);
  for (let revision = 0; revision < 200_000; revision += 64) {
    const nearest = rungs.nearest(revision);
    if (nearest !== null) kept.add(nearest.revision);
    expect(revision - (nearest?.revision ?? 0)).toBeLessThan(2_048);
  }
  expect(kept.size).toBeLessThanOrEqual(128);
  expect(rungs.nearest(100)).toBeNull();
});
