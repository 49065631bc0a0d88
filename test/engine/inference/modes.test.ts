import { expect, onTestFinished, test } from "vitest";
import {
  message,
  type ReferenceServer,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

async function startServer(): Promise<ReferenceServer> {
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const providerOf = (server: ReferenceServer, chain = true) =>
  openaiResponses({
    ...{ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" },
    capabilities: { chain },
  });

const bodiesOf = ({ requests }: ReferenceServer) => requests.map(({ body }) => (isJsonObject(body) ? body : {}));

test("a stateless run sends everything, has nothing kept and carries its reasoning", async () => {
  const server = await startServer();
  const { conversation, engine } = createWorkshop();
  const asks = engine({ provider: providerOf(server), mode: "stateless" });
  for (const text of ["one", "two"]) {
    await conversation.append(text);
    await conversation.run(asks);
  }
  const [, second] = bodiesOf(server);
  expect(second).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  expect(second).not.toHaveProperty("previous_response_id");
  const bodyText = server.requests[1]?.bodyText ?? "";
  expect(bodyText).not.toMatch(/"id":"(msg|rs)_/);
  expect(bodyText).toContain('"encrypted_content"');
  expect(server.reading(1)?.items).toHaveLength(4);
});

test("what the caller says of store is kept in a stateless run, and what is made in the background is kept for a while", async () => {
  const server = await startServer();
  for (const said of [{ store: true }, { background: true }]) {
    const { conversation, engine } = createWorkshop();
    const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "sse", ...said });
    await conversation.append("one");
    await conversation.run(engine({ provider, mode: "stateless" }));
    expect(bodiesOf(server).findLast((body) => "model" in body)).toMatchObject(said);
    expect(bodiesOf(server).findLast((body) => "model" in body)?.["store"]).not.toBe(false);
  }
});

test("a run may have another mode than its engine, and the next one continues from what servers hold", async () => {
  const server = await startServer();
  const { conversation, engine, store } = createWorkshop();
  const asks = engine({ provider: providerOf(server) });
  for (const mode of ["chained", "stateless", "chained"] as const) {
    await conversation.append(mode);
    await conversation.run(asks, { mode });
  }
  const decided = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision);
  expect(decided.map(({ strategy, reason }) => [strategy, reason])).toEqual([
    ["full", "first-request"],
    ["full", "policy"],
    ["rebased", "no-anchor"],
  ]);
  expect(dataOf(await eventsOf(conversation), "RunStarted").map(({ chain }) => chain.mode)).toEqual([
    ...["chained", "stateless", "chained"],
  ]);
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("a mode that the endpoint cannot do is refused by name when the engine is made, and when a run begins", async () => {
  const server = await startServer();
  const { conversation, engine } = createWorkshop();
  const provider = providerOf(server, false);
  expect(() => engine({ provider, mode: "chained" })).toThrow(expect.objectContaining({ code: "mode-unsupported" }));
  expect(() => engine({ provider, mode: "chained" })).toThrow(/'chained'.*'stateless'/);
  expect(() => engine({ provider: providerOf(server), mode: "stateless", chain: { require: true } })).toThrow(
    expect.objectContaining({ code: "mode-unsupported" }),
  );
  await conversation.append("one");
  const refused = async () => conversation.run(engine({ provider }), { mode: "chained" });
  expect(await rejectionOf(refused())).toMatchObject({ code: "mode-unsupported" });
  expect(server.requests).toEqual([]);
});

test.each<Partial<EngineConfig>>([{}, { mode: "auto" }])(
  "a chain that is required of an endpoint that cannot chain is refused when the engine is made: %j",
  async (config) => {
    const server = await startServer();
    const make = (chain: boolean, mode = config) =>
      createWorkshop().engine({ provider: providerOf(server, chain), chain: { require: true }, ...mode });
    expect(() => make(false)).toThrow(expect.objectContaining({ code: "mode-unsupported" }));
    expect(() => make(false)).toThrow(
      /chain\.require .*does not continue from earlier responses.*give mode 'conversation'/,
    );
    expect(() => make(true)).not.toThrow();
    expect(() => make(false, { mode: "conversation" })).not.toThrow();
  },
);

test("left to the engine, a run is stateless where the endpoint cannot chain", async () => {
  const server = await startServer();
  const { conversation, engine } = createWorkshop();
  await conversation.append("one");
  await conversation.run(engine({ provider: providerOf(server, false), mode: "auto" }));
  expect(dataOf(await eventsOf(conversation), "RunStarted")[0]?.chain).toMatchObject({
    ...{ mode: "stateless", chosen: "endpoint-cannot-chain" },
  });
});

test("left to the engine, a chain that is required is chained whatever layers did", async () => {
  const server = await startServer();
  const { conversation, engine } = createWorkshop();
  await conversation.append("one");
  await conversation.run(engine({ provider: providerOf(server), mode: "auto", chain: { require: true } }));
  expect(dataOf(await eventsOf(conversation), "RunStarted")[0]?.chain).toMatchObject({
    ...{ mode: "chained", chosen: "required" },
  });
});

test("what was sent whole to another endpoint, or was not stored, does not make runs stateless", async () => {
  const [server, other] = [await startServer(), await startServer()];
  for (const provider of [
    openaiResponses({ model: "m", baseURL: other.baseUrl, apiKey: "key", store: true }),
    openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", store: false }),
  ]) {
    const { conversation, engine } = createWorkshop();
    const [whole, asks] = [
      engine({ provider, mode: "stateless" }),
      engine({ provider: providerOf(server), mode: "auto" }),
    ];
    for (const each of [whole, whole, whole, whole, asks]) {
      await conversation.append("again");
      await conversation.run(each);
    }
    const { chosen } = dataOf(await eventsOf(conversation), "RunStarted").at(-1)?.chain ?? {};
    expect(chosen).toBe("endpoint-chains");
  }
});

test("left to the engine, runs are stateless once the layers have edited before every request, and it warns once", async () => {
  const warnings: string[] = [];
  const hear = ({ name, message: text }: Error): void => {
    if (name === "TurnlogWarning") warnings.push(text);
  };
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  const server = await startServer();
  const { conversation, engine, store } = createWorkshop();
  let count = 0;
  const stamp = defineMiddleware({ name: "stamp", version: "1.0.0" }, (next) => (turn) => {
    count += 1;
    const [first] = turn.blocks;
    return next(first === undefined ? turn : turn.replace(first, first.withText(`now ${count}`)));
  });
  const asks = engine({ provider: providerOf(server), mode: "auto", middleware: [stamp] });
  for (let run = 0; run < 6; run += 1) {
    await conversation.append("again");
    await conversation.run(asks);
  }
  const policies = dataOf(await eventsOf(conversation), "RunStarted").map(({ chain }) => chain);
  expect(policies.map(({ mode }) => mode)).toEqual([
    ...["chained", "chained", "chained", "chained", "stateless", "stateless"],
  ]);
  expect(policies.at(-1)?.chosen).toBe("layers-edit-every-step");
  expect(warnings).toEqual([expect.stringContaining("mode 'auto'")]);
  expect(await conversation.why()).toMatchObject({
    ...{ mode: "stateless", modeChosen: "layers-edit-every-step" },
  });
  expect((await replayed(store, conversation)).difference).toBeNull();
});
