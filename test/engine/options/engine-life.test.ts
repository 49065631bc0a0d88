import { expect, test } from "vitest";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

function disposable(): { readonly provider: Provider; readonly told: string[]; readonly answer: () => void } {
  const told: string[] = [];
  const { promise, resolve } = Promise.withResolvers<null>();
  const model = scripted(["an answer"]);
  const provider: Provider = {
    ...model,
    async infer(request) {
      await promise;
      told.push("answered");
      return model.infer(request);
    },
    [Symbol.asyncDispose]: async () => {
      told.push("disposed of");
    },
  };
  return { provider, told, answer: () => resolve(null) };
}

test("an engine that is disposed of waits for the runs in progress, and disposes of its provider once", async () => {
  const { engine, conversation } = createWorkshop();
  const { provider, told, answer } = disposable();
  await conversation.append("hello");
  let run: Promise<{ readonly text: string }>;
  {
    await using used = engine({ provider });
    run = conversation.run(used);
    // Disposed of twice, it is gone once.
    void used[Symbol.asyncDispose]();
    setImmediate(answer);
  }
  expect(told).toEqual(["answered", "disposed of"]);
  expect((await run).text).toBe("an answer");
});

test("an engine that was disposed of runs nothing, and says so", async () => {
  const { engine, conversation } = createWorkshop();
  const used = engine({ provider: scripted(["an answer"]) });
  await used[Symbol.asyncDispose]();
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(used))).toMatchObject({
    code: "engine-disposed",
    message: "this engine was disposed of; make a new one with createEngine",
  });
  expect(typesOf(await eventsOf(conversation))).toEqual(["ConversationStarted", "BlockAppended"]);
});
