import { expect, onTestFinished, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { createWorkshop } from "../../support/workshop.ts";

/** Says something else at the beginning each time, and takes it back. */
const noisy = (name: string) =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => async (turn, ctx) => {
    const result = await next(turn.insert(0, user(`note ${ctx.random()}`)));
    const [first] = result.blocks;
    return first === undefined ? result : result.remove(first);
  });

async function warningsOf(
  rounds: number,
  config: { readonly mode?: "chained" | "stateless"; readonly isNoisy: boolean },
) {
  const warnings: string[] = [];
  const listen = ({ message }: Error): void => {
    warnings.push(message);
  };
  process.on("warning", listen);
  onTestFinished(() => {
    process.off("warning", listen);
  });
  const { conversation, ...workshop } = createWorkshop();
  const { mode = "chained", isNoisy } = config;
  const answers = Array.from({ length: rounds }, (_, n) => `answer ${n}`);
  const { engine } = workshop.scripted(answers, { mode, middleware: isNoisy ? [noisy("noisy")] : [] });
  for (let round = 0; round < rounds; round += 1) {
    await conversation.append(`message ${round}`);
    await conversation.run(engine);
  }
  // A warning is told in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  return warnings.filter((warning) => warning.includes("the whole Turn"));
}

test("mode chained warns once of a layer that has every request sent whole, by its name", async () => {
  const warnings = await warningsOf(8, { isNoisy: true });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(
    /^the layer 'noisy' changed what the server held, so 4 requests sent the whole Turn: docs\/CHAINING\.md/,
  );
});

test("it warns neither where nothing is to be chained nor where the chain holds", async () => {
  expect(await warningsOf(6, { isNoisy: true, mode: "stateless" })).toEqual([]);
  expect(await warningsOf(6, { isNoisy: false })).toEqual([]);
});
