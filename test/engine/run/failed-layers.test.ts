import { expect, test } from "vitest";
import { Turn } from "../../../src/domain/turn.ts";
import type { Layer } from "../../../src/engine/ports/middleware.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { layer } from "../../support/run/scene.ts";
import { add, calling, throwNothing } from "../../support/run/tool-runs.ts";
import { createWorkshop, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const trouble = new Error("trouble");
const idle = (name: string): Layer => layer(name, (turn, next) => next(turn));
const failing = layer("failing", async (turn, next) => {
  await next(turn);
  throw trouble;
});
const refusal: ScriptedAnswer = { error: { message: "no more" } };

test.each<[string, readonly Layer[], string]>([
  ["throws", [idle("outer"), failing, idle("inner")], "layer failing: trouble"],
  [
    "throws before it returns a promise",
    [
      layer("hasty", () => {
        throw trouble;
      }),
    ],
    "layer hasty: trouble",
  ],
  ["throws what has no text", [layer("odd", throwNothing)], "layer odd: the thrown value has no message"],
  [
    "does not look at an effect that failed",
    [
      layer("reaching", async (turn, next, ctx) => {
        await ctx.effect("fetch", () => Promise.reject(trouble));
        return next(turn);
      }),
    ],
    "layer reaching: trouble",
  ],
  [
    "throws another error for one that it got",
    [
      layer("wrapping", (turn, next) =>
        next(turn).catch((cause: unknown) => {
          throw new Error("wrapped", { cause });
        }),
      ),
      failing,
    ],
    "layer wrapping: wrapped",
  ],
  [
    "throws the first error again that it got, after a second one",
    [
      layer("trying", async (turn, next) => {
        const first = await next(turn).catch((error: unknown) => error);
        await next(turn).catch(() => undefined);
        throw first;
      }),
      layer("counting", async (turn, next, ctx) => {
        await next(turn);
        throw new Error(`trouble in ${ctx.frame}`);
      }),
    ],
    "layer counting: trouble in 0.0",
  ],
  ["returns what it may not", [layer("dropping", async () => Turn.empty)], "layer dropping handed on an empty Turn"],
  [
    "passes on what it may not",
    [idle("outer"), layer("dropping", (_, next) => next(Turn.empty))],
    "layer dropping handed on an empty Turn",
  ],
])("a run that fails because a layer %s tells which", async (_, middleware, message) => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const engine = workshop.engine({ provider: scripted(["one", "two"]), middleware });
  const outcome = await rejectionOf(conversation.run(engine));
  expect(outcome).toMatchObject({ code: "run-failed", layer: message.split(/[ :]/)[1] });
  expect(String(outcome)).toMatch(new RegExp(`: ${message}$`));
  expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunFailed");
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("what a layer threw is the cause, itself", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const { engine } = workshop.scripted(["one"], { middleware: [failing] });
  expect(await rejectionOf(conversation.run(engine))).toHaveProperty("cause", trouble);
});

test.each<[string, readonly ScriptedAnswer[], string]>([
  ["the provider's", [refusal], "no more"],
  ["the tool loop's", [calling(["add", '{"left": 1}'])], "the model still called tools after 1 requests"],
])("no layer is named for an error of %s", async (_, answers, message) => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const config = { middleware: [idle("outer")], tools: [add], maxSteps: 1 };
  const outcome = await rejectionOf(conversation.run(workshop.scripted(answers, config).engine));
  expect(outcome).toHaveProperty("layer", null);
  expect(String(outcome)).toContain(`): ${message}`);
});
