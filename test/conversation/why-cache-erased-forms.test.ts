import { expect, test } from "vitest";
import { toolCall, toolResult } from "../../src/domain/make-block.ts";
import { cachedProviders } from "../support/caching/cached-world.ts";
import { erasingWorld, without } from "../support/caching/erasing-world.ts";

// What why says of requests from before an erasure that took what is no message: what it said then.
const { responses } = cachedProviders;

test("a message about a late result quotes its call, also one that the server holds, and is the same in all requests once the call is erased", async () => {
  await using world = await erasingWorld(responses);
  const { talk, ask, eraseBlock, whyAt } = world;
  await talk.append(toolCall({ callId: "c1", name: "pay", arguments: '{"to":"Ann"}' }));
  await ask("one", { mode: "chained" });
  await talk.append(toolResult({ callId: "c1", output: "paid" }));
  await ask("two", { mode: "chained" });
  const chained = await whyAt();
  await ask("three");
  const whole = await whyAt();
  for (const { decision } of [chained, whole])
    expect(decision.repairs).toContainEqual({ rule: "late-result", index: 3, detail: { call: 0 } });
  expect(whole.cache).toMatchObject({
    foreseen: "read",
    against: { revision: chained.revision },
    unit: { path: "input.6" },
  });
  await eraseBlock(({ kind }) => kind === "tool_call");
  expect((await whyAt(whole.revision)).cache).toEqual(whole.cache);
});

test("a message about a late result that quoted the stand-in of a call still differs from one that quoted the call, once the result is erased", async () => {
  await using world = await erasingWorld(responses);
  const { talk, ask, eraseBlock, whyAt } = world;
  await talk.append(toolCall({ callId: "c1", name: "pay", arguments: '{"to":"Ann"}' }));
  await ask("one", { mode: "chained" });
  await talk.append(toolResult({ callId: "c1", output: "paid" }));
  await ask("two", { mode: "chained" });
  await eraseBlock(({ kind }) => kind === "tool_call");
  await ask("three", { mode: "chained", middleware: [without("1.0.0", "two")] });
  const { revision, cache, decision } = await whyAt();
  expect(decision).toMatchObject({
    strategy: "rebased",
    repairs: [{ rule: "late-result", index: 3, detail: { call: 0 } }],
  });
  expect(cache).toMatchObject({ cause: "changed", unit: { path: "input.4" } });
  await eraseBlock(({ kind }) => kind === "tool_result");
  expect((await whyAt(revision)).cache).toEqual(cache);
});
