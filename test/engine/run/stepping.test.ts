import { expect, test } from "vitest";
import { counted, createScene, textsOf } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";

test("shows every effect before and after it, in order", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const stepping = conversation.step(engine);
  const stops: string[] = [];
  for await (const stop of stepping) stops.push(`${stop.phase} ${stop.kind}`);
  expect((await stepping.result).text).toBe("an answer");
  const around = (kind: string): readonly string[] => [`before ${kind}`, `after ${kind}`];
  expect(stops).toEqual(["append", "inference", "append", "tool", "append", "inference", "append"].flatMap(around));
});

test("lets someone speak, and answer in the place of tool and model", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const stepping = conversation.step(engine);
  for await (const stop of stepping) {
    if (stop.phase === "before" && stop.kind === "tool") {
      await conversation.append("hurry up");
      stop.inject("an injected result");
    }
  }
  expect(lookUp.runs).toEqual([]);
  expect((await stepping.result).text).toBe("an answer");
  expect((await textsOf(conversation)).slice(2)).toEqual(["an injected result", "an answer", "hurry up"]);
});
