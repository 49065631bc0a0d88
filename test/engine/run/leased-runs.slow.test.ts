import { join } from "node:path";
import { expect, test } from "vitest";
import { outputOf } from "../../support/process.ts";
import { answering, hasty, lastOf, leased, patient } from "../../support/run/leased.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

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
