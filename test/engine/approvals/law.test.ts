import { afterAll, beforeAll, expect, test } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { ApprovalWorld, approvalModel } from "../../support/run/approval-world.ts";

let server: ReferenceServer;
let seedNow = 0;
beforeAll(async () => {
  server = await startReferenceServer({ seed: "approvals", answer: (input) => approvalModel(seedNow)(input) });
});
afterAll(() => server[Symbol.asyncDispose]());

const seen: Record<string, number> = {};
let judged = 0;

test("no tool runs without approval, none twice, none is forgotten, and the model reads what was decided", async () => {
  for (const seed of seeds(100, 5_000, 170)) {
    seedNow = seed;
    server.clear();
    const world = new ApprovalWorld(seed, server);
    await world.begin();
    for (let action = 0; action < 12; action += 1) await world.act();
    await world.finish();
    await world.check();
    expect(world.faults, `seed ${seed}`).toEqual([]);
    for (const [what, count] of Object.entries(world.seen)) seen[what] = (seen[what] ?? 0) + count;
    judged += world.judge.judged;
  }
}, 600_000);

test.runIf(isTelling)("of every kind of trouble there was enough, and requests were judged", () => {
  expect(Object.entries(seen).filter(([, count]) => count < 5)).toEqual([]);
  expect(judged).toBeGreaterThan(100);
});
