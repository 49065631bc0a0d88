import { afterEach, describe, expect, test, vi } from "vitest";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { AnswerLimits } from "../../../src/providers/settings/answer-limits.ts";
import { ask, failureOf } from "../../support/providers/inferences.ts";
import { answering, eventStream, eventsOf, serve } from "../../support/providers/loopback.ts";

afterEach(() => {
  vi.useRealTimers();
});

const provider = (limits: Partial<AnswerLimits>, baseURL = "http://127.0.0.1:1/v1", fetch?: typeof globalThis.fetch) =>
  openaiResponses({ model: "m", apiKey: "sk-test", baseURL, limits, fetch });

const item = (text: string) => ({
  ...{ type: "message", id: `msg_${text.length}`, role: "assistant" },
  content: [{ type: "output_text", text }],
});
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const response = {
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [item("hi"), item("x".repeat(2000))],
};
const completed = { type: "response.completed", response };
const done = (index: number) => ({
  ...{ type: "response.output_item.done", output_index: index, item: response.output[index] },
});
const stream = eventsOf(done(0), done(1), completed);

describe("an answer as large as its limits is taken, and one byte more is a failure that names the limit", () => {
  test.each<[keyof AnswerLimits, string, number, string, number]>([
    ["bodyBytes", JSON.stringify(response), bytesOf(response), "body-too-large", 0],
    ["itemBytes", JSON.stringify(response), bytesOf(response.output[1]), "item-too-large", 1],
    ["itemBytes", stream, bytesOf(response.output[1]), "item-too-large", 1],
    ["streamBytes", stream, Buffer.byteLength(stream), "stream-too-large", 0],
  ])("%s", async (limit, body, size, kind, partial) => {
    await using server = await serve(answering(body, 200, body === stream ? eventStream : {}));
    expect((await ask(provider({ [limit]: size }, server.baseURL))).response).toEqual(response);
    const failure = await failureOf(ask(provider({ [limit]: size - 1 }, server.baseURL)));
    expect(failure).toMatchObject({ kind, outcome: "unknown" });
    expect(failure.message).toContain(`${size - 1} bytes: raise limits.${limit}`);
    expect(failure.partial).toEqual(response.output.slice(0, partial));
  });
});

test("an event of a stream, and a text that grows by deltas, are bounded without an end of them", async () => {
  const endless = (head: string, piece: string) =>
    serve((answer) => {
      answer.writeHead(200, eventStream).write(head);
      const more = (): void => {
        while (!answer.destroyed && answer.write(piece));
        if (!answer.destroyed) answer.once("drain", more);
      };
      more();
    });
  await using oneEvent = await endless('event: x\ndata: "', "x".repeat(10_000));
  expect(await failureOf(ask(provider({ bodyBytes: 1e6 }, oneEvent.baseURL)))).toMatchObject({
    kind: "body-too-large",
  });
  const opening = eventsOf({ type: "response.output_item.added", output_index: 0, item: { type: "message" } });
  const delta = eventsOf({ type: "response.output_text.delta", output_index: 0, delta: "x".repeat(1000) });
  await using oneText = await endless(opening, delta);
  expect(await failureOf(ask(provider({ itemBytes: 1e5 }, oneText.baseURL)))).toMatchObject({ kind: "item-too-large" });
});

test("the body of a refusal is cut, and the refusal is what its status says", async () => {
  await using server = await serve(answering("x".repeat(200_000), 429));
  const failure = await failureOf(ask(provider({ errorBytes: 1_000 }, server.baseURL)));
  expect(failure).toMatchObject({ kind: "rate-limited", outcome: "rejected", status: 429 });
  expect(JSON.stringify(failure.body).length).toBeLessThan(150_000);
});

test.each(["", "event: response.created\ndata: {}\n\n", '{"id":"resp_1","object":"response","output":['])(
  "an answer that pauses for too long is given up, whatever came before (%j)",
  async (start) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let cancelled: unknown = null;
    const reading = Promise.withResolvers<null>();
    const body = new ReadableStream<Uint8Array>(
      {
        pull(queue) {
          if (cancelled === null && start !== "" && queue.desiredSize === 1)
            queue.enqueue(new TextEncoder().encode(start));
          start = "";
          reading.resolve(null);
        },
        cancel(reason) {
          cancelled = reason;
        },
      },
      { highWaterMark: 1 },
    );
    const fetch = async (): Promise<Response> => new Response(body, { headers: eventStream });
    const failure = failureOf(ask(provider({ idleMs: 10_000 }, undefined, fetch)));
    await reading.promise;
    await vi.advanceTimersByTimeAsync(9_999);
    expect(cancelled).toBe(null);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await failure).toMatchObject({ kind: "answer-stalled", outcome: "unknown" });
    expect(cancelled).toMatchObject({ kind: "answer-stalled" });
  },
);

test.each([301, 302, 303, 307, 308])("a redirect is not followed, and told (%i)", async (status) => {
  await using other = await serve(answering(response));
  const location = `${other.baseURL}/elsewhere?key=secret`;
  await using server = await serve(answering("", status, { location }));
  const failure = await failureOf(ask(provider({}, server.baseURL)));
  expect(failure).toMatchObject({ kind: "invalid-request", outcome: "rejected", status });
  expect(failure.message).toBe(
    `the provider answered HTTP ${status}, a redirect to ${other.baseURL}/elsewhere, which turnlog does not follow: give that address as baseURL`,
  );
  expect(other.received).toEqual([]);
});

test.each([
  [{ bodyBytes: 0 }, "limits.bodyBytes is 0"],
  [{ idleMs: 2 ** 31 }, "limits.idleMs is 2147483648"],
  [{ itemBytes: "1" }, "limits.itemBytes is a text"],
  [{ bytes: 1 }, "limits has no option 'bytes'"],
])("limits of %j are refused", (limits, named) => {
  // As JavaScript may give it.
  expect(() => provider(limits as Partial<AnswerLimits>)).toThrow(named);
});
