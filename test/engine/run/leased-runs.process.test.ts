import { expect, test } from "vitest";
import type { EventStoreDbServer } from "../../support/eventstoredb/server.ts";
import { answering, hasty, lastOf, leased, patient } from "../../support/run/leased.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** How often the lease of the only owner was renewed. */
function renewals(server: EventStoreDbServer): number {
  return server.events().filter(({ type }) => type === "LeaseRenewed").length;
}

test("an owner on another machine keeps its run while its event loop is blocked", async () => {
  const { server, conversation, store } = await leased(patient, "block");
  const before = renewals(server);
  const refused = await rejectionOf(conversation.run(answering()));
  expect(refused).toMatchObject({ code: "run-in-progress", owner: { host: "elsewhere" } });
  expect(String(refused)).toContain("once this process has seen no sign of it for 60 s");
  expect(renewals(server)).toBeGreaterThan(before);
  expect((await store.list()).conversations).toMatchObject([{ openRun: { state: "running" } }]);
  expect(await store.resumeAll(answering())).toEqual([]);
  expect((await conversation.run(answering(), { takeover: true })).resumed).toBe(true);
});

test("the run of a killed owner on another machine goes on once this process has waited for a sign of it", async () => {
  const { conversation, owner } = await leased(hasty);
  await owner.kill();
  const began = performance.now();
  expect(await conversation.run(answering())).toMatchObject({ text: "an answer", resumed: true });
  expect(performance.now() - began).toBeGreaterThan(299);
});

test("an owner whose lease cannot be renewed is warned, and one whose run was taken up meanwhile writes nothing more", async () => {
  const { server, conversation, owner } = await leased(hasty);
  const lost = server.inject({ on: "append", stream: "turnlog-lease-", everySince: true, outcome: "access-denied" });
  await lost.struck;
  expect(await lastOf(owner, /^warned/)).toMatch(/for 1 s nothing at .*other processes may take over its open runs/);
  expect(await conversation.run(answering())).toMatchObject({ text: "an answer", resumed: true });
  const events = typesOf(await eventsOf(conversation));
  expect(await lastOf(owner, /^(ended|completed)/)).toBe("ended run-taken-over");
  expect(typesOf(await eventsOf(conversation))).toEqual(events);
});
