/**
 * Another provider answers while the first is in trouble: a circuit breaker passes it over, and the log says who was asked and why.
 *
 * Run it from a checkout after `npm run build`, without a key: `node examples/fall-back.ts` starts the servers of both on this machine.
 */
import { createEngine, openStore } from "turnlog";
import { anthropic } from "turnlog/anthropic";
import { circuitBreaker, fallback, timeout } from "turnlog/resilience";
import { openaiResponses } from "turnlog/responses";
import { message, startReferenceServer } from "turnlog/testing";

const busy = { error: { message: "overloaded" } };
await using overloaded = await startReferenceServer({ faults: () => ({ kind: "answer", status: 503, body: busy }) });
await using healthy = await startReferenceServer({ answer: () => ({ output: [message("It is sunny.")] }) });

const gpt = openaiResponses({ model: "gpt-5.4", apiKey: "sk-test", baseURL: overloaded.baseUrl });
const second = anthropic({ model: "claude-sonnet-5", apiKey: "sk-ant-test", baseURL: healthy.url });
const first = circuitBreaker(timeout(gpt, { timeoutMs: 30_000 }), { failures: 2, openMs: 60_000 });
const engine = createEngine({
  provider: first,
  otherProviders: { second },
  route: fallback([first, second]),
  retry: { maxRetries: 1 },
});

await using store = await openStore("memory:");
const conversation = store.conversation();
for (const question of ["How is the weather?", "And tomorrow?"]) {
  await conversation.append(question);
  const { text } = await conversation.run(engine);
  console.log(`${text} (the first server was asked ${overloaded.requests.length} times)`);
}
for await (const { event } of conversation.events())
  if (event.type === "InferenceFailed")
    console.log(`${event.data.kind}: ${JSON.stringify(event.data.next ?? "retried")}`);
