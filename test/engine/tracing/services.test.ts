import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createEngine, openStore, tool } from "../../../src/index.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { memoryTracer } from "../../support/tracing/tracer.ts";

async function traced(tracing: object) {
  const tracer = memoryTracer();
  onTestFinished(() => tracer[Symbol.asyncDispose]());
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const look = tool({ name: "look", description: "l", inputSchema: z.object({}), execute: () => "seen" });
  const provider = scripted([{ reasoning: "hm", calls: [{ name: "look", arguments: {} }] }, "done"], {
    transport: "sse",
  });
  const engine = createEngine({ provider, tools: [look], tracing: { api: tracer.api, ...tracing } });
  const conversation = store.conversation("cnv_served");
  await conversation.append("look around");
  await conversation.run(engine);
  const attributesOf = (name: string) => tracer.ended().findLast((span) => span.name === name)?.attributes ?? {};
  return { tracer, attributesOf };
}

test("Langfuse gets counts of which none includes another, and a run's totals on no second span", async () => {
  const { attributesOf } = await traced({ service: "langfuse" });
  const request = attributesOf("chat scripted");
  const { "gen_ai.usage.input_tokens": input, "gen_ai.usage.cache_read.input_tokens": cached } = request;
  const details: unknown = JSON.parse(String(request["langfuse.observation.usage_details"]));
  expect(cached).toBeGreaterThan(0);
  expect(details).toEqual({
    input: Number(input) - Number(cached),
    input_cached_tokens: cached,
    output: request["gen_ai.usage.output_tokens"],
  });
  expect(request).toMatchObject({ "langfuse.session.id": "cnv_served", "langfuse.observation.type": "generation" });
  expect(Object.keys(attributesOf("invoke_agent")).filter((name) => name.startsWith("gen_ai.usage."))).toEqual([]);
});

test("LangSmith gets its session and kinds, and messages in the older form if content is asked for", async () => {
  const { attributesOf } = await traced({ service: "langsmith", content: true });
  expect(attributesOf("chat scripted")).toMatchObject({
    "langsmith.trace.session_id": "cnv_served",
    "langsmith.span.kind": "llm",
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "look around",
    "gen_ai.completion.0.content": "done",
  });
  expect(attributesOf("execute_tool look")).toMatchObject({ "langsmith.span.kind": "tool" });
});

test("Phoenix gets OpenInference's session and kinds", async () => {
  const { attributesOf } = await traced({ service: "phoenix" });
  expect(attributesOf("step 1")).toMatchObject({ "session.id": "cnv_served", "openinference.span.kind": "CHAIN" });
  expect(attributesOf("chat scripted")).toMatchObject({ "openinference.span.kind": "LLM" });
});

test("messages with content are those that the model reads, calls and results among them", async () => {
  const { attributesOf } = await traced({ content: true });
  const messages = JSON.parse(String(attributesOf("chat scripted")["gen_ai.input.messages"])) as unknown;
  expect(messages).toMatchObject([
    { role: "user", parts: [{ type: "text", content: "look around" }] },
    { role: "assistant", parts: [{ type: "reasoning" }, { type: "tool_call", name: "look", arguments: "{}" }] },
    { role: "tool", parts: [{ type: "tool_call_response", response: "seen" }] },
  ]);
});

test("durations, tokens, calls, and requests by strategy and reason are measured", async () => {
  const { tracer } = await traced({});
  const metrics = new Map((await tracer.metrics()).map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
  expect([...metrics.keys()].toSorted()).toEqual([
    "gen_ai.client.inference.duration",
    "gen_ai.client.inference.time_per_output_chunk",
    "gen_ai.client.inference.time_to_first_chunk",
    "gen_ai.client.inference.usage.cache_read.input_tokens",
    "gen_ai.client.inference.usage.input_tokens",
    "gen_ai.client.inference.usage.output_tokens",
    "gen_ai.client.inference.usage.reasoning.output_tokens",
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
    "gen_ai.invoke_agent.inference_calls",
    "gen_ai.invoke_agent.tool_calls",
    "turnlog.requests",
  ]);
  expect(metrics.get("turnlog.requests")?.map(({ attributes, value }) => [attributes, value])).toMatchObject([
    [{ "turnlog.decision.strategy": "full", "turnlog.decision.reason": "first-request" }, 1],
    [{ "turnlog.decision.strategy": "chained" }, 1],
  ]);
  expect(metrics.get("gen_ai.invoke_agent.inference_calls")?.[0]?.value).toMatchObject({ sum: 2, count: 1 });
});

test("nothing is measured with metrics: false", async () => {
  const { tracer } = await traced({ metrics: false });
  expect(await tracer.metrics()).toEqual([]);
});
