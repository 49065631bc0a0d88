import { expect, test } from "vitest";
import { message, reasoning } from "../../../packages/reference-server/src/answers.ts";
import { other, toolCall, toolResult } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { cachedProviders } from "../../support/caching/cached-world.ts";
import { erasingWorld, long, without } from "../../support/caching/erasing-world.ts";

// What why says of requests from before an erasure that took what is no message: what it said then.
const { messages, responses } = cachedProviders;

/** Asks twice: the result of a call comes when the first request has answered it as aborted. */
async function tellLate({ talk, ask }: Awaited<ReturnType<typeof erasingWorld>>): Promise<void> {
  await talk.append(toolCall({ callId: "c1", name: "pay", arguments: '{"to":"Ann"}' }));
  await ask("one", { mode: "chained" });
  await talk.append(toolResult({ callId: "c1", output: "paid" }));
  await ask("two", { mode: "chained" });
}

test("a message about a late result quotes its call, also one that the server holds, and is the same in all requests once the call is erased", async () => {
  await using world = await erasingWorld(responses);
  await tellLate(world);
  const { ask, eraseBlock, whyAt } = world;
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
  await tellLate(world);
  const { ask, eraseBlock, whyAt } = world;
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

test.each([
  ["Anthropic's thinking", messages, { summary: long("Hm.") }],
  ["Anthropic's redacted thinking", messages, {}],
  ["OpenAI's sealed reasoning", responses, {}],
] as const)(
  "%s: what is estimated of a prompt stays as it was before its reasoning was erased",
  async (_, wire, thought) => {
    await using world = await erasingWorld(wire, {
      answer: () => ({ output: [reasoning(thought), message("answer")] }),
    });
    const { ask, eraseBlock, whyAt } = world;
    for (const said of ["one", "two"]) await ask(said);
    await ask("three", { middleware: [without("1.0.0", "two")] });
    const { revision, cache } = await whyAt();
    expect(cache).toMatchObject({ cause: "changed", shared: { isAbout: true } });
    await eraseBlock(({ kind }) => kind === "reasoning");
    expect((await whyAt(revision)).cache).toEqual(cache);
  },
);

test("two items of a kind that only a provider knows are not alike once both are erased", async () => {
  await using world = await erasingWorld(responses);
  const { talk, ask, eraseBlock, whyAt } = world;
  await talk.append(["left", "right"].map((note) => other({ type: "agent_message", author: note })));
  const showing = (version: string, place: number) =>
    defineMiddleware({ name: "showing", version }, (next) => async (turn) => {
      const hidden = turn.at(place);
      const shown = turn.filter((block) => block !== hidden);
      return turn.concat((await next(shown)).after(shown.length));
    });
  await ask("one", { middleware: [showing("1.0.0", 1)] });
  await ask("two", { middleware: [showing("1.1.0", 0)] });
  const { revision, cache } = await whyAt();
  expect(cache).toMatchObject({ cause: "changed", unit: { path: "input.0" } });
  for (const _ of ["left", "right"]) await eraseBlock(({ kind, isErased }) => kind === "other" && !isErased);
  const { cause, unit, author } = (await whyAt(revision)).cache;
  expect({ cause, unit, author }).toEqual({ cause: cache.cause, unit: cache.unit, author: cache.author });
});
