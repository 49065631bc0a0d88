import * as otel from "@opentelemetry/api";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import type { OpenTelemetryLogs } from "../../../src/engine/tracing/open-telemetry.ts";
import { createEngine, defineMiddleware, type EngineConfig, openStore, tool } from "../../../src/index.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { liveSpans } from "../../support/tracing/compared-spans.ts";
import { memoryTracer } from "../../support/tracing/tracer.ts";

const call = { calls: [{ name: "weather", arguments: { city: "Rome" } }] };
const said = "the words of the user";

type Scene = Partial<Omit<EngineConfig, "tracing">> & {
  readonly answers?: readonly ScriptedAnswer[];
  readonly tracing?: object;
  readonly execute?: () => string;
  readonly idempotent?: boolean;
};

function scene({ answers = [call, "It is sunny."], execute, idempotent = false, tracing = {}, ...config }: Scene = {}) {
  const tracer = memoryTracer();
  onTestFinished(() => tracer[Symbol.asyncDispose]());
  const weather = tool({
    ...{ name: "weather", description: "w", inputSchema: z.object({ city: z.string() }), idempotent },
    execute: () => {
      tracer.inSpan("fetch of the tool");
      return execute?.() ?? "sun";
    },
  });
  const model = scripted([...answers], { transport: "sse" });
  const provider = {
    ...model,
    infer: (request: Parameters<typeof model.infer>[0]) => {
      tracer.inSpan("fetch of the provider");
      return model.infer(request);
    },
  };
  const engine = createEngine({
    provider,
    tools: [weather],
    ...config,
    tracing: Object.assign({ api: tracer.api }, tracing),
  });
  return { tracer, engine };
}

async function conversationOf(id = "cnv_traced") {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const conversation = store.conversation(id);
  await conversation.append(said);
  return conversation;
}

/** `name < parent`, of all spans that have ended. */
function tree(tracer: ReturnType<typeof memoryTracer>): readonly string[] {
  const names = new Map(tracer.started().map((span) => [span.spanContext().spanId, span.name]));
  return tracer.ended().map((span) => `${span.name} < ${names.get(span.parentSpanContext?.spanId ?? "") ?? "none"}`);
}

test("a run, its steps, requests and tool calls are spans, and what provider and tool trace is within them", async () => {
  const { tracer, engine } = scene({ tracing: { agent: "guide" } });
  const conversation = await conversationOf();
  await tracer.within("request of the user", () => conversation.run(engine));
  expect(tree(tracer).toSorted()).toEqual(
    [
      "request of the user < none",
      "invoke_agent guide < request of the user",
      "step 1 < invoke_agent guide",
      "chat scripted < step 1",
      "fetch of the provider < chat scripted",
      "execute_tool weather < step 1",
      "fetch of the tool < execute_tool weather",
      "step 2 < invoke_agent guide",
      "chat scripted < step 2",
      "fetch of the provider < chat scripted",
    ].toSorted(),
  );
});

test("spans hold nothing that was said, and no error's text, unless content is asked for", async () => {
  const secrets = ["the words of the user", "Rome", "sun", "It is", "the tool's own words"];
  const execute = (): string => {
    throw new Error("the tool's own words");
  };
  const heard = async (tracing: object): Promise<readonly string[]> => {
    const { tracer, engine } = scene({ tracing, execute, answers: [call, call, { error: { message: "It is" } }] });
    const conversation = await conversationOf();
    await expect(conversation.run(engine)).rejects.toThrow();
    const text = JSON.stringify(liveSpans([tracer]));
    return secrets.filter((secret) => text.includes(secret));
  };
  expect(await heard({})).toEqual([]);
  expect(await heard({ content: true })).toEqual(["the words of the user", "Rome", "It is", "the tool's own words"]);
});

test("the parts of a run in two processes are linked by what the log keeps of the first one's span", async () => {
  const conversation = await conversationOf();
  const first = scene({ approvals: { weather: true } });
  const { waitingFor } = await conversation.run(first.engine);
  for (const { blockId } of waitingFor) await conversation.approve(blockId, { actor: { kind: "user", name: "ann" } });
  const second = scene({ approvals: { weather: true } });
  await conversation.run(second.engine);
  const [part] = first.tracer.ended().filter(({ name }) => name === "invoke_agent");
  const [later] = second.tracer.ended().filter(({ name }) => name === "invoke_agent");
  const { traceId, spanId, traceFlags: flags } = part?.spanContext() ?? {};
  expect(later?.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([[traceId, spanId]]);
  expect(part?.attributes["turnlog.run.status"]).toBe("parked");
  expect(later?.attributes["turnlog.run.status"]).toBe("completed");
  const recorded = [];
  for await (const { event } of conversation.events()) if (event.type === "RunStarted") recorded.push(event.data.trace);
  expect(recorded).toEqual([{ traceId, spanId, flags }]);
});

test("a process that leaves its run ends its spans as unfinished, and a call that the next one repeats is a span around its work", async () => {
  const conversation = await conversationOf();
  const first = scene({ idempotent: true });
  const stepping = conversation.step(first.engine);
  const left = expect(stepping.result).rejects.toThrow("left at a breakpoint");
  for await (const { kind } of stepping) if (kind === "tool") break;
  await left;
  const unfinished = first.tracer.ended().filter(({ attributes }) => attributes["turnlog.unfinished"] === true);
  expect(unfinished.map(({ name }) => name)).toEqual(["execute_tool weather", "step 1", "invoke_agent"]);
  const second = scene({ idempotent: true, answers: ["lost", "It is sunny."] });
  expect((await conversation.run(second.engine)).status).toBe("completed");
  expect(tree(second.tracer)).toEqual(
    expect.arrayContaining(["fetch of the tool < execute_tool weather", "execute_tool weather < invoke_agent"]),
  );
});

test("a run under an API without a tracer is recorded without ids", async () => {
  const { engine } = scene({ tracing: { api: otel } });
  const conversation = await conversationOf();
  expect((await conversation.run(engine)).status).toBe("completed");
  for await (const { event } of conversation.events())
    if (event.type === "RunStarted") expect(Object.keys(event.data)).not.toContain("trace");
});

test("a replay makes no spans", async () => {
  const { tracer, engine } = scene();
  const conversation = await conversationOf();
  await conversation.run(engine);
  const before = tracer.started().length;
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  expect(tracer.started()).toHaveLength(before);
});

test("spans have the attributes that a caller gives for a run, and go without those of a function that throws", async () => {
  const of = async (attributes: unknown): Promise<readonly unknown[]> => {
    const { tracer, engine } = scene({ tracing: { attributes } });
    await (await conversationOf()).run(engine, { context: { user: "u1" } });
    return tracer.ended().flatMap(({ name, attributes: all }) => (name === "invoke_agent" ? [all["user.id"]] : []));
  };
  expect(await of({ "user.id": "u0" })).toEqual(["u0"]);
  expect(await of(({ context }: { context: { user: string } }) => ({ "user.id": context.user }))).toEqual(["u1"]);
  const failing = (): never => {
    throw new Error("no user");
  };
  expect(await of(failing)).toEqual([undefined]);
});

test.each([
  [{ api: undefined }, /tracing\.api is undefined: give the whole API/],
  [{ api: { trace: {} } }, /tracing\.api has no trace\.getTracer/],
  [{ contents: true }, /contents/],
  [{ service: "langfus" }, /service is 'langfus'.*langfuse/],
  [{ attributes: { "user.id": {} } }, /attributes\.user\.id is/],
])("createEngine refuses %j as tracing", (tracing, message) => {
  expect(() => scene({ tracing })).toThrow(message);
});

test("an effect of a layer is a span around its work, and its failure is the span's", async () => {
  const layer = defineMiddleware({ name: "looking", version: "1.0.0" }, (next) => async (turn, ctx) => {
    if (turn.length > 1) return next(turn);
    await ctx.effect("look", () => {
      tracer.inSpan("fetch of the effect");
      return "seen";
    });
    const fails = (): never => {
      throw new Error("nothing found");
    };
    await ctx.effect("fail", fails).catch(() => null);
    return next(turn);
  });
  const { tracer, engine } = scene({ answers: ["Sunny."], middleware: [layer] });
  await (await conversationOf()).run(engine);
  expect(tree(tracer).slice(0, 3)).toEqual([
    "fetch of the effect < effect look",
    "effect look < invoke_agent",
    "effect fail < invoke_agent",
  ]);
  const effects = liveSpans([tracer]).filter(({ name }) => name.startsWith("effect "));
  expect(effects.map(({ name, kind, attributes, error }) => [name, kind, attributes["turnlog.layer"], error])).toEqual([
    ["effect fail", otel.SpanKind.INTERNAL, "looking", { message: undefined }],
    ["effect look", otel.SpanKind.INTERNAL, "looking", null],
  ]);
  expect(effects.map(({ attributes }) => attributes["error.type"])).toEqual(["effect-failed", undefined]);
});

test.each([
  [false, {}],
  [true, { "exception.message": expect.stringContaining("busy") as string }],
])(
  "a request that fails is reported as an event in its span's context, with its text only with content: %s",
  async (content, message) => {
    const records: Parameters<ReturnType<OpenTelemetryLogs["getLogger"]>["emit"]>[0][] = [];
    const logs: OpenTelemetryLogs = { getLogger: () => ({ emit: (record) => void records.push(record) }) };
    const answers = [{ error: { message: "busy", status: 503 } }, "Sunny."];
    const { tracer, engine } = scene({ answers, tracing: { logs, content }, sleep: async () => undefined });
    expect(await (await conversationOf()).run(engine)).toMatchObject({ text: "Sunny." });
    expect(records).toMatchObject([
      { eventName: "gen_ai.client.operation.exception", severityNumber: 13, severityText: "WARN" },
    ]);
    const failed = tracer
      .ended()
      .find(({ attributes }) => "error.type" in attributes && "turnlog.inference.id" in attributes);
    expect(records[0]?.attributes).toEqual({
      ...{ "gen_ai.operation.name": "chat", "gen_ai.provider.name": failed?.attributes["gen_ai.provider.name"] },
      ...{ "gen_ai.request.model": "scripted", "exception.type": failed?.attributes["error.type"], ...message },
    });
    // The API's own object.
    const context = records[0]?.context as otel.Context;
    expect(otel.trace.getSpanContext(context)?.spanId).toBe(failed?.spanContext().spanId);
  },
);

test("logs that throw do no harm to the run or its spans", async () => {
  const getLogger = (): never => {
    throw new Error("no logger");
  };
  const answers = [{ error: { message: "busy", status: 503 } }, "Sunny."];
  const { tracer, engine } = scene({ answers, tracing: { logs: { getLogger } }, sleep: async () => undefined });
  expect(await (await conversationOf()).run(engine)).toMatchObject({ text: "Sunny." });
  expect(tree(tracer).filter((name) => name.startsWith("chat"))).toHaveLength(2);
  expect(() => scene({ tracing: { logs: {} } })).toThrow("logs is an object: give the API of logs");
});
