import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/stack/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import type { EventStoreDbServer } from "../../support/eventstoredb/server.ts";
import { type Aside, outputOf, startAside } from "../../support/process.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** What this process waits for: long enough for a machine that has much to do, or not at all. */
const [patient, hasty] = [60_000, 300].map((deadAfterMs) => ({ renewMs: 20, deadAfterMs, lookMs: 20 }));

const answering = () => createEngine({ provider: scripted(["an answer"]) });

/** A conversation whose run goes on in a process of another machine. */
async function leased(pace: typeof patient, mode: "wait" | "block" = "wait") {
  const server = await startServer();
  const events = await opened(server.connectionString, pace === undefined ? {} : { pace });
  const store = new TurnlogStore(events);
  const conversation = store.conversation("cnv_leased");
  await conversation.append("hello");
  const owner = startAside("run/leasing-process.ts", [server.connectionString, conversation.id, mode]);
  onTestFinished(() => owner.kill());
  await owner.readTo(/^began/);
  return { server, store, conversation, owner };
}

/** How often the lease of the only owner was renewed. */
function renewals(server: EventStoreDbServer): number {
  return server.events().filter(({ type }) => type === "LeaseRenewed").length;
}

const lastOf = async (owner: Aside, line: RegExp): Promise<string | undefined> => (await owner.readTo(line)).at(-1);

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

test("who begins where a killed process ended resumes what that left, and waits until it is known to be gone", async () => {
  const { conversation, owner, store } = await leased(hasty);
  await owner.kill();
  const resumed = await store.resumeAll(answering());
  expect(resumed).toMatchObject([{ id: conversation.id, result: { text: "an answer" }, error: null }]);
});

test("callers that are rejected at once also discover a killed owner, without a run that waits", async () => {
  const { conversation, owner } = await leased(hasty);
  await owner.kill();
  const run = () => conversation.run(answering(), { whileRunning: "throw" });
  expect(await rejectionOf(run())).toMatchObject({ code: "run-in-progress" });
  await expect.poll(() => run().then(({ text }) => text, String), { timeout: 20_000 }).toBe("an answer");
});

test("a caller that aborts while it waits for a sign of an owner leaves the run as it is", async () => {
  const { conversation, owner } = await leased(patient);
  await owner.kill();
  const leaving = new AbortController();
  const running = rejectionOf(conversation.run(answering(), { signal: leaving.signal }));
  leaving.abort(new Error("enough"));
  expect(await running).toMatchObject({ code: "run-cancelled" });
  expect(typesOf(await eventsOf(conversation)).at(-1)).not.toMatch(/^Run(Resumed|Cancelled|Failed)/);
});

test("the run of an owner on another machine that closed its store goes on at once", async () => {
  const { conversation, owner } = await leased(patient);
  owner.tell("close");
  expect(await lastOf(owner, /^ended/)).toBe("ended run-parked");
  await owner.closed;
  expect(await conversation.run(answering())).toMatchObject({ text: "an answer", resumed: true });
});

test("who cancels a run on another machine has its owner end it, and ends it where the owner is gone", async () => {
  const { conversation, owner } = await leased(patient);
  expect(await conversation.cancel({ waitMs: 60_000 })).toMatchObject({ status: "cancelled" });
  expect(await lastOf(owner, /^ended/)).toBe("ended run-cancelled");
  const gone = await leased(hasty);
  await gone.owner.kill();
  // It was asked, and it does not answer: that shows long before the time is up.
  expect(await gone.conversation.cancel({ waitMs: 600_000 })).toMatchObject({ status: "cancelled" });
  expect(dataOf(await eventsOf(gone.conversation), "RunCancelled")).toHaveLength(1);
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

test("the package starts the thread of a lease from its own files, and the thread keeps no process alive", async () => {
  const server = await startServer();
  // Who makes the store has a call open until it is closed.
  await opened(server.connectionString);
  const program = `
    import { openEventStoreDb } from "turnlog/eventstoredb";
    const store = await openEventStoreDb(process.argv[1], { viewsPath: ":memory:" });
    console.log(await store.liveness.hold());
  `;
  const words = ["--input-type=module", "--eval", program, server.connectionString];
  const held = await outputOf(words, { cwd: join(import.meta.dirname, "../../..") });
  expect(server.events().map(({ stream }) => stream)).toContain(`turnlog-lease-${held.trim()}`);
});
