import { expect, test } from "vitest";
import { assistant } from "../../src/domain/make-block.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import { RunCancelledError } from "../../src/engine/session/errors.ts";
import { reexecute } from "../../src/entries/replay.ts";
import { recover } from "../../src/middleware/recover.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, type Workshop } from "../support/workshop.ts";

const sorry = "Something went wrong.";
const broken = defineMiddleware({ name: "broken", version: "1.0.0" }, () => () => Promise.reject(new Error("no luck")));

async function asked(middleware: readonly Layer[], answers: readonly ScriptedAnswer[] = ["fine"]) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(answers, { middleware });
  await conversation.append("a");
  return { conversation, engine, workshop, run: () => conversation.run(engine) };
}

const textsOf = async ({ conversation }: Pick<Workshop, "conversation">): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ text }) => text);

test("an error of a layer within is answered, the run completes, and the log names the error and both layers", async () => {
  const { conversation, run } = await asked([recover({ answer: sorry }), broken]);
  expect(await run()).toMatchObject({ status: "completed", text: sorry });
  const [ended] = dataOf(await eventsOf(conversation), "RunCompleted");
  const swallowed = { layer: "recover", frame: "0", swallowed: [{ frame: "0.0", message: "no luck" }] };
  expect(ended?.timings).toContainEqual(expect.objectContaining(swallowed));
});

test("an error of the provider is answered, and the next request does not continue from that answer", async () => {
  const refuses = { error: { status: 400, message: "not like this" } };
  const { conversation, engine, run } = await asked([recover({ answer: () => assistant(sorry) })], [refuses, "two"]);
  expect(await run()).toMatchObject({ text: sorry });
  await conversation.append("b");
  expect(await run()).toMatchObject({ steps: [{ decision: { strategy: "full" } }] });
  expect(await textsOf({ conversation })).toEqual(["a", sorry, "b", "two"]);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("a function chooses by the error, and null throws it on", async () => {
  const seen: unknown[] = [];
  const layer = recover({
    answer: (error) => {
      seen.push(error);
      return null;
    },
  });
  const { run } = await asked([layer, broken]);
  expect(await rejectionOf(run())).toMatchObject({
    code: "run-failed",
    layer: "broken",
    cause: { message: "no luck" },
  });
  expect(seen).toMatchObject([{ message: "no luck" }]);
});

test("a cancelled run is not answered", async () => {
  const cancelling = new AbortController();
  const cancels = defineMiddleware({ name: "cancels", version: "1.0.0" }, () => () => {
    cancelling.abort(new Error("enough"));
    return Promise.reject(new Error("cancelled"));
  });
  let calls = 0;
  const layer = recover({
    answer: () => {
      calls += 1;
      return sorry;
    },
  });
  const { conversation, engine } = await asked([layer, cancels]);
  expect(await rejectionOf(conversation.run(engine, { signal: cancelling.signal }))).toBeInstanceOf(RunCancelledError);
  expect(calls).toBe(0);
});

test("a run that asks for a summary fails instead of answering", async () => {
  const { conversation, engine, workshop } = await asked([recover({ answer: sorry })], ["one", "two"]);
  await conversation.run(engine);
  await conversation.append("b");
  await conversation.run(engine);
  const { engine: failing } = workshop.scripted([], { middleware: [recover({ answer: sorry }), broken] });
  const before = await textsOf({ conversation });
  expect(await rejectionOf(conversation.compact(failing, { summary: {}, keep: 1 }))).toMatchObject({
    code: "run-failed",
  });
  expect(await textsOf({ conversation })).toEqual(before);
});
