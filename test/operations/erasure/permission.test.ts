import { beforeEach, expect, test } from "vitest";
import { createStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Authorize, ErasureRequest, MayErase } from "../../../src/log/access/authorized-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { erasureOrders } from "../../../src/log/system-streams/erasures.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

let events: EventStore;
beforeEach(async () => {
  events = createMemoryStore();
  await createStore(events).conversation("cnv_mine").append("My number is 555-0199.");
  await createStore(events).conversation("cnv_other").append("Mine too.");
});

const reason = { by: "dpo", ground: "gdpr-17" };
const opened = (mayErase: MayErase | undefined, authorize: Authorize = () => true): TurnlogStore =>
  createStore(events, { authorize, ...(mayErase === undefined ? {} : { mayErase }) });

async function erase(store: TurnlogStore, ...conversations: readonly string[]): Promise<unknown> {
  return store.erase(await store.planErasure({ conversations }), reason);
}

async function orders(): Promise<number> {
  let count = 0;
  for await (const _ of erasureOrders(events)) count += 1;
  return count;
}

test("a hook that allows everything else does not allow erasing", async () => {
  await expect(erase(opened(undefined), "cnv_mine")).rejects.toMatchObject({ code: "store-cannot-erase" });
  expect(await orders()).toBe(0);
});

test("an erasure that is allowed names the conversation and its events", async () => {
  const asked: ErasureRequest[] = [];
  const store = opened((request) => {
    asked.push(request);
    return true;
  });
  expect(await erase(store, "cnv_mine")).toMatchObject({ finished: true });
  expect(asked[0]).toEqual({ action: "erase", conversation: "cnv_mine", places: [{ from: 0, to: 1 }] });
  expect(new Set(asked.map(({ conversation }) => conversation))).toEqual(new Set(["cnv_mine"]));
});

test("an erasure that is not allowed for one of its conversations leaves no order, and all of them", async () => {
  const store = opened(async ({ conversation }) => conversation === "cnv_mine");
  await expect(erase(store, "cnv_mine", "cnv_other")).rejects.toMatchObject({
    code: "access-denied",
    message: "not allowed to erase cnv_other",
  });
  expect(await orders()).toBe(0);
  expect((await store.conversation("cnv_mine").turn()).length).toBe(1);
});

test("who loses the permission before the erasure ends cannot end it, and who has it can", async () => {
  let mayErase = 1;
  const losing = opened(() => mayErase-- > 0);
  await expect(erase(losing, "cnv_mine")).rejects.toMatchObject({ code: "access-denied" });
  expect(await orders()).toBe(1);
  expect((await losing.conversation("cnv_mine").turn()).length).toBe(1);
  for await (const { orderId } of erasureOrders(events)) {
    await expect(losing.resumeErasure(orderId)).rejects.toMatchObject({ code: "access-denied" });
    expect(await opened(() => true).resumeErasure(orderId)).toMatchObject({ finished: true });
  }
});

test.each([1, "yes", {}, undefined])("an answer that is not true, %s, denies", async (said) => {
  // JavaScript callers have no types.
  const store = opened(() => said as boolean);
  await expect(erase(store, "cnv_mine")).rejects.toMatchObject({ code: "access-denied" });
});

test("erasing needs the hook alone where nothing else is asked about", async () => {
  const store = createStore(events, { mayErase: () => false });
  expect((await store.conversation("cnv_mine").turn()).length).toBe(1);
  await expect(erase(store, "cnv_mine")).rejects.toMatchObject({ code: "access-denied" });
});
