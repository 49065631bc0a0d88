import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ReadLogOptions } from "../../../src/log/ports/event-store.ts";
import { createWorkshop, eventsOf, freshStore, storeKinds, typesOf } from "../../support/workshop.ts";

test.each(storeKinds)(
  "a run of another process is followed from any revision on, while it goes on (%s)",
  async (kind) => {
    const events = await freshStore(kind);
    const { conversation, ...workshop } = createWorkshop({ events });
    await conversation.append("hello");
    const other = new TurnlogStore(events).conversation(conversation.id);
    const left = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const { event, revision } of other.follow(1, left.signal)) {
        seen.push(`${revision} ${event.type}`);
        if (event.type === "RunCompleted") left.abort();
      }
    })();
    await conversation.run(workshop.scripted(["an answer"]).engine);
    await following;
    const types = typesOf(await eventsOf(conversation)).map((type, revision) => `${revision} ${type}`);
    expect(seen).toEqual(types.slice(1));
  },
);

test("by default what comes from now on is followed, and nothing of before", async () => {
  const { conversation } = createWorkshop();
  await conversation.append("one");
  await conversation.turn();
  const left = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { revision } of conversation.follow(undefined, left.signal)) {
      seen.push(revision);
      left.abort();
    }
  })();
  await conversation.append("two");
  await following;
  expect(seen).toEqual([2]);
});

test.each(storeKinds)(
  "a follower asks the store for nothing that came before: neither of a new conversation, nor of an old one (%s)",
  async (kind) => {
    const events = await freshStore(kind);
    const asked: (string | undefined)[] = [];
    const watched = {
      ...events,
      subscribe(options?: ReadLogOptions) {
        asked.push(options?.after);
        return events.subscribe(options);
      },
    };
    const store = new TurnlogStore(watched);
    await store.conversation("cnv_old").append("Hello");
    await store.conversation("cnv_other").append("Hello");
    const end = (await events.end?.()) ?? "none";
    for (const id of ["cnv_new", "cnv_old"]) {
      const left = new AbortController();
      const following = (async () => {
        for await (const { revision } of store.conversation(id).follow(0, left.signal))
          if (revision === (id === "cnv_old" ? 2 : 0)) left.abort();
      })();
      await expect.poll(() => asked.length).toBe(id === "cnv_new" ? 1 : 2);
      await store.conversation(id).append("More");
      await following;
    }
    expect(asked[0]).toBe(end);
    expect(asked[1]).not.toBe(end);
    expect(Number(asked[1])).toBeGreaterThan(Number(end));
  },
);

test.each([-1, 0.5, Number.NaN])("%s is no revision to follow from", (from) => {
  const { conversation } = createWorkshop();
  expect(() => conversation.follow(from)).toThrow(`follow: from is ${from}: give a revision, from 0`);
});
