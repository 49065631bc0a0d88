import { expect, onTestFinished, test } from "vitest";
import {
  compaction,
  type Expected,
  expectedReading,
  message,
  readItems,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../../../src/base/json.ts";
import { system } from "../../../src/domain/make-block.ts";
import { noUsage, totalTokens, usage, usageOf } from "../../../src/projections/usage.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const context_management = [{ type: "compaction", compact_threshold: 1_000 }];

/** A server whose first answer brings a compaction item, as one that compacts within a response does. */
async function compactingServer() {
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [...(request === 0 ? [compaction()] : []), message(`answer ${request}`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const typesSent = (body: JsonValue | undefined): readonly (JsonValue | undefined)[] => {
  const input = isJsonObject(body) ? body["input"] : [];
  return isJsonList(input)
    ? input.filter(isJsonObject).map(({ type, role }) => (role === undefined ? type : role))
    : [];
};

test.each([
  ["chained, with the new message only", "chained", ["user"]],
  ["stateless, with the item in the place of all before it", "stateless", ["compaction", "assistant", "user"]],
] as const)(
  "a compaction of the server's is a block of the Turn, and the next request goes on %s",
  async (_, mode, sent) => {
    const server = await compactingServer();
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const provider = openaiResponses({ model: "m", apiKey: "k", baseURL: `${server.url}/v1`, context_management });
    const engine = workshop.engine({ provider, mode });
    await conversation.append("first");
    await conversation.run(engine);
    await conversation.append("second");
    expect(await conversation.run(engine)).toMatchObject({ text: "answer 1" });
    const turn = await conversation.turn();
    expect(turn.blocks.map(({ type }) => type)).toEqual(["message", "compaction", "message", "message", "message"]);
    const asked = server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
    expect(typesSent(asked[1])).toEqual(sent);
    expect(asked.map((body) => (isJsonObject(body) ? body["context_management"] : null))).toEqual([
      context_management,
      context_management,
    ]);
  },
);

test("another endpoint, which cannot read it, is not sent it", async () => {
  const [first, other] = [await compactingServer(), await compactingServer()];
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const at = (baseURL: string) =>
    workshop.engine({
      provider: openaiResponses({ model: "m", apiKey: "k", baseURL: `${baseURL}/v1`, context_management }),
    });
  await conversation.append("first");
  await conversation.run(at(first.url));
  await conversation.append("second");
  await conversation.run(at(other.url));
  expect(typesSent(other.requests.find(({ method }) => method === "POST")?.body)).toEqual([
    "user",
    "assistant",
    "user",
  ]);
  const [, request] = dataOf(await eventsOf(conversation), "InferenceRequested");
  expect(request?.decision.repairs).toContainEqual({ rule: "omit", index: 1, detail: { reason: "foreign" } });
});

/** Two answers of a server, and what the server makes of them when it is asked to. */
async function windowed(systemAs: "input" | "instructions" = "input") {
  const server = await startReferenceServer({ compacts: true });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const provider = openaiResponses({ model: "m", apiKey: "k", baseURL: server.baseUrl, systemAs });
  const engine = workshop.engine({ provider });
  if (systemAs === "instructions") await conversation.append(system("Be brief."));
  for (const text of ["first", "second"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  const [step] = (await conversation.run(engine)).steps;
  const of = step?.responseId ?? "";
  const window = await provider.compact({ previous_response_id: of });
  const read = () => readItems(server.reading(server.requests.length - 1)?.items ?? []);
  return { ...workshop, engine, provider, of, window, read, server };
}

test("what a server compacted takes the place of what it was made of, and the next request begins a new chain with it", async () => {
  const { conversation, store, engine, provider, of, window, read, server } = await windowed();
  const before = await conversation.turn();
  await conversation.append("third");
  const turn = await conversation.compact({ provider, window, of });
  expect(turn.blocks.map(({ type, text }) => [type, text])).toEqual([
    ["message", "first"],
    ["message", "second"],
    ["compaction", ""],
    ["message", "third"],
  ]);
  // The user's words are still the user's.
  expect(turn.at(0)).toBe(before.at(0));
  await conversation.run(engine);
  expect(typesSent(server.requests.at(-1)?.body)).toEqual(["user", "user", "compaction", "user"]);
  const wanted = [...before.blocks.map(({ kind, text }) => [kind, text]), ["user", "third"]];
  expect(read()).toEqual(
    expectedReading(
      wanted.map(([role, text]) => ({ kind: "text", role, text }) as Extract<Expected, { role: "user" }>),
    ),
  );
  await conversation.append("fourth");
  await conversation.run(engine);
  expect(typesSent(server.requests.at(-1)?.body)).toEqual(["user"]);
  const event = (await eventsOf(conversation)).find(({ event: { type } }) => type === "TurnCompacted");
  expect(event).toMatchObject({ actor: { kind: "engine" }, event: { data: { compaction: { how: "server" } } } });
  expect((await replayed(store, { id: conversation.id })).difference).toBeNull();
  expect((await conversation.verify()).problems).toEqual([]);
});

test("what the instructions say of the Turn is in no window, and stays where it is", async () => {
  const { conversation, engine, provider, of, window, server } = await windowed("instructions");
  const turn = await conversation.compact({ provider, window, of });
  expect(turn.blocks.map(({ kind, text }) => [kind, text])).toEqual([
    ["system", "Be brief."],
    ["user", "first"],
    ["user", "second"],
    ["other", ""],
  ]);
  await conversation.append("third");
  await conversation.run(engine);
  expect(server.requests.at(-1)?.body).toMatchObject({ instructions: "Be brief." });
  expect(typesSent(server.requests.at(-1)?.body)).toEqual(["user", "user", "compaction", "user"]);
});

test("the cost of the server's compaction is in its event, in every report of usage, and in a budget", async () => {
  const { conversation, store, engine, provider, of, window } = await windowed();
  const costs = async () => {
    const { rows } = (await eventsOf(conversation)).reduce(usage.apply, usage.initial(""));
    expect(rows.map(({ model }) => model)).toEqual(["m"]);
    return totalTokens(rows[0] ?? noUsage);
  };
  const before = await costs();
  await conversation.append("third");
  await conversation.compact({ provider, window, of });
  const [data] = dataOf(await eventsOf(conversation), "TurnCompacted");
  const told = { scope: provider.scope, of, id: window["id"], model: "m", usage: { reported: window["usage"] } };
  expect(data?.window).toMatchObject({ ...told, rest: { object: "response.compaction" } });
  const cost = totalTokens(usageOf(data?.window?.usage));
  expect(cost).toBeGreaterThan(0);
  expect(await costs()).toBe(before + cost);
  // A run asks the log, and so does one of another process.
  for (const { id } of [conversation, store.conversation(conversation.id)]) {
    const overdrawn = store.conversation(id).run(engine, { budget: { maxTotalTokens: before + 1 } });
    const cause = { limit: "maxTotalTokens", tokens: before + cost };
    expect(await rejectionOf(overdrawn)).toMatchObject({ cause });
  }
});

test("a caller says which model was asked to compact, and the cost is that model's", async () => {
  const { conversation, provider, of } = await windowed();
  const window = await provider.compact({ previous_response_id: of, model: "small" });
  await conversation.compact({ provider, window, of, model: "small" });
  const { rows } = (await eventsOf(conversation)).reduce(usage.apply, usage.initial(""));
  expect(rows.map(({ model, requests }) => [model, requests])).toEqual([
    ["m", 2],
    ["small", 0],
  ]);
});

test("a window of what the Turn is not any more is refused, and nothing is written", async () => {
  const { conversation, provider, of, window } = await windowed();
  await conversation.revertToExchange(0);
  const written = (await eventsOf(conversation)).length;
  const outdated = { code: "window-outdated" };
  expect(await rejectionOf(conversation.compact({ provider, window, of }))).toMatchObject(outdated);
  expect(await rejectionOf(conversation.compact({ provider, window, of: "resp_other" }))).toMatchObject(outdated);
  expect(String(await rejectionOf(conversation.compact({ provider, window: {}, of })))).toContain(
    "window has no items",
  );
  expect(await eventsOf(conversation)).toHaveLength(written);
});
