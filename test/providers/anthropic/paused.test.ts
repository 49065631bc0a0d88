import { expect, test } from "vitest";
import * as z from "zod";
import { createMessagesFront } from "../../../packages/reference-server/src/messages/messages-front.ts";
import { functionCall, hosted, message, type ScriptedAnswer } from "../../../packages/reference-server/src/server.ts";
import { type JsonObject, objectsOf, textOrEmpty } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Route } from "../../../src/engine/options/route.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import type { AnthropicOptions } from "../../../src/providers/anthropic/options.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { fetchFromFront } from "../../support/front-fetch.ts";
import { replayed } from "../../support/replayed.ts";
import { dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const id = conversationIdSchema.parse("cnv_paused");
const searches = (n: number) => ({
  ...{ type: "server_tool_use", id: `srvtoolu_${n}`, name: "web_search", input: { query: "sun" } },
});
const found = (n: number) => ({
  ...{
    type: "web_search_tool_result",
    tool_use_id: `srvtoolu_${n}`,
    content: [{ type: "web_search_result", url: "x" }],
  },
});
const runs = {
  ...{ type: "server_tool_use", id: "srvtoolu_9", name: "bash_code_execution", input: { command: "ls" } },
};
const ran = {
  ...{ type: "bash_code_execution_tool_result", tool_use_id: "srvtoolu_9", content: { type: "x", stdout: "a" } },
};
const paused = (...output: ScriptedAnswer["output"]): ScriptedAnswer => ({
  ...{ output, status: "incomplete", incompleteDetails: { reason: "pause_turn" } },
});
const sunny: ScriptedAnswer = { output: [hosted(found(1)), message("It is sunny.")] };
const threeParts: readonly ScriptedAnswer[] = [
  paused(message("I look."), hosted(searches(0))),
  paused(hosted(found(0)), hosted(searches(1))),
  sunny,
];

const tools: NonNullable<AnthropicOptions["tools"]> = [
  { type: "web_search_20250305", name: "web_search" },
  { type: "code_execution_20250825", name: "code_execution" },
];

/** A model behind the Messages front that says one of these for each of its answers that it reads, and what it was asked. */
function modelThat(answers: readonly ScriptedAnswer[], options: Partial<AnthropicOptions> = {}) {
  const front = createMessagesFront({ seed: "paused" });
  const { fetch, requests } = fetchFromFront(front, ({ items }) => {
    const said = items.filter(({ type }) => type === "server_tool_use" || type === "function_call").length;
    const isNew = items.at(-1)?.["role"] === "user" && items.length > 1;
    return (isNew ? undefined : answers[said]) ?? { output: [message("Nothing more.")] };
  });
  const provider = anthropic({
    ...{
      model: "claude-sonnet-5",
      apiKey: "none",
      baseURL: "http://front.test",
      transport: "json",
      cache: false,
      tools,
    },
    ...{ fetch, ...options },
  });
  const bodies = (): readonly JsonObject[] =>
    requests.map((text) => z.record(z.string(), z.json()).parse(JSON.parse(text)));
  return { provider, bodies };
}

/** Of each request, the types of content by message. */
const saidIn = (bodies: readonly JsonObject[]): readonly (readonly string[])[] =>
  bodies.map(({ messages }) =>
    objectsOf(messages).map(({ content }) =>
      objectsOf(content)
        .map(({ type }) => textOrEmpty(type))
        .join(" "),
    ),
  );

const inParts = [
  ["text"],
  ["text", "text server_tool_use"],
  ["text", "text server_tool_use web_search_tool_result server_tool_use"],
];

async function runOf(provider: Provider, config: Partial<EngineConfig> = {}) {
  const store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation(id);
  await conversation.append("How is the weather?");
  const engine = createEngine({ provider, ...config });
  return { store, conversation, engine, result: await conversation.run(engine) };
}

test.each(["json", "sse"] as const)(
  "an answer that its server pauses is asked on by itself, with nothing behind it, until it has ended: %s",
  async (transport) => {
    const { provider, bodies } = modelThat(threeParts, { transport });
    const { store, conversation, engine, result } = await runOf(provider);
    expect([result.text, result.status]).toEqual(["I look.It is sunny.", "completed"]);
    expect(result.steps.map(({ status }) => status)).toEqual(["pause_turn", "pause_turn", "end_turn"]);
    expect(saidIn(bodies())).toEqual(inParts);
    expect((await replayed(store, conversation)).difference).toBeNull();
    expect((await reexecute(conversation, engine)).difference).toBeNull();
    const { steps, unknown } = await whatIf(conversation, engine);
    expect({ steps: steps.length, unknown }).toEqual({ steps: 3, unknown: null });
    await conversation.append("And tomorrow?");
    expect((await conversation.run(engine)).text).toBe("Nothing more.");
    await store.close();
  },
);

test("a run asks no more often than it may; the next one leaves out what was still open", async () => {
  const { provider, bodies } = modelThat(threeParts.slice(0, 2));
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation(id);
  await conversation.append("How is the weather?");
  const engine = createEngine({ provider, maxSteps: 2 });
  const error = await rejectionOf(conversation.run(engine));
  expect(error).toMatchObject({ kind: "iteration-limit" });
  expect(String(error)).toMatch(/the server still paused its answer after 2 requests; raise maxSteps/);
  await conversation.append("And tomorrow?");
  expect((await conversation.run(engine)).text).toBe("Nothing more.");
  expect(saidIn(bodies()).at(-1)).toEqual(["text", "text", "text"]);
});

test("a budget that ends in the middle of a pause ends the run as it does between two steps with tools", async () => {
  const { provider, bodies } = modelThat(threeParts);
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation(id);
  await conversation.append("How is the weather?");
  const engine = createEngine({ provider, budget: { maxTotalTokens: 1 } });
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ kind: "budget-exceeded" });
  expect(bodies().length).toBe(1);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("a run that was cut off between a pause and what follows it goes on there", async () => {
  let cutOff = 0;
  for (let stop = 1; stop <= 8; stop += 1) {
    const events = createMemoryStore();
    const { provider, bodies } = modelThat(threeParts);
    const first = new TurnlogStore(events).conversation(id);
    await first.append("How is the weather?");
    let appends = 0;
    const interceptor: Interceptor = async ({ kind }) => {
      if (kind === "append") appends += 1;
      if (appends > stop) throw new Error("the process is gone");
      return null;
    };
    await first.run(createEngine({ provider }), interceptedBy(interceptor, {})).catch(() => undefined);
    await using store = new TurnlogStore(events);
    const conversation = store.conversation(id);
    const engine = createEngine({ provider });
    const resumed = await conversation.resume(engine);
    if (resumed !== null) cutOff += 1;
    const said = (await conversation.run(engine)).text;
    expect({ stop, said }).toEqual({ stop, said: "I look.It is sunny." });
    const received = dataOf(await eventsOf(conversation), "ResponseReceived").map(({ status }) => status);
    expect({ stop, received }).toEqual({ stop, received: ["pause_turn", "pause_turn", "end_turn"] });
    // The outcome of what was lost with the process is unknown: one request at most.
    expect(bodies().length).toBeLessThanOrEqual(4);
    expect((await replayed(store, conversation)).difference).toBeNull();
    expect((await reexecute(conversation, engine)).difference).toBeNull();
  }
  expect(cutOff).toBeGreaterThan(3);
});

test("another provider that takes over in the middle of a pause reads what was said, and nothing that only the first one knows", async () => {
  const { provider, bodies } = modelThat(threeParts.slice(0, 1));
  const other = scripted(() => "It may rain.", { prefix: "other" });
  const route: Route = ({ turn }) => (turn.blocks.at(-1)?.kind === "user" ? null : other);
  const config = { otherProviders: { other }, route };
  const { store, conversation, engine, result } = await runOf(provider, config);
  expect([result.text, result.status]).toEqual(["I look.It may rain.", "completed"]);
  expect(objectsOf(other.requests[0]?.["input"]).map(({ role }) => role)).toEqual(["user", "assistant"]);
  await conversation.append("And now?");
  expect((await conversation.run(engine)).text).toBe("Nothing more.");
  expect(saidIn(bodies()).at(-1)).toEqual(["text", "text text", "text"]);
  expect((await replayed(store, conversation)).difference).toBeNull();
  await store.close();
});

test("an answer whose paused end a layer takes away ends the run", async () => {
  const { provider, bodies } = modelThat(threeParts);
  const quiet = defineMiddleware({ name: "quiet", version: "1.0.0" }, (next) => async (turn) => {
    const answer = await next(turn);
    return answer.filter(({ kind }) => kind !== "other");
  });
  const { store, result } = await runOf(provider, { middleware: [quiet] });
  expect([result.text, bodies().length]).toEqual(["I look.", 1]);
  await store.close();
});

test("an engine whose settings let no server pause has no loop; where one does nevertheless, the run says that it is not at its end", async () => {
  const { provider, bodies } = modelThat(threeParts, { tools: [] });
  const { store, conversation, result } = await runOf(provider);
  expect([result.status, bodies().length]).toEqual(["incomplete", 1]);
  expect(dataOf(await eventsOf(conversation), "RunStarted").map(({ stack }) => stack)).toEqual([[]]);
  await store.close();
});

test("the container that code runs in is named until the user speaks, beside the skills that settings want", async () => {
  const look = tool({ name: "look", description: "Looks.", inputSchema: z.object({}), execute: () => "seen" });
  const answers = [
    paused(message("I look."), hosted(runs)),
    { output: [hosted(ran), functionCall("look", "{}")] },
    { output: [message("Done.")] },
  ];
  const skills = { container: { skills: [{ type: "anthropic", skill_id: "pdf" }] } };
  for (const settings of [{}, skills]) {
    const { provider, bodies } = modelThat(answers, settings);
    const { store, conversation, engine, result } = await runOf(provider, { tools: [look] });
    expect(result.text).toBe("Done.");
    await conversation.append("Thanks.");
    await conversation.run(engine);
    const [first, second, third, fourth] = bodies().map(({ container }) => container);
    const named = dataOf(await eventsOf(conversation), "InferenceRequested").map(
      ({ decision }) => decision.details?.["container"],
    );
    expect([first, fourth]).toEqual(
      [skills, skills].map(() => ("container" in settings ? skills.container : undefined)),
    );
    expect(named[1]).toMatch(/^container_/);
    expect(named).toEqual([undefined, named[1], named[1], undefined]);
    const said = "container" in settings ? { ...skills.container, id: named[1] } : named[1];
    expect([second, third]).toEqual([said, said]);
    expect((await replayed(store, conversation)).difference).toBeNull();
    await store.close();
  }
});

test("a request without new input continues a thread after a pause", async () => {
  const { provider, bodies } = modelThat(threeParts, { threads: true });
  const { store, conversation, result } = await runOf(provider);
  expect(result.text).toBe("I look.It is sunny.");
  expect(saidIn(bodies())).toEqual([["text"], [], []]);
  const decided = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.strategy);
  expect(decided).toEqual(["full", "chained", "chained"]);
  expect((await replayed(store, conversation)).difference).toBeNull();
  await store.close();
});
