import { describe, expect, test } from "vitest";
import {
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import type { Engine } from "../../src/engine/options/engine.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { interceptedBy } from "../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../src/engine/session/breakpoint.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../src/providers/responses/responses-options.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../support/workshop.ts";

type World = AsyncDisposable & {
  readonly server: ReferenceServer;
  /** A process of its own: a store object, an engine and a conversation on the log that there is. */
  readonly process: (
    config?: Partial<EngineConfig>,
    endpoint?: Partial<OpenaiResponsesOptions>,
  ) => {
    readonly engine: Engine;
    readonly conversation: ReturnType<TurnlogStore["conversation"]>;
  };
};

async function openWorld(transport: "json" | "sse", options: ReferenceServerOptions = {}): Promise<World> {
  const server = await startReferenceServer({ answer: () => ({ output: [message("All is well.")] }), ...options });
  const events = createMemoryStore();
  const process: World["process"] = (config, endpoint) => ({
    conversation: new TurnlogStore(events).conversation("cnv_background"),
    engine: createEngine({
      provider: openaiResponses({
        ...{ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, transport },
        ...{ background: true, store: true, ...endpoint },
      }),
      ...config,
    }),
  });
  return { server, process, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const posts = ({ server }: World) =>
  server.requests.filter(({ method, path }) => method === "POST" && path === "/v1/responses");

/** Ends the process right after the response has been named durably. */
const afterItBegan: Interceptor = async (stop) => {
  const isNamed = stop.kind === "append" && stop.entries.some(({ event }) => event.type === "ResponseStarted");
  if (isNamed && stop.phase === "after") throw new Error("the process died");
  return null;
};

async function diedAfterItBegan(world: World): Promise<void> {
  const { conversation, engine } = world.process();
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine, interceptedBy(afterItBegan, {})))).toMatchObject({
    message: "the process died",
  });
}

describe.each(["json", "sse"] as const)("a response that is made in the background, by %s", (transport) => {
  test("is durable by its id before it is there", async () => {
    await using world = await openWorld(transport);
    const { conversation, engine } = world.process();
    await conversation.append("hello");
    expect((await conversation.run(engine)).text).toBe("All is well.");
    expect(typesOf(await eventsOf(conversation)).slice(3)).toEqual([
      "RunStarted",
      "InferenceRequested",
      "ResponseStarted",
      "ResponseReceived",
      "RunCompleted",
    ]);
  });

  test("is fetched after a crash, and not asked for again; the next request continues from it", async () => {
    await using world = await openWorld(transport);
    await diedAfterItBegan(world);
    const { conversation, engine } = world.process();
    const result = await conversation.resume(engine);
    expect(result).toMatchObject({ status: "completed", text: "All is well.", resumed: true });
    expect(posts(world)).toHaveLength(1);
    expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toEqual([]);
    await conversation.append("and now?");
    const [step] = (await conversation.run(engine)).steps;
    expect(step?.decision).toMatchObject({
      strategy: "chained",
      anchor: { id: result?.steps[0]?.responseId },
    });
  });

  test("is shown, as it comes, to who listens to the run that fetches it", async () => {
    await using world = await openWorld(transport);
    await diedAfterItBegan(world);
    const { conversation, engine } = world.process();
    let told = "";
    for await (const part of conversation.stream(engine)) if (part.type === "text-delta") told += part.text;
    expect(told).toBe("All is well.");
    const read = world.server.requests.filter(({ method }) => method === "GET").map(({ path }) => path);
    if (transport === "sse") expect(read).toEqual([expect.stringMatching(/\?stream=true&starting_after=0/)]);
    else expect(read.filter((path) => path.includes("stream"))).toEqual([]);
  });

  test("keeps what first came of it beside what it came to", async () => {
    await using world = await openWorld(transport);
    const { conversation, engine } = world.process();
    await conversation.append("hello");
    await conversation.run(engine);
    const events = await eventsOf(conversation);
    const [started] = dataOf(events, "ResponseStarted");
    expect(started?.first).toMatchObject({
      rest: { status: "queued", output: [], usage: null },
      echoed: ["background", "model", "store"],
    });
    expect(started?.cursor).toBe(transport === "sse" ? 0 : undefined);
    expect(dataOf(events, "ResponseReceived")).toMatchObject([
      { status: "completed", responseId: started?.responseId },
    ]);
  });

  test("that the server has lost meanwhile is asked for again, as an attempt", async () => {
    await using world = await openWorld(transport);
    await diedAfterItBegan(world);
    for (const id of world.server.responseIds()) world.server.forget(id);
    const { conversation, engine } = world.process();
    expect(await conversation.resume(engine)).toMatchObject({ status: "completed", text: "All is well." });
    const events = await eventsOf(conversation);
    expect(dataOf(events, "InferenceFailed")).toMatchObject([{ kind: "lost-response", outcome: "unknown" }]);
    expect(dataOf(events, "InferenceRequested").map(({ attempt }) => attempt)).toEqual([0, 1]);
    expect(posts(world)).toHaveLength(2);
    expect(await conversation.resume(engine)).toBeNull();
  });

  test("that is lost while somebody waits for it fails the run, and is not asked for again", async () => {
    await using world = await openWorld(transport, { faults: () => ({ kind: "unstored" }) });
    const { conversation, engine } = world.process();
    await conversation.append("hello");
    // By a stream the answer comes before anybody could miss it.
    if (transport === "sse") expect((await conversation.run(engine)).text).toBe("All is well.");
    else expect(await rejectionOf(conversation.run(engine))).toMatchObject({ kind: "lost-response" });
    expect(posts(world)).toHaveLength(1);
  });
});

test("a run that is cancelled has its response cancelled, once its end is durable", async () => {
  const never = Promise.withResolvers<never>();
  await using world = await openWorld("json", { answer: () => never.promise });
  const { conversation, engine } = world.process();
  await conversation.append("hello");
  const controller = new AbortController();
  const rejected = rejectionOf(conversation.run(engine, { signal: controller.signal }));
  await expect.poll(() => world.server.requests.some(({ method }) => method === "GET")).toBe(true);
  controller.abort(new Error("enough"));
  expect(await rejected).toMatchObject({ name: "RunCancelledError" });
  const [id = ""] = world.server.responseIds();
  expect(world.server.response(id)).toMatchObject({ status: "cancelled" });
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["InferenceFailed", "RunCancelled"]);
});

test("a run that dies does not cancel what the next process fetches", async () => {
  await using world = await openWorld("json");
  await diedAfterItBegan(world);
  expect(world.server.requests.some(({ path }) => path.endsWith("/cancel"))).toBe(false);
});

describe.each([
  ["is given up", { unfinished: "abandon" }, []],
  ["has another stack", {}, [defineMiddleware({ name: "new", version: "1.0.0" }, (next) => (turn) => next(turn))]],
] as const)("a run that was cut off and %s", (_, options, middleware) => {
  test("has what the server makes for it cancelled", async () => {
    const never = Promise.withResolvers<never>();
    const answers = [never.promise, { output: [message("All is well.")] }];
    await using world = await openWorld("json", { answer: ({ request }) => answers[request] ?? { output: [] } });
    await diedAfterItBegan(world);
    const [abandoned = ""] = world.server.responseIds();
    const { conversation, engine } = world.process({ middleware });
    expect((await conversation.run(engine, options)).text).toBe("All is well.");
    expect(world.server.response(abandoned)).toMatchObject({ status: "cancelled" });
    const cancelled = world.server.requests.filter(({ path }) => path.endsWith("/cancel"));
    expect(cancelled.map(({ path }) => path)).toEqual([`/v1/responses/${abandoned}/cancel`]);
  });

  test("has nothing cancelled that had ended, or that another endpoint makes", async () => {
    await using world = await openWorld("json");
    await diedAfterItBegan(world);
    const { conversation, engine } = world.process({ middleware }, { project: "another" });
    await conversation.run(engine, options);
    await conversation.append("and now?");
    await conversation.run(engine);
    expect(world.server.requests.some(({ path }) => path.endsWith("/cancel"))).toBe(false);
  });
});
