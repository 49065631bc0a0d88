import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { ConversationWriter } from "../../../src/log/writer/conversation-writer.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

/** A conversation that was answered and forked, and how many events were read since. */
async function forked() {
  const memory = createMemoryStore();
  const read = { events: 0 };
  const readStream: EventStore["readStream"] = async function* (stream, options) {
    for await (const envelope of memory.readStream(stream, options)) {
      read.events += 1;
      yield envelope;
    }
  };
  const store = new TurnlogStore({ ...memory, readStream });
  const parent = store.conversation("cnv_parent");
  await parent.append("hello");
  const provider = scripted(({ requestNumber }) => `answer ${requestNumber}`);
  const engine = createEngine({ provider });
  await parent.run(engine);
  await parent.fork(-1, { id: "cnv_fork" });
  const opened = () => new TurnlogStore({ ...memory, readStream });
  return { store, parent, read, opened, engine, scope: provider.scope };
}

test.each([true, false])(
  "a cold run on a fork reads what speaks against its responses, and not all that its parent wrote since (snapshots: %s)",
  async (hasSnapshots) => {
    const { store, parent, read, opened, engine, scope } = await forked();
    const [response] = dataOf(await eventsOf(parent), "ResponseReceived");
    const anchor = { kind: "response", id: response?.responseId ?? "" };
    for (let n = 0; n < 1_100; n += 1) {
      await parent.relabel({ title: `title ${n}` });
      if (n !== 100) continue;
      const lost = { type: "AnchorInvalidated", version: 1, data: { scope, anchor, reason: "not-found" } } as const;
      await new ConversationWriter(store.log, "conversation-cnv_parent").commit([
        { event: lost, actor: { kind: "engine" } },
      ]);
    }
    if (!hasSnapshots) await store.events.snapshots?.deleteAll();
    const fork = opened().conversation("cnv_fork");
    await fork.append("and then?");
    read.events = 0;
    const { steps } = await fork.run(engine);
    // Its parent's first events, what it lost, and those behind its last snapshot.
    if (hasSnapshots) expect(read.events).toBeLessThan(200);
    expect(dataOf(await eventsOf(fork), "AnchorInvalidated")).toMatchObject([{ anchor, reason: "not-found" }]);
    expect(steps[0]?.decision.anchor).toBeNull();
  },
);
