import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { appendPrepared, newStream } from "../../src/testing/contracts/prepared.ts";
import { describeErasure, describeEventStore, describeSnapshots, describeViews } from "../support/stores/contract.ts";

describeEventStore("the memory store", async () => createMemoryStore());
describeErasure("the memory store", async () => createMemoryStore());
describeSnapshots("the memory store", async () => createMemoryStore());
describeViews("the memory store", async () => createMemoryStore());

test("delivers to a subscriber within one turn of the event loop", async () => {
  await using store = createMemoryStore();
  const seen: number[] = [];
  const subscription = (async () => {
    for await (const event of store.subscribe()) seen.push(event.revision);
  })();
  await new Promise(setImmediate);
  const appended = appendPrepared(store, { stream: newStream(), count: 2 });
  await new Promise(setImmediate);
  expect(seen).toEqual([0, 1]);
  await appended;
  await store.close();
  await subscription;
});
