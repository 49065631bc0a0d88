import { expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";

import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { thisProcess } from "../../../src/log/writer/owner.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { elsewhere, endOf, foreignRunId, inRun, startElsewhere } from "../../support/run/run-elsewhere.ts";
import { createWorkshop, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** A store that learns whether owners live after a while: as often as it is told. */
function slowToKnow(told: readonly Promise<boolean>[]): {
  readonly events: EventStore;
  readonly asked: Promise<unknown>;
} {
  const asked = Promise.withResolvers<undefined>();
  const answers = [...told];
  const whenKnown = async (): Promise<boolean> => {
    asked.resolve(undefined);
    return (await answers.shift()) ?? false;
  };
  const liveness = { hold: async () => "lse_of_this_one", isAlive: async () => true, deadAfterMs: 45_000, whenKnown };
  return { events: { ...createMemoryStore(), liveness }, asked: asked.promise };
}

test("a run whose owner ended it while this process waited to know whether that lives is not taken up", async () => {
  const known = Promise.withResolvers<boolean>();
  const { events, asked } = slowToKnow([known.promise]);
  const { conversation, ...workshop } = createWorkshop({ events });
  await conversation.append("hello");
  await startElsewhere(conversation, { ...elsewhere, lease: { storeId: events.storeId, id: "lse_slow" } });
  const running = conversation.run(workshop.scripted(["an answer"]).engine);
  await asked;
  await new TurnlogStore(events)
    .conversation(conversation.id)
    [commit]([endOf(foreignRunId, (await conversation.turn()).digest)]);
  known.resolve(false);
  expect(await running).toMatchObject({ text: "an answer", resumed: false });
  expect(typesOf(await eventsOf(conversation))).not.toContain("RunResumed");
});

test("an owner that speaks while this process waits to know whether it lives is waited for once more", async () => {
  const known = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()] as const;
  const { events, asked } = slowToKnow(known.map(({ promise }) => promise));
  const { conversation, ...workshop } = createWorkshop({ events });
  await conversation.append("hello");
  await startElsewhere(conversation, { ...elsewhere, lease: { storeId: events.storeId, id: "lse_slow" } });
  const running = rejectionOf(conversation.run(workshop.scripted(["an answer"]).engine));
  await asked;
  const data = { capability: "chain", scope: "elsewhere", value: false, reason: "a sign of life" } as const;
  const sign = inRun({ type: "CapabilityLearned", version: 1, data });
  await new TurnlogStore(events).conversation(conversation.id)[commit]([sign]);
  known[0].resolve(false);
  known[1].resolve(true);
  expect(await running).toMatchObject({ code: "run-in-progress", owner: { host: "elsewhere" } });
  expect(typesOf(await eventsOf(conversation))).not.toContain("RunResumed");
});

test("an owner that the system here knows to live is not waited for, and its run is refused at once", async () => {
  const { events } = slowToKnow([new Promise(() => undefined)]);
  const { conversation, ...workshop } = createWorkshop({ events });
  await conversation.append("hello");
  const lease = { storeId: events.storeId, id: "lse_slow" };
  await startElsewhere(conversation, { ...thisProcess(), processId: "prc_thread", lease });
  const refused = await rejectionOf(conversation.run(workshop.scripted(["an answer"]).engine));
  expect(String(refused)).toContain("if it is gone, the run is free once this process has seen no sign of it for 45 s");
});
