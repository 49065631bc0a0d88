import { afterAll, beforeAll, expect, test } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isLong, isTelling, seeds } from "../../support/cases.ts";
import { PagesWorld, pagesModel } from "../../support/web/pages-world.ts";

let server: ReferenceServer;
let seedNow = 0;
beforeAll(async () => {
  server = await startReferenceServer({ seed: "pages", answer: (input) => pagesModel(seedNow)(input) });
});
afterAll(() => server[Symbol.asyncDispose]());

const seen: Record<string, number> = {};
let judged = 0;

test("every page ends with the messages that the server has, and these are the Turn", async () => {
  for (const seed of seeds(6, 250, 60)) {
    seedNow = seed;
    server.clear();
    await using world = new PagesWorld(seed, server);
    for (let action = 0; action < 5; action += 1) await world.act();
    await world.check();
    expect(world.faults, `seed ${seed}`).toEqual([]);
    for (const [what, count] of Object.entries(world.seen)) seen[what] = (seen[what] ?? 0) + count;
    judged += world.judgedRequests;
  }
}, 600_000);

test.runIf(isTelling)(
  "pages were compared, and requests were judged; in the long form, there was every kind of trouble",
  () => {
    const counts = Object.entries(seen).filter(([what]) => isLong || ["streams", "resumed", "compared"].includes(what));
    expect(counts.filter(([, count]) => count < 20)).toEqual([]);
    expect(judged).toBeGreaterThan(10);
  },
);
