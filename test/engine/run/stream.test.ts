import { firstValueFrom, Subject, take, toArray } from "rxjs";
import { expect, test, vi } from "vitest";
import * as z from "zod";
import { message, reasoning, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { changes$ } from "../../../src/conversation/changes.ts";
import type { Observer } from "../../../src/engine/options/engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { endless, gated } from "../../support/gates.ts";
import { counted, createScene, dieAt, inTool } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

async function partsOf(stream: AsyncIterable<RunPart>): Promise<readonly RunPart[]> {
  const parts: RunPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** The parts' types, with neighbours of one type told once. */
const outline = (parts: readonly RunPart[]): readonly string[] =>
  parts.map(({ type }) => type).filter((type, index, types) => type !== types[index - 1]);

const textOf = (parts: readonly RunPart[], type: "text-delta" | "reasoning-delta" | "tool-call-delta"): string =>
  parts.map((part) => (part.type === type ? part.text : "")).join("");

const echo = tool({
  name: "echo",
  description: "",
  inputSchema: z.object({ say: z.string() }),
  execute: ({ say }) => say,
});

test("a stream gives deltas as they come, then the blocks, and ends with the result", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted([{ reasoning: "let me think", text: "the whole answer" }]);
  await conversation.append("hello");
  const parts = await partsOf(conversation.stream(engine));
  expect(outline(parts)).toEqual([
    ...["run-start", "request-start", "item-start", "reasoning-delta", "item-start", "text-delta"],
    ...["block", "usage", "run-end"],
  ]);
  expect(textOf(parts, "text-delta")).toBe("the whole answer");
  expect(textOf(parts, "reasoning-delta")).toBe("let me think");
  expect(parts.filter(({ type }) => type === "text-delta").length).toBeGreaterThan(1);
  const last = parts.at(-1);
  expect(last?.type === "run-end" && last.result.text).toBe("the whole answer");
});

test("the cost of an answer so far is reported while it streams, if the endpoint says so, through every wrapper", async () => {
  const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
  const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "hello" }] };
  const usageOf = (output: number) => ({ input_tokens: 7, output_tokens: output });
  const frames = [
    { type: "response.created", response: { ...response, usage: usageOf(0) } },
    { type: "response.output_text.delta", output_index: 0, delta: "hello" },
    { type: "response.in_progress", response: { ...response, usage: usageOf(3) } },
    { type: "response.completed", response: { ...response, status: "completed", output: [item], usage: usageOf(5) } },
  ];
  const text = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
  const provider = openaiResponses({
    ...{ model: "m", baseURL: "https://counting.test/v1", apiKey: "key-of-the-test" },
    fetch: async () => new Response(text, { headers: { "content-type": "text/event-stream" } }),
  });
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const told: string[] = [];
  const next = (part: RunPart): void => {
    if (part.type === "usage") told.push(`${part.usage.outputTokens} tokens`);
    else if (part.type === "text-delta" || part.type === "block") told.push(part.type);
  };
  await conversation.run(workshop.engine({ provider, observers: [{ next }] }));
  expect(told).toEqual(["0 tokens", "text-delta", "3 tokens", "block", "5 tokens"]);
});

test("a stream reports when tool calls begin and when they end", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const calls = [{ name: "echo", arguments: { say: "hi" } }];
  const { engine } = workshop.scripted([{ calls }, "done"], { tools: [echo] });
  await conversation.append("hello");
  const parts = await partsOf(conversation.stream(engine));
  expect(textOf(parts, "tool-call-delta")).toBe('{"say":"hi"}');
  const [start, end] = [
    parts.find(({ type }) => type === "tool-call-start"),
    parts.find(({ type }) => type === "tool-call-end"),
  ];
  expect(start).toMatchObject({ call: { kind: "tool_call" } });
  expect(end).toMatchObject({ result: { text: "hi" }, outcome: "ok" });
});

test("the part before a request is sent says how it is sent, and how big it is", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["one", "two"]);
  await conversation.append("hello");
  await conversation.run(engine);
  await conversation.append("again");
  const parts = await partsOf(conversation.stream(engine));
  const [request] = dataOf(await eventsOf(conversation), "InferenceRequested").slice(-1);
  expect(parts.find(({ type }) => type === "request-start")).toMatchObject({
    attempt: 0,
    decision: { strategy: "chained" },
    requestBytes: request?.requestBytes,
  });
});

test("the deltas of an attempt that failed are taken back", async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [reasoning({ summary: "hm" }), message("an answer")] }),
  });
  const { conversation, ...workshop } = createWorkshop();
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key" });
  const engine = workshop.engine({ provider });
  await conversation.append("one");
  await conversation.run(engine);
  server.forget(server.responseIds().at(-1) ?? "");
  await conversation.append("two");
  const parts = await partsOf(conversation.stream(engine));
  expect(outline(parts).slice(0, 4)).toEqual(["run-start", "request-start", "attempt-discarded", "request-start"]);
  expect(parts.find(({ type }) => type === "attempt-discarded")).toMatchObject({ attempt: 0, reason: "lost-state" });
});

test("a stream that breaks off after deltas says that they do not count, and throws", async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [message("a rather long answer")] }),
    deltaLength: 3,
  });
  server.inject({ kind: "cut", afterBytes: 2_500 });
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("one");
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key" });
  const parts: RunPart[] = [];
  const reading = (async () => {
    for await (const part of conversation.stream(workshop.engine({ provider }))) parts.push(part);
  })();
  expect(await rejectionOf(reading)).toMatchObject({ code: "run-failed", kind: "stream-cut" });
  expect(outline(parts)).toEqual([
    ...["run-start", "request-start", "item-start", "text-delta", "attempt-discarded", "run-failed"],
  ]);
});

test("a stream of a run that waits for people ends with its result, the first time and every time", async () => {
  const charge = counted("charge", false);
  const scene = createScene([calling(["charge", "{}"]), "an answer"], { tools: [charge.tool] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, inTool("charge", "after"));
  const { conversation, engine } = scene.process();
  for (const _ of [1, 2])
    expect(await partsOf(conversation.stream(engine))).toMatchObject([
      { type: "run-end", result: { status: "parked", waitingFor: [{ name: "charge" }] } },
    ]);
});

test("a stream ends once: a run that was cut off is finished before it, and its end is not the stream's", async () => {
  const look = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), "the first answer", "the second"], { tools: [look.tool] });
  const first = scene.process();
  await first.conversation.append("one", { key: "one" });
  await dieAt(first, inTool("look-up", "after"));
  const { conversation, engine } = scene.process();
  await conversation.append("two", { key: "two" });
  const parts = await partsOf(conversation.stream(engine, { key: "two" }));
  expect(outline(parts).filter((type) => /^run-|^resumed/.test(type))).toEqual(["resumed", "run-start", "run-end"]);
  expect(parts.at(-1)).toMatchObject({ type: "run-end", result: { text: "the second" } });
});

test("leaving a stream early aborts its run, and waits until it has ended", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const stream = conversation.stream(workshop.engine({ provider: endless() }));
  for await (const { type } of stream) if (type === "text-delta") break;
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["InferenceFailed", "RunCancelled"]);
  expect((await conversation.run(workshop.scripted(["another answer"]).engine)).text).toBe("another answer");
});

test("a reader that throws aborts the run as well", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const reading = (async () => {
    const stream = conversation.stream(workshop.engine({ provider: endless() }));
    for await (const { type } of stream) if (type === "text-delta") throw new Error("the reader's");
  })();
  expect(await rejectionOf(reading)).toMatchObject({ message: "the reader's" });
  expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunCancelled");
});

test("a stream without a reader runs nothing", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["an answer"]);
  await conversation.append("hello");
  void conversation.stream(engine);
  await new Promise(setImmediate);
  expect(provider.requests).toEqual([]);
});

test("observers that throw, now or later, do no harm", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const seen: string[] = [];
  const observers = [
    {
      next: () => {
        throw new Error("the observer's own trouble");
      },
    },
    { next: async () => Promise.reject(new Error("the observer's own trouble, later")) },
    { next: ({ type }: RunPart) => seen.push(type) },
  ];
  const { engine } = workshop.scripted(["an answer"], { observers });
  const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
  await conversation.append("hello");
  expect((await conversation.run(engine)).text).toBe("an answer");
  await new Promise(setImmediate);
  warned.mockRestore();
  expect(seen.at(-1)).toBe("run-end");
});

test("a subject of RxJS is an observer", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const parts = new Subject<RunPart>();
  const first = firstValueFrom(parts.pipe(take(2), toArray()));
  const { engine } = workshop.scripted(["an answer"], { observers: [parts] });
  await conversation.append("hello");
  await conversation.run(engine);
  expect((await first).map(({ type }) => type)).toEqual(["run-start", "request-start"]);
});

test("a stream reports changes once they are durable, in order, with any author", async () => {
  const { conversation, store, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["an answer"]);
  await conversation.append("before anybody looked");
  const told = firstValueFrom(changes$(conversation).pipe(take(6), toArray()));
  await conversation.append("hello");
  await store.conversation(conversation.id).run(engine);
  const events = await told;
  expect(typesOf(events)).toEqual([
    ...["BlockAppended", "SettingsDeclared", "RunStarted", "InferenceRequested", "ResponseReceived", "RunCompleted"],
  ]);
  expect(events.map(({ revision }) => revision)).toEqual([2, 3, 4, 5, 6, 7]);
});

test("answers of a transport without deltas are reported as blocks", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted(["an answer"], { transport: "json" });
  await conversation.append("hello");
  const parts = await partsOf(conversation.stream(workshop.engine({ provider })));
  expect(parts.find(({ type }) => type === "block")).toMatchObject({ block: { text: "an answer" } });
});

test("a stream takes a signal of its own", async () => {
  const abort = new AbortController();
  const { conversation, ...workshop } = createWorkshop();
  const provider = gated(["an answer"], async () => {
    abort.abort(new Error("enough"));
  });
  await conversation.append("hello");
  const reading = partsOf(conversation.stream(workshop.engine({ provider }), { signal: abort.signal }));
  expect(await rejectionOf(reading)).toMatchObject({ code: "run-cancelled", cause: { message: "enough" } });
});

test("observers get the conversation and run of each part, so they can distinguish two simultaneous runs", async () => {
  const { store, ...workshop } = createWorkshop();
  const texts = new Map<string, string>();
  const sequences = new Map<string, number[]>();
  const next: Observer["next"] = (part, { conversationId, runId, sequence }) => {
    sequences.set(runId, [...(sequences.get(runId) ?? []), sequence]);
    if (part.type === "text-delta") texts.set(conversationId, `${texts.get(conversationId) ?? ""}${part.text}`);
  };
  const { engine } = workshop.scripted(["an answer of many words", "an answer of many words"], {
    observers: [{ next }],
  });
  const conversations = ["cnv_first_001", "cnv_second_01"].map((id) => store.conversation(id));
  for (const conversation of conversations) await conversation.append("hello");
  const results = await Promise.all(conversations.map((conversation) => conversation.run(engine)));
  expect([...texts]).toEqual(conversations.map(({ id }) => [id, "an answer of many words"]));
  expect(new Set(sequences.keys())).toEqual(new Set(results.map(({ runId }) => runId)));
  for (const counted of sequences.values()) expect(counted).toEqual([...counted.keys()]);
});
