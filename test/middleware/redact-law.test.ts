import { expect, test } from "vitest";
import { redact } from "../../src/middleware/redact.ts";
import { cases, firstSeed, isTelling } from "../support/cases.ts";
import { ownDetectors, RedactWorld } from "../support/middleware/redact-world.ts";

const conversations = cases(12, 1_000, 340);

test("no secret of any conversation reaches the model's server, none is restored in another conversation, and every request is coherent", {
  timeout: 36_000_000,
}, async () => {
  await using world = await RedactWorld.start(firstSeed, [redact({ detect: ownDetectors })]);
  await world.play(conversations);
  expect(world.faults).toEqual([]);
  expect(world.seen.judged).toBeGreaterThan(conversations);
  console.info(`redact: ${conversations} conversations, ${JSON.stringify(world.seen)}`);
  if (!isTelling) return;
  for (const [what, count] of Object.entries(world.seen)) expect.soft(count, what).toBeGreaterThan(0);
});

test("the same conversations without the layer are caught", async () => {
  await using world = await RedactWorld.start(firstSeed, []);
  await world.play(1);
  expect(world.faults.join()).toContain("the model's server got zq0.x1");
});
