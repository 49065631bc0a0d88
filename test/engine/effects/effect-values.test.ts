import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/base/json.ts";
import type { Layer } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { beforeRequest, createScene, dieAt, layer, textsOf } from "../../support/run/scene.ts";
import { noJson } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** A value that its type does not allow, as JavaScript gives one. */
const given = (value: unknown): JsonValue => value as JsonValue;

/** A layer that hands on what it got and made of it, and does with it what it likes. */
const using = (gives: () => unknown, uses: (value: unknown) => string = JSON.stringify): Layer =>
  layer("using", async (turn, next, ctx) => {
    const value = await ctx.effect("retrieve", () => given(gives()));
    ctx.instructions(uses(value));
    return next(turn);
  });

const sorted = (value: unknown): string => {
  if (!Array.isArray(value)) return "no list";
  value.sort();
  value.shift();
  return JSON.stringify(value);
};

describe("what an effect gave", () => {
  test("is recorded, whatever the layer makes of it afterwards", async () => {
    const scene = createScene(["an answer"], { middleware: [using(() => ["b", "a", "c"], sorted)] });
    const { conversation, engine } = scene.process();
    await conversation.append("hello");
    await dieAt({ conversation, engine }, beforeRequest(0));
    const events = await eventsOf(conversation);
    expect(dataOf(events, "EffectFinished")).toMatchObject([{ answer: { outcome: "ok", value: ["b", "a", "c"] } }]);
  });

  test("is what the layer works on again in a replay", async () => {
    const { conversation, ...workshop } = createWorkshop();
    await conversation.append("hello");
    const { engine } = workshop.scripted(["an answer"], { middleware: [using(() => ["b", "a", "c"], sorted)] });
    await conversation.run(engine);
    expect((await reexecute(conversation, engine)).difference).toBeNull();
  });

  test("is recorded as a person settled it, whatever the layer makes of it", async () => {
    const scene = createScene(["an answer"], { middleware: [using(() => [], sorted)] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, (stop) => stop.kind === "effect" && stop.phase === "after");
    const { conversation, engine } = scene.process();
    const { waitingFor } = await conversation.run(engine);
    await conversation.settle(waitingFor[0]?.blockId ?? "", { how: "result", output: ["b", "a", "c"] });
    await conversation.run(engine);
    const events = await eventsOf(conversation);
    expect(dataOf(events, "EffectFinished")).toMatchObject([{ answer: { value: ["b", "a", "c"] } }]);
  });

  class Page {
    readonly title = "Paris";
    readonly #text = "secret";
    get length(): number {
      return this.#text.length;
    }
  }

  test.each<[string, () => unknown]>([
    ["a Date", () => new Date(0)],
    ["nothing", () => undefined],
    ["a member that is undefined", () => ({ found: undefined })],
    ["an instance of a class", () => new Page()],
  ])("is of one kind, live and answered from the log: %s", async (_, gives) => {
    const seen: unknown[] = [];
    const note = (value: unknown): string => {
      seen.push(value);
      return "noted";
    };
    const scene = createScene(["an answer"], { middleware: [using(gives, note)] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0));
    const { conversation, engine } = scene.process();
    await conversation.run(engine);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toStrictEqual(seen[1]);
  });
});

describe.each(noJson)("an effect that gives %s", (_, gives) => {
  test("has failed, for the layer and in the log, and the run goes on", async () => {
    const failures: unknown[] = [];
    const careful = layer("careful", async (turn, next, ctx) => {
      failures.push(await rejectionOf(ctx.effect("retrieve", () => given(gives()))));
      return next(turn);
    });
    const scene = createScene(["an answer"], { middleware: [careful] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0));
    const { conversation, engine } = scene.process();
    await conversation.run(engine);
    const message: unknown = expect.stringMatching(/^the effect retrieve returned a value that is not JSON: ./);
    expect(failures).toMatchObject([0, 1].map(() => ({ name: "EffectFailedError", message })));
    expect(dataOf(await eventsOf(conversation), "EffectFinished")).toMatchObject([
      { answer: { outcome: "error", message } },
    ]);
    expect(await textsOf(conversation)).toEqual(["hello", "an answer"]);
  });

  test("ends the run of a layer that does not look, and leaves nothing open", async () => {
    const { conversation, ...workshop } = createWorkshop();
    await conversation.append("hello");
    const failing = workshop.engine({ provider: scripted([]), middleware: [using(gives)] });
    expect(await rejectionOf(conversation.run(failing))).toMatchObject({ code: "run-failed", kind: "effect-failed" });
    expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunFailed");
    const { engine } = workshop.scripted(["an answer"]);
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
  });
});

test("an effect may go on with the object that it gave: the log and the layer have their own", async () => {
  const pages = ["Paris"];
  const twice = layer("twice", async (turn, next, ctx) => {
    const found = await ctx.effect("retrieve", () => pages);
    pages.push("Rome");
    expect(found).toEqual(["Paris"]);
    return next(turn);
  });
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["an answer"], { middleware: [twice] }).engine);
  expect(dataOf(await eventsOf(conversation), "EffectFinished")).toMatchObject([{ answer: { value: ["Paris"] } }]);
});
