import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { messageOf } from "../../../src/base/error-message.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { RunResult } from "../../../src/engine/options/result.ts";
import type { StandardSchema } from "../../../src/engine/ports/schema.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { beforeRequest, createScene, dieAt } from "../../support/run/scene.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const forecast = z.object({ city: z.string(), degrees: z.number() });
const sunny = '{"city":"Paris","degrees":21}';

async function asking(answer: string, output: typeof forecast | null = forecast) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted([answer, answer]);
  await conversation.append("What is the weather in Paris?");
  const result = await conversation.run(engine, output === null ? {} : { output });
  return { conversation, engine, provider, result };
}

describe("an answer that is wanted as a schema has it", () => {
  test("is given as the schema gives it, typed, and again with the recorded result", async () => {
    const { conversation, engine, result } = await asking(sunny);
    expect(result).toMatchObject({ status: "completed", text: sunny, outputIssues: [] });
    expect(result.output).toEqual({ city: "Paris", degrees: 21 });
    const again = await conversation.run(engine, { output: forecast });
    expect(again).toMatchObject({ isNew: false, output: { degrees: 21 } });
    expectTypeOf(again.output).toEqualTypeOf<{ city: string; degrees: number }>();
    const cities: string[] = [];
    for await (const part of conversation.stream(engine, { output: forecast }))
      if (part.type === "run-end") cities.push(part.result.output.city);
    expect(cities).toEqual(["Paris"]);
  });

  test("is asked of the provider by its JSON Schema, and recorded as it is sent", async () => {
    const { conversation, provider } = await asking(sunny);
    const format = { type: "json_schema", name: "output", strict: true };
    expect(provider.requests[0]).toMatchObject({
      text: { format: { ...format, schema: { additionalProperties: false } } },
    });
    const [declared] = dataOf(await eventsOf(conversation), "SettingsDeclared");
    expect(declared?.settings["text"]).toEqual(provider.requests[0]?.["text"]);
  });

  test.each([
    ["no JSON", "Sunny.", [], /^the answer is not JSON: /],
    ["of another shape", '{"city":"Paris"}', ["degrees"], /number/],
  ] as const)("that is %s has completed all the same: reading it as such says why", async (_, text, path, message) => {
    const { result, conversation } = await asking(text);
    expect(result).toMatchObject({ status: "completed", text });
    expect(result.outputIssues).toMatchObject([{ path }]);
    expect(result.outputIssues[0]?.message).toMatch(message);
    expect(() => result.output).toThrow(
      expect.objectContaining({ code: "output-mismatch", text, issues: result.outputIssues }),
    );
    expect(JSON.parse(JSON.stringify(result))).not.toHaveProperty("output");
    expect((await conversation.turn()).at(-1)?.text).toBe(text);
  });

  test("of a schema that fails itself is kept", async () => {
    const output: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: () => {
          throw new Error("not today");
        },
        jsonSchema: { input: () => ({ type: "object" }) },
      },
    };
    const { conversation, ...workshop } = createWorkshop();
    await conversation.append("hello");
    const result = await conversation.run(workshop.scripted([sunny]).engine, { output });
    expect(result).toMatchObject({ status: "completed", text: sunny });
    expect(result.outputIssues[0]?.message).toContain("not today");
  });

  test("is not there where the model called what only the app can answer", async () => {
    const { conversation, ...workshop } = createWorkshop();
    const tools = [{ type: "function", name: "ask", parameters: { type: "object" } }];
    const provider = scripted([{ calls: [{ name: "ask", arguments: {} }] }], {
      settings: { model: "scripted", tools },
    });
    await conversation.append("hello");
    const result = await conversation.run(workshop.engine({ provider }), { output: forecast });
    expect(result.status).toBe("calls-open");
    expect(result.outputIssues).toMatchObject([{ message: "there is no answer yet: the run is calls-open" }]);
  });

  test("may be every answer of an engine, and one run's own goes before it", async () => {
    const { conversation } = createWorkshop();
    const engine = createEngine({ provider: scripted([sunny, '{"yes":true}']), output: forecast });
    await conversation.append("hello");
    const result = await conversation.run(engine);
    expectTypeOf(result).toEqualTypeOf<RunResult<{ city: string; degrees: number }>>();
    expect(result.output.degrees).toBe(21);
    await conversation.append("really?");
    const other = await conversation.run(engine, { output: z.object({ yes: z.boolean() }) });
    expectTypeOf(other.output).toEqualTypeOf<{ yes: boolean }>();
    expect(other.output.yes).toBe(true);
  });

  test("is asked for as it was begun where the run is resumed, and validated by the schema that is given then", async () => {
    const scene = createScene([sunny]);
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0), { output: forecast });
    const { conversation, engine } = scene.process();
    const result = await conversation.resume(engine, { output: forecast });
    expect(result?.output).toEqual({ city: "Paris", degrees: 21 });
    expect(scene.provider.requests[0]).toHaveProperty("text.format.schema");
  });
});

test("without a schema the output is undefined, and no format is asked for", async () => {
  const { provider, result } = await asking("Sunny.", null);
  expect(result.output).toBeUndefined();
  expect(provider.requests[0]).not.toHaveProperty("text");
});

test("the output of a run without a schema has no type to speak of", async () => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  const result = await conversation.run(createEngine({ provider: scripted(["Hi."]) }));
  expectTypeOf(result.output).toEqualTypeOf<undefined>();
  expect(result.output).toBeUndefined();
});

test.each([
  [z.string(), /^run: output is not an object, and models return only objects: wrap it in z\.object/],
  [{ type: "object" }, /^run: output is an object, not a schema: give z\.object/],
])("%j is refused as an output", async (output: unknown, message) => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const options: object = { output };
  expect(messageOf(await rejectionOf(conversation.run(workshop.scripted([]).engine, options)))).toMatch(message);
});
