import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  functionCall,
  type JsonObject,
  message,
  type ReferenceServer,
  readItems,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { parseJson } from "../../../packages/reference-server/src/wire.ts";

let server: ReferenceServer;
let answer: ScriptedAnswer;
beforeAll(async () => {
  server = await startReferenceServer({
    seed: "google",
    answer: () => answer,
    models: ["gemini-3-pro", "gemini-2.5-pro"],
    maxContextTokens: 2_000,
  });
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.clear();
  answer = { output: [message("Hello.")] };
});

const post = async (body: unknown, { model = "gemini-3-pro", method = "generateContent" } = {}) => {
  const told = await fetch(`${server.baseUrl}/models/${model}:${method}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return { status: told.status, text: await told.text() };
};
const asked = async (
  contents: readonly JsonObject[],
  more: JsonObject = {},
  options: { readonly model?: string } = {},
) => {
  const { status, text } = await post({ ...more, contents }, options);
  return { status, body: parseJson(text) };
};
const user = (...parts: readonly JsonObject[]): JsonObject => ({ role: "user", parts });
const model = (...parts: readonly JsonObject[]): JsonObject => ({ role: "model", parts });
const hi = user({ text: "Hi." });
const call = (name: string, more: JsonObject = {}): JsonObject => ({ functionCall: { name, args: { a: 1 } }, ...more });
const result = (name: string): JsonObject => ({ functionResponse: { name, response: { output: `of ${name}` } } });
const dummy = { thoughtSignature: "skip_thought_signature_validator" };
const signed = (name: string): JsonObject => call(name, dummy);

test("answers with parts, signed where Gemini signs: the first call, or the last part of what was thought about", async () => {
  const partsOf = async (output: ScriptedAnswer["output"]) => {
    answer = { output };
    const { body } = await asked([hi]);
    return /"parts":(\[.*?\]),"role"/.exec(JSON.stringify(body))?.[1] ?? "";
  };
  expect(await partsOf([message("Hello.")])).toBe('[{"text":"Hello."}]');
  const thought = await partsOf([reasoning({ summary: "Hm." }), message("Hello.")]);
  expect(thought).toMatch(/^\[\{"text":"Hm.","thought":true\},\{"text":"Hello.","thoughtSignature":"[^"]+"\}\]$/);
  const calls = await partsOf([functionCall("f", '{"b":1}', { callId: "x" }), functionCall("g", "{}")]);
  expect(calls).toMatch(
    /^\[\{"functionCall":\{"name":"f","args":\{"b":1\},"id":"x"\},"thoughtSignature":"[^"]+"\},\{"functionCall":\{"name":"g","args":\{\}\}\}\]$/,
  );
});

test("streams texts in pieces, each chunk with the usage, and says in the last one how it ended", async () => {
  answer = { output: [reasoning({ summary: "Hm." }), message("A text that is longer than one piece of a stream.")] };
  const { text } = await post({ contents: [hi] }, { method: "streamGenerateContent" });
  const chunks = text.split("\r\n\r\n").filter((line) => line !== "");
  expect(chunks.length).toBeGreaterThan(3);
  expect(chunks.every((chunk) => chunk.startsWith("data: {") && chunk.includes("usageMetadata"))).toBe(true);
  expect(chunks.map((chunk) => chunk.includes('"finishReason":"STOP"'))).toEqual(
    chunks.map((_, n) => n === chunks.length - 1),
  );
  expect(chunks.at(-1)).toMatch(/\{"text":"","thoughtSignature"/);
});

test("counts what a prompt begins with as earlier ones did", async () => {
  const cached = async (contents: readonly JsonObject[]) =>
    Number(/"cachedContentTokenCount":(\d+)/.exec(JSON.stringify((await asked(contents)).body))?.[1] ?? 0);
  expect(await cached([hi])).toBe(0);
  const second = await cached([hi, model({ text: "Hello." }), user({ text: "And?" })]);
  expect(second).toBeGreaterThan(0);
  expect(await cached([user({ text: "Hi!" }), model({ text: "Hello." }), user({ text: "And?" })])).toBe(0);
});

test("says what the model read: instructions, tools, calls and results without ids by name", async () => {
  const contents = [hi, model(signed("f"), call("g")), user(result("f"), result("g")), user({ text: "So?" })];
  const tools = [{ functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: { type: "object" } }] }];
  expect((await asked(contents, { tools, systemInstruction: { parts: [{ text: "Be brief." }] } })).status).toBe(200);
  const reading = server.reading(0);
  const lines = readItems(reading?.items ?? [], reading).map((line) => line.replace(/ \| [0-9a-f]{16}$/, ""));
  expect(lines).toEqual([
    "- | tool | - | f | -",
    "system | text | - | - | -",
    "user | text | - | - | -",
    "assistant | call | - | f | call#0",
    "assistant | call | - | g | call#1",
    "tool | result | - | - | call#0",
    "tool | result | - | - | call#1",
    "user | text | - | - | -",
  ]);
});

test("takes a text of nothing, of which the model reads nothing", async () => {
  const contents = [
    user({ text: "" }, { text: "Hi!" }),
    model({ text: "" }, { text: "Hello." }),
    user({ text: "So?" }),
  ];
  expect((await asked(contents)).status).toBe(200);
  expect(server.reading(0)?.items).toHaveLength(3);
  expect((await asked([user({ text: "" })])).status).toBe(200);
});

describe("refuses", () => {
  const rows: readonly (readonly [string, readonly JsonObject[], RegExp])[] = [
    ["no contents", [], /contents is not specified/],
    ["a content without parts", [user()], /contents\[0\].parts: contents.parts must not be empty/],
    ["a part without data", [user({})], /parts\[0\].data: required oneof field 'data'/],
    ["another role", [{ role: "assistant", parts: [{ text: "a" }] }], /valid role: user, model/],
    ["a result without its call", [hi, user(result("f"))], /function response turn comes immediately after/],
    [
      "fewer results than calls",
      [hi, model(signed("f"), call("g")), user(result("f"))],
      /number of function response parts is equal/,
    ],
    ["calls that nothing answers", [hi, model(signed("f")), hi], /number of function response parts is equal/],
    [
      "results in another order",
      [hi, model(signed("f"), call("g")), user(result("g"), result("f"))],
      /function response turn comes immediately after/,
    ],
    ["a call of the user", [user(call("f"))], /function call turn comes immediately after/],
    [
      "the first call of a step without a signature",
      [hi, model(call("f")), user(result("f"))],
      /Function call `f` in the 2. content block is missing/,
    ],
    [
      "a signature of another server",
      [hi, model(call("f", { thoughtSignature: "c2lnbmVk" })), user(result("f"))],
      /Thought signature is not valid/,
    ],
    [
      "too much",
      [user({ text: "a".repeat(9_000) })],
      /input token count \(\d+\) exceeds the maximum number of tokens allowed \(2000\)/,
    ],
  ];
  test.each(rows)("%s", async (_, contents, text) => {
    const { status, body } = await asked(contents);
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringMatching(text)]);
    expect(JSON.stringify(body)).toContain('"status":"INVALID_ARGUMENT"');
  });

  test("an unknown model, and an unknown member", async () => {
    const unknown = {
      error: { code: 404, status: "NOT_FOUND", message: expect.stringContaining("gemini-1") as string },
    };
    expect(await asked([hi], {}, { model: "gemini-1" })).toMatchObject({ status: 404, body: unknown });
    expect(JSON.stringify((await asked([hi], { messages: [] })).body)).toMatch(/Unknown name \\"messages\\"/);
  });
});

test("looks for signatures in the current turn only, and of the third generation only", async () => {
  const turn = [hi, model(call("f")), user(result("f"))];
  expect((await asked([...turn, model({ text: "a" }), hi])).status).toBe(200);
  expect((await asked(turn, {}, { model: "gemini-2.5-pro" })).status).toBe(200);
});
