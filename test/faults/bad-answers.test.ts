import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json.ts";
import { ProviderError } from "../../src/engine/ports/provider-error.ts";
import { RunFailedError } from "../../src/engine/session/errors.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../src/providers/responses/responses-options.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

const said = (text: string): JsonObject => ({
  ...{ type: "message", id: `msg_${text}`, role: "assistant", status: "completed" },
  content: [{ type: "output_text", text, annotations: [] }],
});

const answer = (members: JsonObject = {}): JsonObject => ({
  ...{ id: "resp_bad", object: "response", status: "completed", previous_response_id: null },
  output: [said("hello")],
  ...members,
});

const eventsFor = (response: JsonObject): readonly JsonObject[] => [
  { type: "response.created", sequence_number: 0, response: { ...response, status: "in_progress", output: [] } },
  { type: "response.output_item.added", sequence_number: 1, output_index: 0, item: { ...said(""), content: [] } },
  { type: "response.output_text.delta", sequence_number: 2, output_index: 0, content_index: 0, delta: "hel" },
  { type: "response.output_text.delta", sequence_number: 3, output_index: 0, content_index: 0, delta: "lo" },
  { type: "response.output_item.done", sequence_number: 4, output_index: 0, item: said("hello") },
  { type: "response.completed", sequence_number: 5, response },
];

const frameOf = (event: JsonObject): string => `data: ${JSON.stringify(event)}\n\n`;
const streamOf = (events: readonly JsonObject[]): string => events.map(frameOf).join("");

type Told = { readonly text: string; readonly contentType?: string; readonly neverEnds?: boolean };

/** A message whose answer is this, and another one that is answered well. */
async function tell(
  { text, contentType = "text/event-stream", neverEnds = false }: Told,
  limits: Partial<OpenaiResponsesOptions> = {},
) {
  const workshop = createWorkshop();
  let requests = 0;
  const provider = openaiResponses({
    ...{ model: "m", baseURL: "https://bad.test/v1", apiKey: "key-of-the-test", ...limits },
    fetch: async (_address, { signal } = {}) => {
      requests += 1;
      if (requests > 1) return Response.json(answer({ id: "resp_good", output: [said("well")] }));
      const body = new ReadableStream<Uint8Array>({
        start(queue) {
          queue.enqueue(new TextEncoder().encode(text));
          if (!neverEnds) queue.close();
          else signal?.addEventListener("abort", () => queue.error(signal.reason), { once: true });
        },
      });
      return new Response(body, { headers: { "content-type": contentType } });
    },
  });
  // What the second request continues from is not the matter here.
  const engine = workshop.engine({ provider, mode: "stateless" });
  await workshop.conversation.append("one");
  const result = await workshop.conversation.run(engine).catch((error: unknown) => error);
  const asked = requests;
  const turn = await workshop.conversation.turn();
  await workshop.conversation.append("two");
  requests = Math.max(requests, 1);
  const next = await workshop.conversation.run(engine);
  const events = await eventsOf(workshop.conversation);
  return { workshop, result, asked, texts: turn.blocks.map((block) => block.text), next, events };
}

type Outcome = Awaited<ReturnType<typeof tell>>;

/** One answer or one typed failure on record, a Turn that holds all of an answer or none of it, and a conversation that goes on. */
function checkSound({ result, asked, texts, next, events }: Outcome): void {
  expect(asked).toBe(1);
  const received = dataOf(events, "ResponseReceived");
  const failed = dataOf(events, "InferenceFailed");
  if (result instanceof Error) {
    expect(result).toBeInstanceOf(RunFailedError);
    expect(result.cause).toBeInstanceOf(ProviderError);
    expect([received.length, failed.length === 1 || received[0]?.failure !== undefined]).toEqual([
      failed.length === 1 ? 1 : 2,
      true,
    ]);
  } else expect([received.length, failed.length]).toEqual([2, 0]);
  expect(texts[0]).toBe("one");
  expect(next.text).toBe("well");
}

describe("unknown content is kept and passed on", () => {
  test.each<[string, JsonObject, object]>([
    ["a status", { status: "pondering" }, { status: "pondering", isComplete: false }],
    ["a member", { mood: { is: ["good", 1, null] } }, { rest: { mood: { is: ["good", 1, null] } } }],
    [
      "a reason to be incomplete",
      { status: "incomplete", incomplete_details: { reason: "tired" } },
      { rest: { incomplete_details: { reason: "tired" } } },
    ],
    ["a count", { usage: { input_tokens: 1, dreams: 2 } }, { usage: { inputTokens: 1, reported: { dreams: 2 } } }],
  ])("%s of an answer", async (_, members, recorded) => {
    const outcome = await tell({ text: JSON.stringify(answer(members)), contentType: "application/json" });
    checkSound(outcome);
    expect(dataOf(outcome.events, "ResponseReceived")[0]).toMatchObject(recorded);
    expect(outcome.texts).toEqual(["one", "hello"]);
  });

  test("an item goes back as it came", async () => {
    const item = { type: "dream_call", id: "dr_1", status: "vivid", about: [{ type: "sheep", n: 7 }] };
    const { events } = await tell({ text: JSON.stringify(answer({ output: [item, said("hello")] })) });
    expect(dataOf(events, "ResponseReceived")[0]?.output[0]).toMatchObject({
      kind: "other",
      payload: { type: "dream_call", about: [{ type: "sheep", n: 7 }] },
    });
  });

  test("events of a stream do not disturb it", async () => {
    const odd = [{ type: "response.dreaming", depth: 3 }, { type: "keepalive" }, { hello: "world" }];
    const outcome = await tell({ text: streamOf(eventsFor(answer()).flatMap((event) => [...odd, event])) });
    checkSound(outcome);
    expect(outcome.texts).toEqual(["one", "hello"]);
  });

  test("the code of a failure is in the error and in the log", async () => {
    const failed = {
      type: "response.failed",
      response: answer({ status: "failed", output: [], error: { code: "moon_phase", message: "Full moon." } }),
    };
    const { result, events } = await tell({ text: streamOf([failed]) });
    expect(result).toMatchObject({
      cause: { kind: "unknown", outcome: "unknown", providerCode: "moon_phase", message: "Full moon." },
    });
    expect(dataOf(events, "InferenceFailed")).toMatchObject([{ kind: "unknown", code: "moon_phase" }]);
  });
});

const whole = streamOf(eventsFor(answer()));
const cutAfter = (type: string): string => whole.slice(0, whole.indexOf(type) + type.length);

describe("what is no answer ends in a typed error, with what arrived on record", () => {
  test.each<[string, Told, Partial<OpenaiResponsesOptions>, kind: string, partial: number]>([
    ["a stream that breaks off in a text", { text: cutAfter('"delta":"lo"}\n\n') }, {}, "stream-cut", 1],
    [
      "a stream that breaks off behind an item",
      { text: whole.slice(0, whole.indexOf('data: {"type":"response.completed"')) },
      {},
      "stream-cut",
      1,
    ],
    ["a stream that breaks off within a frame", { text: whole.slice(0, -20) }, {}, "stream-cut", 1],
    [
      "a frame that is no JSON",
      { text: `${cutAfter('"delta":"lo"}\n\n')}data: {"type":\n\n${whole}` },
      {},
      "stream-cut",
      1,
    ],
    ["an answer that is no response", { text: '{"hello":"world"}', contentType: "application/json" }, {}, "unknown", 0],
    ["an answer that is a list", { text: "[1,2]", contentType: "application/json" }, {}, "unknown", 0],
    [
      "JSON that breaks off",
      { text: JSON.stringify(answer()).slice(0, -5), contentType: "application/json" },
      {},
      "unknown",
      0,
    ],
    ["an output that is a text", { text: JSON.stringify(answer({ output: "hello" })) }, {}, "unknown", 0],
    [
      "an answer over its limit",
      { text: JSON.stringify(answer({ mood: "x".repeat(4000) })) },
      { limits: { bodyBytes: 2000 } },
      "body-too-large",
      0,
    ],
    [
      "an answer that stalls",
      { text: cutAfter('"delta":"lo"}\n\n'), neverEnds: true },
      { limits: { idleMs: 20 } },
      "answer-stalled",
      1,
    ],
    ["an answer that never comes", { text: "", neverEnds: true }, { timeoutMs: 20 }, "connection", 0],
  ])("%s", async (_, told, options, kind, partial) => {
    const outcome = await tell(told, options);
    checkSound(outcome);
    expect(outcome.result).toMatchObject({ cause: { kind, outcome: "unknown" } });
    const [failed] = dataOf(outcome.events, "InferenceFailed");
    expect(failed?.partial).toHaveLength(partial);
    expect(outcome.texts).toEqual(["one"]);
  });
});

describe("whatever a server sends", () => {
  const odd = fc.constantFrom<JsonValue>(null, true, -1, 1e30, "", "text", [], [null, 1, "x"], {}, { type: 7 });
  const frames = eventsFor(answer({ usage: { input_tokens: 3, output_tokens: 4 } }));
  const paths = frames.flatMap((event, index) => pathsIn(event).map((path) => [index, path] as const));

  test("a member of another type is an answer or a typed error, and the conversation goes on", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), odd, async ([index, path], value) => {
        checkSound(
          await tell({
            text: streamOf(frames.map((event, n) => (n === index ? replaced(event, path, value) : event))),
          }),
        );
      }),
      { numRuns: 60 },
    );
  });

  test("frames that are lost, doubled or out of order are an answer or a typed error, and the conversation goes on", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...frames), { maxLength: 10 }), async (given) => {
        checkSound(await tell({ text: streamOf(given) }));
      }),
      { numRuns: 60 },
    );
  });

  test("a stream that is cut anywhere is an answer or a typed error, and the conversation goes on", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length), async (length) => {
        checkSound(await tell({ text: whole.slice(0, length) }));
      }),
      { numRuns: 40 },
    );
  });
});

function pathsIn(value: JsonValue | undefined): readonly (readonly string[])[] {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, member]: [string, JsonValue | undefined]) => [
    [name],
    ...pathsIn(member).map((path) => [name, ...path]),
  ]);
}

/** The same with another value at a path. */
function replaced(value: JsonObject, [name = "", ...rest]: readonly string[], by: JsonValue): JsonObject {
  const member = value[name];
  return { ...value, [name]: rest.length === 0 ? by : within(member, rest, by) };
}

function within(value: JsonValue | undefined, path: readonly string[], by: JsonValue): JsonValue {
  if (isJsonList(value)) {
    const [index = "", ...rest] = path;
    return value.map((item, n) => (n !== Number(index) ? item : rest.length === 0 ? by : within(item, rest, by)));
  }
  return isJsonObject(value) ? replaced(value, path, by) : by;
}
