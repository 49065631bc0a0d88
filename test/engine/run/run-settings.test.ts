import { expect, test } from "vitest";
import { messageOf } from "../../../src/base/error-message.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { beforeRequest, counted, createScene, dieAt } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

test("a run asks its model what its caller says, and the next one as the engine does", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["one", "two"]);
  await conversation.append("hello");
  await conversation.run(engine, {
    ...{ model: "big", instructions: "Be brief.", temperature: 0, topP: 0.5, maxOutputTokens: 100 },
    ...{ reasoningEffort: "high", parallelToolCalls: false, toolChoice: "none" },
  });
  await conversation.append("again");
  await conversation.run(engine);
  expect(provider.requests[0]).toMatchObject({
    ...{ model: "big", instructions: "Be brief.", temperature: 0, top_p: 0.5, max_output_tokens: 100 },
    ...{ reasoning: { effort: "high" }, parallel_tool_calls: false, tool_choice: "none" },
  });
  expect(provider.requests[1]).toMatchObject({ model: "scripted" });
  expect(provider.requests[1]).not.toHaveProperty("temperature");
  const [first, second] = dataOf(await eventsOf(conversation), "RunStarted");
  expect(first?.options?.settings).toMatchObject({ model: "big", toolChoice: "none" });
  expect(second).not.toHaveProperty("options");
});

test("what was said of a run that was cut off holds when it is resumed and replayed, and is not repeated", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), calling(["look-up", "{}"]), "an answer"], {
    tools: [lookUp.tool],
  });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(1), { model: "big", maxSteps: 3 });
  const { conversation, engine } = scene.process({ maxSteps: 1 });
  expect(await conversation.resume(engine)).toMatchObject({ status: "completed", text: "an answer" });
  expect(scene.provider.requests.map((body) => body["model"])).toEqual(["big", "big", "big"]);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  expect((await replayFolds(conversation)).difference).toBeNull();
});

test("a run may ask its model more or less often than the engine's runs", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const lookUp = counted("look-up", true);
  const again = Array.from({ length: 4 }, () => calling(["look-up", "{}"]));
  const { engine, provider } = workshop.scripted(again, { tools: [lookUp.tool] });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine, { maxSteps: 2 }))).toMatchObject({ kind: "iteration-limit" });
  expect(provider.requests).toHaveLength(2);
});

test.each([["required"], [{ tool: "look-up" }]] as const)(
  "a tool choice of %j holds until a tool was called, so that the run comes to an end",
  async (toolChoice) => {
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "done"], { tools: [lookUp.tool] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(1), { toolChoice });
    const { conversation, engine } = scene.process();
    expect(await conversation.run(engine)).toMatchObject({ text: "done", resumed: true });
    const wire = typeof toolChoice === "string" ? toolChoice : { type: "function", name: "look-up" };
    expect(scene.provider.requests.map((body) => body["tool_choice"] ?? null)).toEqual([wire, null]);
  },
);

const engine = createEngine({ provider: scripted([]), tools: [counted("weather", true).tool] });

test.each([
  [{ temprature: 1 }, /^run has no option 'temprature': did you mean 'temperature'\?$/],
  [{ toolchoice: "none" }, /did you mean 'toolChoice'/],
  [{ toolChoice: "always" }, /^run: toolChoice is 'always': /],
  [{ toolChoice: { tool: "wether" } }, /^run: there is no tool 'wether': did you mean 'weather'\?$/],
  [{ toolChoice: { name: "weather" } }, /^run: toolChoice.tool is undefined: give the name of a tool$/],
  [{ temperature: "hot" }, /^run: temperature is a text: give a number of at least 0$/],
  [{ maxOutputTokens: 0 }, /^run: maxOutputTokens is 0: give a whole number of at least 1$/],
  [{ maxSteps: 1.5 }, /^run: maxSteps is 1.5: /],
  [{ model: "" }, /^run: model is an empty text/],
  [{ parallelToolCalls: 1 }, /^run: parallelToolCalls is 1: give true or false$/],
] as const)("%j is refused before anything is written", async (options: object, message) => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  const before = await eventsOf(conversation);
  expect(messageOf(await rejectionOf(conversation.run(engine, options)))).toMatch(message);
  expect(await eventsOf(conversation)).toEqual(before);
});

test("a provider whose codec knows no settings of runs says so", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted(["hello"]);
  const codec: Codec = Object.fromEntries(
    Object.entries(provider.codec).filter(([name]) => name !== "adjust"),
  ) as Codec;
  const plain = workshop.engine({ provider: { ...provider, codec } });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(plain, { model: "big" }))).toMatchObject({
    message:
      "the provider scripted does not support settings of a run (model): its codec openai-responses/1 has no adjust",
  });
});
