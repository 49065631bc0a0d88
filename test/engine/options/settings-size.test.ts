import { expect, test } from "vitest";
import type { JsonValue } from "../../../src/base/json.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { maxSettingsBytes } from "../../../src/engine/options/settings-size.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { counted, layer } from "../../support/run/scene.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const tooLong = "x".repeat(maxSettingsBytes);

function nested(levels: number): JsonValue {
  let value: JsonValue = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
}

test.each<[string, () => unknown, string]>([
  [
    "instructions",
    () => createEngine({ provider: openaiResponses({ model: "m", instructions: tooLong, apiKey: "none-needed" }) }),
    "the setting instructions takes 8388610 bytes as JSON, all settings together ",
  ],
  [
    "a tool's description",
    () => createEngine({ provider: scripted([]), tools: [{ ...counted("count", true).tool, description: tooLong }] }),
    "the setting tools takes 8388",
  ],
])("createEngine refuses settings that are too big, by name: %s", (_, create, message) => {
  expect(create).toThrow(expect.objectContaining({ code: "settings-too-large" }));
  expect(create).toThrow(message);
});

test("createEngine refuses a setting that is nested too deeply, by name", () => {
  const provider = scripted([], { settings: { model: "m", metadata: nested(257) } });
  const message = "createEngine: provider.settings.metadata is not JSON: it is nested too deeply or contains itself";
  expect(() => createEngine({ provider })).toThrow(new TypeError(message));
});

test("settings that are longer than an event are stored, and read as they were", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const settings = { model: "scripted", examples: Array.from({ length: 20_000 }, (_, n) => [n, `example ${n}`]) };
  const provider = scripted(["an answer"], { settings });
  await conversation.append("hello");
  expect((await conversation.run(workshop.engine({ provider }))).text).toBe("an answer");
  expect(dataOf(await eventsOf(conversation), "SettingsDeclared")).toMatchObject([{ settings }]);
});

test("what a layer adds to the instructions is refused by name when it is too much, and the run ends", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const talkative = layer("talkative", (turn, next, ctx) => {
    ctx.instructions(tooLong);
    return next(turn);
  });
  await conversation.append("hello");
  const { engine, provider } = workshop.scripted(["an answer"], { middleware: [talkative] });
  const failure = await rejectionOf(conversation.run(engine));
  expect(failure).toMatchObject({ code: "run-failed", kind: "settings-too-large" });
  expect(String(failure)).toContain("the setting instructions takes");
  expect(provider.requests).toEqual([]);
  expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunFailed");
});
