import { expect, test } from "vitest";
import type { CacheLoss } from "../../../src/domain/events/inference-events.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

const shout = (form: string) =>
  defineMiddleware(
    { name: "shout", version: "1.0.0" },
    (next) => (turn) =>
      next(turn.map((block) => (block.text.startsWith("one") ? block.withText(`one ${form}`) : block))),
  );

/** What each of some requests gave up, by what was recorded. */
async function losses(
  ...asked: readonly { readonly said: string; readonly form?: string; readonly model?: string }[]
): Promise<readonly (CacheLoss | null | undefined)[]> {
  const { conversation, store, ...workshop } = createWorkshop();
  const answers = scripted(() => "yes");
  for (const { said, form, model = "m-1" } of asked) {
    await conversation.append(said);
    const middleware = form === undefined ? [] : [shout(form)];
    await conversation.run(workshop.engine({ provider: { ...answers, settings: { model } }, middleware }));
  }
  // A replay plans each request again, and compares.
  expect((await replayed(store, conversation)).difference).toBeNull();
  return dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.cache);
}

test("a request that only adds to the one before gives up nothing", async () => {
  const [first, second] = await losses({ said: "one" }, { said: "two" });
  expect(first).toBeNull();
  expect(second).toMatchObject({ settings: [], unit: null, actor: null, keptBlocks: 1, lostBytes: 0 });
});

test("a layer that changes a block is recorded with the bytes that are sent again", async () => {
  const [, , third, fourth] = await losses(
    ...[{ said: "one" }, { said: "two" }, { said: "three", form: "and only" }, { said: "four" }],
  );
  expect(third).toMatchObject({ settings: [], actor: { kind: "middleware", name: "shout" }, keptBlocks: 0 });
  expect(third?.unit).toMatch(/^blk_/);
  expect(third?.lostBytes).toBeGreaterThan(50);
  // What the layer has changed stays so.
  expect(fourth).toMatchObject({ unit: null, keptBlocks: 5, lostBytes: 0 });
});

test("a changed setting gives up everything that is sent again", async () => {
  const [, , third] = await losses(...[{ said: "one" }, { said: "two" }, { said: "three", model: "m-2" }]);
  expect(third).toMatchObject({ settings: ["model"], unit: null, actor: null, keptBlocks: 3 });
  expect(third?.lostBytes).toBeGreaterThan(50);
});

test("an older request that shares more is compared with instead of the newest", async () => {
  const [, second, , fourth] = await losses(
    ...[{ said: "one" }, { said: "two" }, { said: "three", model: "m-2" }, { said: "four" }],
  );
  expect(fourth).toMatchObject({ settings: [], unit: null, lostBytes: 0 });
  expect(fourth?.against).not.toBe(second?.against);
});
