import { expect, test } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

/** A store in which one kind of event of a stream was written over. */
function damagedIn(store: EventStore, stream: string, type: string): EventStore {
  const asFound = (envelope: StoredEnvelope): StoredEnvelope =>
    envelope.stream === stream && envelope.type === type ? { ...envelope, data: '{"half":' } : envelope;
  return {
    ...store,
    async *readStream(name, options) {
      for await (const envelope of store.readStream(name, options)) yield asFound(envelope);
    },
  };
}

/** A parent whose server lost its state after a fork had left it. */
async function family() {
  const events = createMemoryStore();
  const server = await startReferenceServer({ answer: () => ({ output: [message("It is so.")] }) });
  const provider = openaiResponses({ model: "m", apiKey: "sk-test-key", baseURL: server.baseUrl, transport: "json" });
  const store = new TurnlogStore(events);
  const parent = store.conversation("cnv_parent");
  await parent.append("Is it?");
  const { responseId } = (await parent.run(createEngine({ provider }))).steps[0] ?? {};
  await parent.fork(-1, { id: "cnv_fork" });
  server.forget(responseId ?? "");
  await parent.append("Still?");
  await parent.run(createEngine({ provider }));
  expect(dataOf(await eventsOf(parent), "AnchorInvalidated")).toHaveLength(1);
  return { events, server, provider };
}

test("what a server lost for the parent is lost for its fork, which is not refused for it", async () => {
  const { events, server, provider } = await family();
  await using _ = server;
  const fork = new TurnlogStore(events).conversation("cnv_fork");
  await fork.append("And here?");
  const before = server.requests.length;
  await fork.run(createEngine({ provider }));
  expect(server.requests.slice(before).map(({ status }) => status)).toEqual([200]);
  expect(dataOf(await eventsOf(fork), "AnchorInvalidated")).toHaveLength(1);
});

test("a sound fork runs although a later event of its parent is damaged, and finds out by itself what was lost", async () => {
  const { events, server, provider } = await family();
  await using _ = server;
  const store = new TurnlogStore(damagedIn(events, "conversation-cnv_parent", "AnchorInvalidated"));
  const fork = store.conversation("cnv_fork");
  await fork.append("And here?");
  const before = server.requests.length;
  expect(await fork.run(createEngine({ provider }))).toMatchObject({ text: "It is so." });
  expect(server.requests.slice(before).map(({ status }) => status)).toEqual([400, 200]);
  const error = await rejectionOf(store.conversation("cnv_parent").append("And you?"));
  expect(error).toMatchObject({ code: "conversation-damaged" });
});
