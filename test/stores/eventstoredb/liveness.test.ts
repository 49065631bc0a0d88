import { expect, test } from "vitest";
import { StoreReplacedError } from "../../../src/log/ports/store-errors.ts";
import { all, appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { describeLiveness } from "../../support/stores/contract.ts";
import { opened, openedAgain, startServer, withSetting } from "../../support/stores/eventstoredb-opened.ts";
import { freshAddress, runningServers } from "../../support/stores/running-server.ts";

describeLiveness("the EventStoreDB store", async () => opened((await startServer()).connectionString), openedAgain);
for (const url of runningServers)
  describeLiveness("the server of TURNLOG_TEST_ESDB", () => opened(freshAddress(url)), openedAgain);

const quick = { renewMs: 10, deadAfterMs: 60_000, lookMs: 10 };

/** A store that says what it warns of. */
async function warning(url: string, options: Parameters<typeof opened>[1] = {}) {
  const warnings: string[] = [];
  const store = await opened(url, { ...options, warn: (message) => warnings.push(message) });
  return { store, warnings };
}

const renewalsOf = (server: Awaited<ReturnType<typeof startServer>>) =>
  server.events().filter(({ type }) => type === "LeaseRenewed");

test("a lease is held over TLS with the user of the address, whose thread reads the same certificate", async () => {
  const server = await startServer({ tls: true });
  const { store, warnings } = await warning(server.connectionString, { pace: quick });
  const held = await store.liveness.hold();
  const [first] = renewalsOf(server);
  expect({ held, warnings }).toEqual({ held: first?.stream.slice("turnlog-lease-".length), warnings: [] });
});

test.each(["", "staging"])(
  "no reading of a store gives a renewal, and the stream of a lease keeps one (namespace %j)",
  async (namespace) => {
    const server = await startServer();
    const { connectionString: url } = server;
    const { store, warnings } = await warning(
      namespace === "" ? url : withSetting(url, `turnlogNamespace=${namespace}`),
      {
        pace: quick,
      },
    );
    const reader = await warning(url);
    const id = await store.liveness.hold();
    const stream = `${namespace === "" ? "" : "staging."}turnlog-lease-${id}`;
    const leaving = new AbortController();
    const followed: string[] = [];
    const following = (async () => {
      for await (const event of store.subscribe({ signal: leaving.signal })) {
        followed.push(event.stream);
        if (event.stream === "conversation-last") leaving.abort();
      }
    })();
    await appendPrepared(store, { stream: "conversation-first" });
    await expect.poll(() => server.events(stream).length).toBeGreaterThan(3);
    // The server sends followers nothing of it.
    const sent = server.openCalls().filter(({ operation }) => operation === "subscribe");
    expect(sent.map(({ eventsSent }) => eventsSent).filter((count) => count > 1)).toEqual([]);
    expect(sent.length).toBeGreaterThan(0);
    await appendPrepared(store, { stream: "conversation-last" });
    await following;
    const own = ["conversation-first", "conversation-last"];
    expect(followed).toEqual(own);
    expect((await all(store.readLog())).map((event) => event.stream)).toEqual(own);
    expect((await all(store.heads())).map((head) => head.stream)).toEqual(own);
    expect((await all(store.readLog({ streamPrefix: "turnlog-lease-" }))).length).toBe(0);
    // Without a namespace the neighbours' streams are seen too, but neither their leases nor the stream that has their store's id.
    expect((await all(reader.store.readLog())).length).toBe(own.length);
    await expect(appendPrepared(store, { stream: "turnlog-lease-mine" })).rejects.toThrow("is a reserved name");
    expect([...warnings, ...reader.warnings]).toEqual([]);
    const settings = server
      .events(`$$${stream}`)
      .map(({ data }) => JSON.parse(Buffer.from(data).toString()) as unknown);
    expect(settings).toEqual([{ $maxCount: 1 }]);
  },
);

test("a user who may not write has no lease, and a warning says what follows", async () => {
  const server = await startServer({ tls: true, users: { auditor: { password: "secret", mayWrite: false } } });
  await opened(server.connectionString);
  const { store, warnings } = await warning(server.connectionStringFor("auditor", "secret"), { mustExist: true });
  expect(await store.liveness.hold()).toBeNull();
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(
    /this process could write nothing at .* wait for takeoverAfterMs .*: the user in the address is not allowed to append/,
  );
});

test("while the server is away there is no lease, and there is one once it is back", async () => {
  const server = await startServer();
  const { store, warnings } = await warning(server.connectionString, { deadlineMs: 1_500 });
  await server.kill();
  expect(await store.liveness.hold()).toBeNull();
  await server.restart();
  expect(await store.liveness.hold()).toMatch(/^lse_/);
  expect(warnings).toHaveLength(1);
});

test("a lease outlives a server that is away for longer than a holder may be silent", async () => {
  const server = await startServer();
  const pace = { ...quick, deadAfterMs: 400 };
  const { store, warnings } = await warning(server.connectionString, { pace, deadlineMs: 1_500 });
  const reader = await opened(server.connectionString, { pace: quick, deadlineMs: 1_500 });
  const held = (await store.liveness.hold()) ?? "";
  expect(await reader.liveness.whenKnown?.(held)).toBe(true);
  await server.kill();
  await expect.poll(() => warnings, { timeout: 20_000 }).toHaveLength(1);
  expect(warnings[0]).toContain("for 1 s nothing at");
  await expect(reader.liveness.isAlive(held)).rejects.toMatchObject({ code: "store-unavailable" });
  const before = renewalsOf(server).length;
  await server.restart();
  await expect.poll(() => renewalsOf(server).length, { timeout: 20_000 }).toBeGreaterThan(before);
  expect([await reader.liveness.isAlive(held), await store.liveness.hold()]).toEqual([true, held]);
});

test("a server that was set back reports no owner as alive, and a lease that is missing there is lost", async () => {
  const server = await startServer();
  const { store, warnings } = await warning(server.connectionString, { pace: quick, deadlineMs: 1_500 });
  const held = (await store.liveness.hold()) ?? "";
  await appendPrepared(store, {});
  await server.setBack();
  await expect.poll(() => warnings, { timeout: 20_000 }).toHaveLength(1);
  expect(warnings[0]).toMatch(/nothing at .* shows any longer .*other processes may take over its open runs/);
  await expect(store.liveness.isAlive(held)).rejects.toThrow(StoreReplacedError);
});

test("closing a store ends its lease and the thread that holds it; a server that is away is not waited for", async () => {
  const server = await startServer();
  const { store } = await warning(server.connectionString, { pace: quick });
  const ended = await store.liveness.hold();
  await store.close();
  await server.untilCalls((calls) => calls.length === 0);
  const other = await opened(server.connectionString, { pace: quick, deadlineMs: 1_500 });
  const left = await other.liveness.hold();
  await server.kill();
  await other.close();
  const last = [ended, left].map((id) => server.events(`turnlog-lease-${id}`).at(-1)?.type);
  expect(last).toEqual(["LeaseEnded", "LeaseRenewed"]);
});
