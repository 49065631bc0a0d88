import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import {
  type Fault,
  functionCall,
  message,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

async function talkTo(...faults: readonly Fault[]) {
  const server = await startReferenceServer({ answer: () => ({ output: [message("Here.")] }) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.inject(...faults);
  const workshop = createWorkshop();
  await workshop.conversation.append("hello");
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "sse" });
  const engineWith = (config: Partial<EngineConfig> = {}) => workshop.engine({ provider, ...config });
  return { ...workshop, server, engineWith };
}

const answers = (status: number, headers: Record<string, string> = {}): Fault => ({
  kind: "answer",
  status,
  headers,
  body: { error: { message: "broken", type: "server_error", code: null, param: null } },
});

describe("a request that the server may have acted on", () => {
  test.each<[string, Fault]>([
    ["500", answers(500)],
    ["502", answers(502)],
    ["504", answers(504)],
    ["a stream that is cut", { kind: "cut", afterBytes: 400 }],
    ["a connection that breaks", { kind: "lost-acknowledgement" }],
  ])("is sent again as often as the caller says, and each attempt is an event (%s)", async (_, fault) => {
    const talk = await talkTo(fault, fault);
    const engine = talk.engineWith({ retry: { unknownOutcome: 2 } });
    expect((await talk.conversation.run(engine)).text).toBe("Here.");
    const events = await eventsOf(talk.conversation);
    expect(dataOf(events, "InferenceRequested").map(({ attempt }) => attempt)).toEqual([0, 1, 2]);
    expect(dataOf(events, "InferenceFailed")).toMatchObject([
      { outcome: "unknown", retryInMs: expect.anything() as unknown },
      { outcome: "unknown", retryInMs: expect.anything() as unknown },
    ]);
    expect(talk.waits).toHaveLength(2);
    const { difference } = await reexecute(talk.conversation, engine, {});
    expect(difference).toBeNull();
  });

  test("is not sent again by default, and no oftener than the caller says", async () => {
    const never = await talkTo(answers(500), answers(500));
    expect(await rejectionOf(never.conversation.run(never.engineWith()))).toMatchObject({ kind: "server-error" });
    expect(never.server.requests).toHaveLength(1);
    const once = await talkTo(answers(500), answers(500));
    await rejectionOf(once.conversation.run(once.engineWith({ retry: { unknownOutcome: 1 } })));
    expect(once.server.requests).toHaveLength(2);
    expect(typesOf(await eventsOf(once.conversation)).at(-1)).toBe("RunFailed");
  });

  test("is counted apart from what was refused", async () => {
    const talk = await talkTo(answers(429), answers(500), answers(429), answers(500));
    const engine = talk.engineWith({ retry: { maxRetries: 2, unknownOutcome: 2 } });
    expect((await talk.conversation.run(engine)).text).toBe("Here.");
    expect(talk.server.requests).toHaveLength(5);
  });

  test("is not sent again when the server says so, and no sooner than it asks", async () => {
    const refused = await talkTo(answers(500, { "x-should-retry": "false" }));
    await rejectionOf(refused.conversation.run(refused.engineWith({ retry: { unknownOutcome: 1 } })));
    expect(refused.server.requests).toHaveLength(1);
    const later = await talkTo(answers(502, { "retry-after": "7" }));
    await later.conversation.run(later.engineWith({ retry: { unknownOutcome: 1 } }));
    expect(later.waits[0]).toBeGreaterThanOrEqual(7_000);
  });

  test("is asked again with the results of its tools, which run once", async () => {
    const server = await startReferenceServer({
      answer: ({ reading }) =>
        reading.items.some(({ type }) => type === "function_call_output")
          ? { output: [message("Paid.")] }
          : { output: [functionCall("pay", "{}", { callId: "c1" })] },
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    let payments = 0;
    const pay = tool({ name: "pay", description: "", inputSchema: z.object({}), execute: () => (payments += 1) });
    const workshop = createWorkshop();
    await workshop.conversation.append("pay");
    const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" });
    server.inject(...[undefined, answers(500)]);
    const engine = workshop.engine({ provider, tools: [pay], retry: { unknownOutcome: 1 } });
    expect((await workshop.conversation.run(engine)).text).toBe("Paid.");
    expect([payments, server.requests.length]).toEqual([1, 3]);
  });
});

const retry = { unknownOutcome: 1 };
const key = { apiKey: "key" };

test.each<[string, () => unknown, RegExp]>([
  [
    "hosted tools",
    () => createEngine({ provider: openaiResponses({ model: "m", tools: [{ type: "web_search" }], ...key }), retry }),
    /the provider openai-responses may do more than answer: it offers a tool that is not a function \(web_search\)/,
  ],
  [
    "another wire's hosted tools",
    () =>
      createEngine({
        provider: scripted([]),
        otherProviders: {
          claude: anthropic({ model: "m", ...key, tools: [{ type: "web_search_20250305", name: "web_search" }] }),
        },
        route: () => null,
        retry,
      }),
    /the provider anthropic may do more than answer: .*web_search/,
  ],
  [
    "the background",
    () => createEngine({ provider: openaiResponses({ model: "m", background: true, ...key }), retry }),
    /may do more than answer: it is answered in the background/,
  ],
  [
    "conversation objects",
    () => createEngine({ provider: openaiResponses({ model: "m", ...key }), mode: "conversation", retry }),
    /retry\.unknownOutcome is given in mode 'conversation'/,
  ],
  [
    "tools that the model runs by itself",
    () => createEngine({ provider: claudeCli({ model: "m" }), retry }),
    /the model runs its own tools/,
  ],
])("with %s it is refused by name", (_, make, words) => {
  expect(make).toThrow(TypeError);
  expect(make).toThrow(words);
});

test("a run in a mode that cannot have it is refused before anything is written", async () => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  const head = await conversation.head();
  const engine = createEngine({ provider: openaiResponses({ model: "m", ...key }), retry });
  await expect(conversation.run(engine, { mode: "conversation" })).rejects.toThrow(/retry\.unknownOutcome is given/);
  expect(await conversation.head()).toEqual(head);
});
