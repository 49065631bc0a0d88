/**
 * An agent whose runs are traced with OpenTelemetry: prints the spans of a run, within each other. It needs no key and no network.
 *
 * Run it from a checkout, after `npm run build`: `node examples/tracing.ts`. With the name of a service (`langfuse`, `langsmith`, `phoenix`) the
 * spans have that service's attributes as well.
 */
import * as api from "@opentelemetry/api";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createEngine, openStore, type TracingConfig, tool } from "turnlog";
import { scripted } from "turnlog/testing";
import * as z from "zod";

/** Runs the agent once, and returns its spans. */
export async function tracedRun(service: TracingConfig["service"]): Promise<readonly ReadableSpan[]> {
  // A service has a BatchSpanProcessor with an OTLP exporter here: docs/TRACING.md has the addresses of three.
  const exporter = new InMemorySpanExporter();
  const tracers = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  api.trace.setGlobalTracerProvider(tracers);
  const weather = tool({
    name: "weather",
    description: "The weather in a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `sunny in ${city}`,
  });
  const answers = [{ calls: [{ name: "weather", arguments: { city: "Paris" } }] }, "It is sunny in Paris."];
  const tracing = { api, agent: "guide", ...(service === undefined ? {} : { service }) };
  const engine = createEngine({ provider: scripted(answers), tools: [weather], tracing });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("How is the weather in Paris?");
  await conversation.run(engine);
  return exporter.getFinishedSpans();
}

/** The spans in the order of their ends, each as deep as it is within others. */
export function* tree(spans: readonly ReadableSpan[], parent?: string, depth = 0): Iterable<string> {
  for (const span of spans.filter((each) => each.parentSpanContext?.spanId === parent)) {
    yield `${"  ".repeat(depth)}${span.name} ${JSON.stringify(span.attributes)}`;
    yield* tree(spans, span.spanContext().spanId, depth + 1);
  }
}

if (import.meta.main) {
  const services = ["langfuse", "langsmith", "phoenix"] as const;
  const service = services.find((name) => name === process.argv[2]);
  for (const line of tree(await tracedRun(service))) console.log(line);
}
