import { expect, test } from "vitest";
import { Recorder } from "../../../src/engine/session/recorder.ts";
import { createEventIds } from "../../../src/log/codec/event-id.ts";
import { createEventLog } from "../../../src/log/codec/event-log.ts";
import { ConversationWriter } from "../../../src/log/writer/conversation-writer.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

test("what is recorded after the last word is not written, although nothing was durable yet", async () => {
  const clock = (): number => 0;
  const log = createEventLog(createMemoryStore(), { clock, newEventId: createEventIds({ clock }) });
  const stream = new ConversationWriter(log, "conversation-cnv_closed");
  const failures: Error[] = [];
  const recorder = new Recorder({
    ...{ stream, runId: "run_0000000000000001", interceptor: null },
    barrier: async () => undefined,
    guard: () => undefined,
    onDurable: () => undefined,
    onFailure: (error) => failures.push(error),
  });
  const say = (title: string) => ({ type: "ConversationRelabelled", version: 1, data: { title } }) as const;
  const origin = { actor: { kind: "engine" } } as const;
  recorder.record(say("first"), origin);
  const closed = recorder.close(say("last"), origin, new Error("the run is parked"));
  recorder.record(say("too late"), origin);
  await closed;
  await expect(recorder.flush()).rejects.toThrow("the run is parked");
  const titles: unknown[] = [];
  for await (const { event } of stream.read(0)) {
    if (event.type === "ConversationRelabelled") titles.push(event.data.title);
  }
  expect(titles).toEqual(["first", "last"]);
  expect(failures.map(({ message }) => message)).toEqual(["the run is parked"]);
});
