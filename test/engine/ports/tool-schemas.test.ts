import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { toolCall, user } from "../../../src/domain/make-block.ts";
import type { StandardSchema } from "../../../src/engine/ports/schema.ts";
import { type Tool, tool } from "../../../src/engine/ports/tool.ts";
import { calling, resultsOf, run } from "../../support/run/tool-runs.ts";
import { dataOf } from "../../support/workshop.ts";

const named = { name: "weather", description: "Today's weather." };
const jsonSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "number" } },
  required: ["city"],
} as const;

const ofZod = tool({
  ...named,
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: ({ city, days }) => `${city} for ${days}`,
});
const ofValibot = tool({
  ...named,
  inputSchema: v.object({ city: v.string(), days: v.optional(v.number(), 1) }),
  jsonSchema,
  execute: ({ city, days }) => `${city} for ${days}`,
});
const ofArktype = tool({
  ...named,
  inputSchema: type({ city: "string", days: "number = 1" }),
  execute: ({ city, days }) => `${city} for ${days}`,
});

/** An unknown library that validates asynchronously. */
const ofItsOwn: StandardSchema<unknown, { readonly city: string }> = {
  "~standard": {
    version: 1,
    vendor: "own",
    async validate(value) {
      await Promise.resolve();
      const isCity = typeof value === "object" && value !== null && "city" in value && typeof value.city === "string";
      return isCity
        ? { value: { city: String(value.city) } }
        : { issues: [{ message: "no", path: [{ key: "city" }] }] };
    },
    jsonSchema: { input: ({ target }) => ({ $schema: target, ...jsonSchema }) },
  },
};

const tools: readonly (readonly [string, Tool])[] = [
  ["zod", ofZod],
  ["valibot", ofValibot],
  ["arktype", ofArktype],
];

describe.each(tools)("a tool with a schema of %s", (_, weather) => {
  test("runs with arguments that the schema has validated, defaults included", async () => {
    const { turn } = await run([calling(["weather", '{"city":"Paris"}']), "done"], { tools: [weather] });
    expect(resultsOf(turn)).toEqual(["Paris for 1"]);
  });

  test("tells the model what is wrong with its arguments, and where", async () => {
    const { turn, outcome } = await run([calling(["weather", '{"city":3}']), "done"], { tools: [weather] });
    expect(resultsOf(turn)).toEqual([expect.stringMatching(/^Error: invalid arguments: .*string.*city/s)]);
    expect(outcome).toMatchObject({ status: "completed", text: "done" });
  });

  test("is offered to the model by its JSON Schema, which is recorded as it is sent", async () => {
    const { provider, events } = await run(["done"], { tools: [weather] });
    const [offered] = dataOf(events, "SettingsDeclared").map(({ settings }) => settings["tools"]);
    const sent = provider.requests[0]?.["tools"];
    expect(sent).toMatchObject([{ name: "weather", parameters: { type: "object", required: ["city"] } }]);
    expect(offered).toEqual(sent);
    expect(weather.parameters).not.toHaveProperty("$schema");
  });

  test("tells layers what a call asks for, and nothing of other blocks", async () => {
    const call = (name: string, given: string) => toolCall({ name, arguments: given, callId: "c1" });
    expect(await weather.inputOf(call("weather", '{"city":"Rome","days":2}'))).toEqual({ city: "Rome", days: 2 });
    expect(await weather.inputOf(call("news", '{"city":"Rome"}'))).toBeNull();
    expect(await weather.inputOf(user("hello"))).toBeNull();
    await expect(weather.inputOf(call("weather", "{}"))).rejects.toMatchObject({
      code: "tool-input",
      issues: [{ path: ["city"] }],
    });
  });
});

test("a schema may take its time, and says its own JSON Schema where it can", async () => {
  const weather = tool({ ...named, inputSchema: ofItsOwn, execute: ({ city }) => city });
  expect(weather.parameters).toEqual(jsonSchema);
  const { turn } = await run([calling(["weather", '{"city":"Oslo"}'], ["weather", "[]"]), "done"], {
    tools: [weather],
  });
  expect(resultsOf(turn)).toEqual(["Oslo", "Error: invalid arguments: ✖ no\n  → at city"]);
});

test("a check of zod that is asynchronous is waited for", async () => {
  const inputSchema = z.object({ city: z.string().refine((city) => Promise.resolve(city === "Rome"), "is not there") });
  const weather = tool({ ...named, inputSchema, execute: () => "sunny" });
  const { turn } = await run([calling(["weather", '{"city":"Rome"}'], ["weather", '{"city":"Oz"}']), "done"], {
    tools: [weather],
  });
  expect(resultsOf(turn)).toEqual(["sunny", expect.stringContaining("is not there")]);
});

test("a JSON Schema beside the schema goes before the library's own", () => {
  const { parameters } = tool({ ...named, inputSchema: z.looseObject({}), jsonSchema, execute: () => "" });
  expect(parameters).toEqual(jsonSchema);
});

test("types of arguments and results are those of schema and function, whatever the library", () => {
  expectTypeOf(ofZod).toEqualTypeOf<Tool<{ city: string; days: number }, string>>();
  expectTypeOf(ofValibot.inputOf).returns.resolves.toEqualTypeOf<{ city: string; days: number } | null>();
  expectTypeOf<Parameters<typeof ofArktype.execute>[0]>().toEqualTypeOf<{ city: string; days: number }>();
  expectTypeOf<ReturnType<typeof ofArktype.execute>>().toEqualTypeOf<string>();
  const later = tool({ ...named, inputSchema: ofItsOwn, execute: ({ city }) => Promise.resolve(city.length) });
  expectTypeOf(later).toEqualTypeOf<Tool<{ readonly city: string }, Promise<number>>>();
  // @ts-expect-error: the schema has no such member.
  tool({ ...named, inputSchema: ofItsOwn, execute: ({ town }) => String(town) });
});
