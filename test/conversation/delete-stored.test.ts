import { expect, test } from "vitest";
import { startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../support/workshop.ts";

async function opened(config: Partial<EngineConfig> = {}) {
  const server = await startReferenceServer();
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl });
  const conversation = new TurnlogStore(createMemoryStore()).conversation("cnv_forgotten");
  const engine = createEngine({ provider, ...config });
  const say = async (text: string) => {
    await conversation.append(text);
    return (await conversation.run(engine)).steps[0];
  };
  return { server, provider, conversation, say, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("what a server stored for a conversation is deleted there, on record before and after, and nothing continues from it", async () => {
  await using world = await opened();
  const ids = [await world.say("one"), await world.say("two")].map((step) => step?.responseId);
  const { length } = await eventsOf(world.conversation);
  expect(await world.conversation.deleteStored(world.provider)).toEqual({ deleted: ids, missing: [], failed: [] });
  const events = (await eventsOf(world.conversation)).slice(length);
  expect(typesOf(events)).toEqual(["AnchorInvalidated", "AnchorInvalidated", "ResponseDeleted", "ResponseDeleted"]);
  expect(dataOf(events, "AnchorInvalidated")).toMatchObject(ids.map((id) => ({ anchor: { id }, reason: "deleted" })));
  for (const id of ids) await expect(world.provider.retrieve(id ?? "")).rejects.toMatchObject({ status: 404 });
  expect((await world.say("three"))?.decision).toMatchObject({ strategy: "full", anchor: null });
});

test("deleting again asks for what is new alone", async () => {
  await using world = await opened();
  await world.say("one");
  await world.conversation.deleteStored(world.provider);
  const last = await world.say("two");
  expect(await world.conversation.deleteStored(world.provider)).toMatchObject({ deleted: [last?.responseId] });
  expect(await world.conversation.deleteStored(world.provider)).toEqual({ deleted: [], missing: [], failed: [] });
});

test("what is not there any more is missing, and what failed is tried again", async () => {
  await using world = await opened();
  const [gone, kept] = [await world.say("one"), await world.say("two")].map((step) => step?.responseId ?? "");
  world.server.forget(gone ?? "");
  const down = openaiResponses({
    ...{ model: "m", apiKey: "sk-test", baseURL: world.server.baseUrl },
    fetch: async (address, init) =>
      new Request(address, init).url.endsWith(kept ?? "")
        ? new Response("down", { status: 503 })
        : fetch(address, init),
  });
  const first = await world.conversation.deleteStored(down);
  expect(first).toMatchObject({ deleted: [], missing: [gone], failed: [{ id: kept, error: { status: 503 } }] });
  // It may or may not be deleted: nothing goes on from it.
  expect((await world.say("three"))?.decision).toMatchObject({ strategy: "full" });
  expect((await world.conversation.deleteStored(world.provider)).deleted).toContain(kept);
});

test("what layers asked beside the conversation is deleted too; what was not stored, and what a fork inherited, is not", async () => {
  const asking = defineMiddleware({ name: "asking", version: "1.0.0" }, (next) => async (turn, ctx) => {
    await ctx.infer({ input: "what is this about?" });
    return next(turn);
  });
  await using world = await opened({ middleware: [asking] });
  await world.say("one");
  const fork = await world.conversation.fork();
  expect(await fork.deleteStored(world.provider)).toMatchObject({ deleted: [] });
  expect((await world.conversation.deleteStored(world.provider)).deleted).toHaveLength(2);
  const unstored = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: world.server.baseUrl, store: false });
  await world.conversation.append("two");
  await world.conversation.run(createEngine({ provider: unstored }));
  expect(await world.conversation.deleteStored(unstored)).toMatchObject({ deleted: [], missing: [] });
});

test("conversation objects are deleted with their items, also earlier ones, and no request continues in them", async () => {
  await using world = await opened({ mode: "conversation", sleep: async () => undefined });
  const { server, provider, conversation } = world;
  await world.say("one");
  server.inject({ kind: "cut", afterBytes: 0 });
  await rejectionOf(world.say("two"));
  await world.say("three");
  const made = dataOf(await eventsOf(conversation), "ServerConversationChanged").map(({ anchor }) => anchor);
  expect(made).toHaveLength(2);
  const fork = await conversation.fork();
  expect(await fork.deleteStored(provider)).toMatchObject({ deleted: [] });
  const { length } = await eventsOf(conversation);
  const before = server.requests.length;
  const { deleted, missing, failed } = await conversation.deleteStored(provider);
  expect({ deleted: deleted.slice(-2), missing, failed }).toEqual({
    ...{ deleted: made.map(({ id }) => id), missing: [], failed: [] },
  });
  const events = (await eventsOf(conversation)).slice(length);
  expect(dataOf(events, "AnchorInvalidated").slice(-2)).toMatchObject(
    made.map((anchor) => ({ anchor, reason: "deleted" })),
  );
  expect(dataOf(events, "ServerConversationDeleted")).toMatchObject(made.map((anchor) => ({ anchor, found: true })));
  for (const { id } of made) {
    expect(server.conversation(id)).toBeUndefined();
    // Deleted with its object alone, an item would stay.
    const calls = server.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
    expect(calls.filter((call) => call.startsWith(`DELETE /v1/conversations/${id}/items/`))).not.toEqual([]);
  }
  const step = await world.say("four");
  expect(step?.decision).toMatchObject({ strategy: "full", anchor: { length: 0 } });
  expect(made.map(({ id }) => id)).not.toContain(step?.decision.anchor?.id);
  expect((await conversation.deleteStored(provider)).deleted).toEqual([step?.responseId, step?.decision.anchor?.id]);
});

test("an object that is gone is missing, and one whose items could not be deleted is tried again", async () => {
  await using world = await opened({ mode: "conversation" });
  const { server, provider, conversation } = world;
  const object = (await world.say("one"))?.decision.anchor?.id ?? "";
  const down = openaiResponses({
    ...{ model: "m", apiKey: "sk-test", baseURL: server.baseUrl },
    fetch: async (address, init) =>
      new Request(address, init).url.includes("/items/") ? new Response("down", { status: 503 }) : fetch(address, init),
  });
  expect((await conversation.deleteStored(down)).failed).toMatchObject([{ id: object, error: { status: 503 } }]);
  expect(server.conversation(object)).toHaveLength(2);
  await fetch(`${server.baseUrl}/conversations/${object}`, { method: "DELETE" });
  expect(await conversation.deleteStored(provider)).toEqual({ deleted: [], missing: [object], failed: [] });
  expect(await conversation.deleteStored(provider)).toEqual({ deleted: [], missing: [], failed: [] });
});

test("a provider that cannot delete and an unknown option are rejected before anything is written", async () => {
  await using world = await opened();
  await world.say("one");
  const before = (await world.conversation.head())?.revision;
  expect(await rejectionOf(world.conversation.deleteStored(scripted([])))).toMatchObject({ name: "TypeError" });
  const wrong = { signal: new AbortController().signal, dryRun: true };
  expect(await rejectionOf(world.conversation.deleteStored(world.provider, wrong))).toMatchObject({
    name: "TypeError",
  });
  expect((await world.conversation.head())?.revision).toBe(before);
});
