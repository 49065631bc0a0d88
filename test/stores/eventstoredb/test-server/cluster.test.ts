import { once } from "node:events";
import { EventStoreDBClient, streamNameFilter } from "@eventstore/db-client";
import { expect, test } from "vitest";
import { collect, connect, someEvents, typesOf } from "../../../support/eventstoredb/bare-client.ts";
import { anEvent, startEventStoreDbCluster, startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

const stream = "conversation-1";

test("comes back on its port with its data, whether it was killed or shut down", async () => {
  await using server = await startEventStoreDbServer();
  const { port } = server;
  for (const how of ["kill", "stop"] as const) {
    await using bare = connect(server.connectionString);
    await bare.append(stream, someEvents(1));
    await server.restart(how);
    expect(server.port).toBe(port);
    await using again = connect(server.connectionString);
    await again.append(stream, someEvents(1));
  }
  expect(server.events(stream)).toHaveLength(4);
});

test("is unavailable to the subscribers of a killed server, and cancels those of one that shuts down", async () => {
  await using server = await startEventStoreDbServer();
  for (const [how, type] of [
    ["kill", "unavailable"],
    ["stop", "cancelled"],
  ] as const) {
    await using bare = connect(server.connectionString);
    const subscription = bare.client.subscribeToAll({ filter: streamNameFilter({ prefixes: ["conversation-"] }) });
    await once(subscription, "caughtUp");
    const failed = once(subscription, "error");
    await server.restart(how);
    expect(await failed).toMatchObject([{ type }]);
    await server.idle();
  }
});

test("refuses connections while it is dead: a plain error with code 14 from the client's first question", async () => {
  await using server = await startEventStoreDbServer();
  await server.kill();
  await using bare = connect(server.connectionString);
  await expect(bare.append(stream, someEvents(1))).rejects.toMatchObject({ code: 14 });
  await server.restart();
  expect(await bare.append(stream, someEvents(1), "no_stream")).toMatchObject({ nextExpectedRevision: 0n });
});

test("leads the client to the leader by gossip, and to the next one after one failed append", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 3 });
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("Too few nodes.");
  await using bare = connect(cluster.connectionString);
  const events = someEvents(1);
  first.inject({ on: "append", when: "after", outcome: "kill" });
  await expect(bare.append(stream, events, "no_stream")).rejects.toMatchObject({ type: "unavailable" });
  expect(cluster.leader).toBeNull();
  cluster.elect(second);
  expect(await bare.append(stream, events, "no_stream")).toMatchObject({ nextExpectedRevision: 0n });
  for (const node of [first, second]) expect(node.seenCalls().map(({ operation }) => operation)).toContain("append");
  expect(second.events(stream)).toHaveLength(1);
});

test("is not ready while there is no leader", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2 });
  const [leader, follower] = cluster.nodes;
  await leader?.kill();
  await using bare = connect(follower?.connectionString ?? "");
  await expect(bare.append(stream, someEvents(1))).rejects.toThrow("Could not recognize Server Is Not Ready");
  await expect(collect(bare.client.readAll())).rejects.toMatchObject({ type: "unavailable" });
});

test("names the leader to a write that requires it, and the client's next call goes there", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2 });
  const [leader, follower] = cluster.nodes;
  await using bare = connect(follower?.connectionString ?? "");
  const append = () => bare.client.appendToStream(stream, someEvents(1), { requiresLeader: true });
  const notLeader = { type: "not-leader", leader: { address: leader?.host, port: leader?.port } };
  await expect(append()).rejects.toMatchObject(notLeader);
  expect(await append()).toMatchObject({ nextExpectedRevision: 0n });
  expect(leader?.events(stream)).toHaveLength(1);
});

test("hands a write on from a follower that need not lead, and lets the follower lag behind what was written", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2 });
  const [, follower] = cluster.nodes;
  await using bare = connect(follower?.connectionString ?? "");
  await bare.append(stream, someEvents(1), "no_stream");
  const subscription = bare.client.subscribeToStream(stream, { fromRevision: "end" });
  await once(subscription, "caughtUp");
  follower?.freeze();
  expect(await bare.append(stream, someEvents(1, "Late"), 0n)).toMatchObject({ nextExpectedRevision: 1n });
  expect(typesOf(await collect(bare.client.readStream(stream)))).toEqual(["Happened0"]);
  const arrived = once(subscription, "data");
  follower?.thaw();
  expect(await arrived).toMatchObject([{ event: { type: "Late0" } }]);
  expect(typesOf(await collect(bare.client.readStream(stream)))).toEqual(["Happened0", "Late0"]);
  await subscription.unsubscribe();
});

test("lets in over TLS who knows the password and trusts the certificate", async () => {
  await using server = await startEventStoreDbServer({ tls: true });
  await using bare = connect(server.connectionString);
  await bare.append(stream, someEvents(1), "no_stream");
  expect(typesOf(await collect(bare.client.readStream(stream)))).toEqual(["Happened0"]);
  expect(server.seenCalls()).toContainEqual(expect.objectContaining({ operation: "append", user: "admin" }));
  await using other = await startEventStoreDbServer({ tls: true });
  await using distrusting = connect(
    server.connectionString.replace(
      encodeURIComponent(server.certificateFile ?? ""),
      encodeURIComponent(other.certificateFile ?? ""),
    ),
  );
  await expect(distrusting.append(stream, someEvents(1))).rejects.toMatchObject({ code: 14 });
});

test.each(["batch", "classic"] as const)(
  "denies access over TLS as a wrong password, a missing right and a missing name deserve (%s)",
  async (way) => {
    const users = { reader: { password: "pa:ss", mayWrite: false }, writer: { password: "secret" } };
    await using server = await startEventStoreDbServer({ tls: true, users, features: way });
    const denied = { type: "access-denied" };
    await using wrong = connect(server.connectionStringFor("admin", "wrong"));
    await expect(wrong.append(stream, someEvents(1))).rejects.toMatchObject(denied);
    await using reader = connect(server.connectionStringFor("reader", "pa:ss"));
    await expect(reader.append(stream, someEvents(1))).rejects.toMatchObject(denied);
    await expect(collect(reader.client.readAll())).rejects.toMatchObject(denied);
    await using writer = connect(server.connectionStringFor("writer", "secret"));
    await writer.append(stream, someEvents(1), "no_stream");
    await expect(writer.append("$system", someEvents(1))).rejects.toMatchObject(denied);
    expect(typesOf(await collect(reader.client.readStream(stream)))).toEqual(["Happened0"]);
    await using nobody = connect(server.connectionString.replace("admin:changeit@", ""));
    await expect(collect(nobody.client.readStream(stream))).rejects.toMatchObject(denied);
    expect(server.events(stream)).toHaveLength(1);
  },
);

test("finds a leader over TLS among several hosts", async () => {
  await using cluster = await startEventStoreDbCluster({ nodes: 2, tls: true });
  const client = EventStoreDBClient.connectionString(cluster.connectionString);
  await client.appendToStream(stream, someEvents(1));
  expect(cluster.leader?.events(stream)).toHaveLength(1);
  await client.dispose();
});

test("begins anew when cleared", async () => {
  await using server = await startEventStoreDbServer();
  server.write(stream, [anEvent("A")]);
  server.clear();
  expect(server.events(stream)).toEqual([]);
  expect(server.events()).toHaveLength(3);
});
