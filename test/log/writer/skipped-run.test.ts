import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { gated } from "../../support/gates.ts";
import { createWorkshop, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** A store that reads one event as one of an unknown future, once it is told which. */
function createDamagedStore() {
  const events = createMemoryStore();
  const damage = { revision: -1 };
  const seen = (envelope: StoredEnvelope): StoredEnvelope =>
    envelope.revision === damage.revision ? { ...envelope, version: 9 } : envelope;
  const store: EventStore = {
    ...events,
    async *readStream(stream, options) {
      for await (const envelope of events.readStream(stream, options)) yield seen(envelope);
    },
  };
  return { store, damage };
}

/** A run of a process that lives, and hangs: one of its events is damaged. */
async function hangingRun(type: string) {
  const { store, damage } = createDamagedStore();
  const { conversation, ...workshop } = createWorkshop({ events: store });
  await conversation.append("hello");
  const answer = Promise.withResolvers<undefined>();
  const asked = Promise.withResolvers<undefined>();
  const provider = gated(["an answer", "an answer"], (number) => {
    if (number === 1) return undefined;
    asked.resolve(undefined);
    return answer.promise;
  });
  const running = rejectionOf(conversation.run(workshop.engine({ provider })));
  await asked.promise;
  damage.revision = typesOf(await eventsOf(conversation)).indexOf(type);
  const other = new TurnlogStore(store, { clock: () => workshop.clock.now }).conversation(conversation.id);
  return { store, damage, conversation, other, workshop, provider, running, answer };
}

test("a skip of an event of the open run ends that run, also if another process owns it", async () => {
  const { store, damage, other, workshop, running, answer } = await hangingRun("InferenceRequested");
  expect(await rejectionOf(other.turn())).toMatchObject({ code: "conversation-damaged", revision: damage.revision });
  await other.skipEvent(damage.revision, "a newer turnlog wrote it");
  const { engine } = workshop.scripted(["another answer"]);
  const next = other.run(engine);
  // In this process runs of one conversation wait for each other.
  answer.resolve(undefined);
  expect(await running).toMatchObject({ code: "run-taken-over" });
  const { text, turn: readTurn, closedRun } = await next;
  const turn = await readTurn();
  expect({ text, closedRun }).toEqual({ text: "another answer", closedRun: null });
  expect(turn.blocks.map((block) => block.text)).toEqual(["hello", "another answer"]);
  const runs = typesOf(await historyOf(store)).filter((type) => /^(Run|EventSkipped)/.test(type));
  expect(runs).toEqual(["RunStarted", "EventSkipped", "RunStarted", "RunCompleted"]);
  expect((await new TurnlogStore(store).conversation(other.id).turn()).digest).toBe(turn.digest);
});

test("the owner of a run that an event of was skipped in writes nothing more, and knows what others know", async () => {
  const { damage, conversation, other, running, answer, store, workshop } = await hangingRun("InferenceRequested");
  await other.skipEvent(damage.revision, "a newer turnlog wrote it");
  answer.resolve(undefined);
  expect(await running).toMatchObject({ code: "run-taken-over" });
  expect(typesOf(await historyOf(store)).at(-1)).toBe("EventSkipped");
  const { engine } = workshop.scripted(["another answer"]);
  expect((await (await conversation.run(engine)).turn()).blocks.map(({ text }) => text)).toEqual([
    "hello",
    "another answer",
  ]);
  expect((await other.turn()).digest).toBe((await conversation.turn()).digest);
});

test("a process that has a damaged event in its folds leaves it out once it was skipped", async () => {
  const { store, damage } = createDamagedStore();
  const { conversation } = createWorkshop({ events: store });
  for (const text of ["one", "two", "three"]) await conversation.append(text);
  damage.revision = 2;
  const other = new TurnlogStore(store).conversation(conversation.id);
  await other.skipEvent(2, "unreadable");
  const turns = [await conversation.turn(), await other.turn()];
  for (const { blocks } of turns) expect(blocks.map(({ text }) => text)).toEqual(["one", "three"]);
  const fork = await other.fork(2);
  await fork.append("from there");
  expect((await fork.turn()).blocks.map(({ text }) => text)).toEqual(["one", "from there"]);
});

test("who cancels a run hears what became of it although what was said meanwhile was damaged and skipped", async () => {
  const { damage, conversation, other, running, answer } = await hangingRun("InferenceRequested");
  await conversation.append("by the way");
  damage.revision += 1;
  await other.skipEvent(damage.revision, "unreadable");
  const cancelled = other.cancel();
  const outcome = running.then(
    () => "cancelled",
    () => "completed",
  );
  for await (const { event } of other.follow(damage.revision + 1)) if (event.type === "RunCancelRequested") break;
  answer.resolve(undefined);
  expect((await cancelled)?.status).toBe(await outcome);
});

/** All that can be read of the conversation. */
async function historyOf(store: EventStore) {
  const events = [];
  for await (const recorded of new TurnlogStore(store).conversation("cnv_workshop").history()) events.push(recorded);
  return events;
}
