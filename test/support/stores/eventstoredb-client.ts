import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAddress } from "../../../src/stores/eventstoredb/address.ts";
import { AppendChannel } from "../../../src/stores/eventstoredb/append-channel.ts";
import { createClient, type Driver, type ReadCall } from "../../../src/stores/eventstoredb/client.ts";
import {
  createMessages,
  type ReadMessage,
  type ReadReq,
  type ReadResp,
  readMessage,
} from "../../../src/stores/eventstoredb/messages.ts";
import { anEvent, startEventStoreDbCluster } from "../eventstoredb/server.ts";
import { startServer, withSetting } from "./eventstoredb-opened.ts";

const stream = "conversation-1";
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** What the store relies on in `@eventstore/db-client`, asked of the modules of one version. */
export function describeClient(name: string, load: () => Promise<Driver>): void {
  describe(name, () => {
    async function connected(url: string) {
      const driver = await load();
      const client = createClient(driver, parseAddress(url));
      const messages = createMessages(driver);
      const appends = new AppendChannel(client, messages);
      onTestFinished(() => {
        appends.close();
        client.close();
      });
      const everything: ReadReq = messages.subscribe({ from: null, pattern: "^[^$]" });
      const follow = (beside?: ReadCall): Promise<ReadCall> =>
        client.startCall((grpc, ...args) => grpc.read(everything, ...args), beside);
      return { client, messages, appends, follow };
    }

    test("calls with the user of the address, asks for the leader, and sets no deadline", async () => {
      const server = await startServer({ tls: true });
      const { client, messages } = await connected(withSetting(server.connectionString, "defaultDeadline=1"));
      const range = { name: stream, from: 0, direction: "forwards", count: 1 } as const;
      const call = await client.startCall((grpc, metadata, options) => {
        expect(options.deadline).toBe(Number.POSITIVE_INFINITY);
        return grpc.read(messages.readStream(range), metadata, options);
      });
      expect(await read(call)).toHaveLength(1);
      expect(server.seenCalls()).toMatchObject([{ operation: "read", requiresLeader: true, user: "admin" }]);
    });

    test("keeps to one connection, and makes another when that one is left, once for all who leave it", async () => {
      const server = await startServer();
      const { client, follow } = await connected(server.connectionString);
      const [first, second] = await Promise.all([follow(), follow()]);
      expect([first, second].map((call) => client.isCurrent(call))).toEqual([true, true]);
      await Promise.all([first, second].map((call) => client.reconnect(call)));
      const third = await follow();
      expect([first, third].map((call) => client.isCurrent(call))).toEqual([false, true]);
      await client.reconnect(second);
      expect(client.isCurrent(await follow())).toBe(true);
      expect(client.isCurrent(third)).toBe(true);
      for (const call of [first, second, third]) call.cancel();
    });

    test("keeps the connection when a call is cancelled here, or refused", async () => {
      const server = await startServer({ tls: true, users: { reader: { password: "secret" } } });
      const { client, messages, follow } = await connected(server.connectionStringFor("reader", "secret"));
      const refused = await follow();
      await expect(read(refused)).rejects.toThrow("PERMISSION_DENIED");
      server.write(stream, [anEvent("Ordered")]);
      const range = { name: stream, from: 0, direction: "forwards", count: 1 } as const;
      const cancelled = await client.startCall((grpc, ...args) => grpc.read(messages.readStream(range), ...args));
      cancelled.cancel();
      await expect(read(cancelled)).rejects.toThrow("CANCELLED");
      await follow();
      expect(client.isCurrent(refused)).toBe(true);
    });

    test("counts a connection that is lost while no call is open, and nothing while it holds", async () => {
      const server = await startServer();
      const { client, messages } = await connected(server.connectionString);
      const range = { name: stream, from: 0, direction: "forwards", count: 1 } as const;
      const reads = async () =>
        read(await client.startCall((grpc, ...args) => grpc.read(messages.readStream(range), ...args)));
      for (const _ of [1, 2]) await reads();
      expect(client.losses()).toBe(0);
      await server.restart();
      await expect.poll(() => client.losses()).toBe(1);
      await reads();
      expect(client.losses()).toBe(1);
    });

    test("goes to the leader that a follower names", async () => {
      const { leader, follower } = await startCluster();
      const { follow } = await connected(follower.connectionString);
      await expect(read(await follow())).rejects.toThrow();
      expect(await caughtUp(await follow())).toBe(true);
      expect(leader.seenCalls()).toMatchObject([{ operation: "subscribe" }]);
    });

    test("finds the next leader among several servers", async () => {
      const { cluster, leader, follower } = await startCluster();
      const { follow } = await connected(cluster.connectionString);
      const call = await follow();
      expect(await caughtUp(call)).toBe(true);
      const broken = once(call, "error");
      await leader.kill();
      cluster.elect(follower);
      await broken;
      expect(await caughtUp(await follow())).toBe(true);
      expect(follower.seenCalls().map(({ operation }) => operation)).toContain("subscribe");
    });

    test("tells only those who ask that no server is found, while other calls break", async () => {
      const rejected: unknown[] = [];
      const note = (reason: unknown): void => void rejected.push(reason);
      process.on("unhandledRejection", note);
      onTestFinished(() => void process.off("unhandledRejection", note));
      const { cluster } = await startCluster();
      const url = withSetting(cluster.connectionString, "maxDiscoverAttempts=2&discoveryInterval=20");
      const { client, follow } = await connected(url);
      const [first, second, third] = await Promise.all([follow(), follow(), follow()]);
      for (const call of [first, second, third]) expect(await caughtUp(call)).toBe(true);
      await client.reconnect(first);
      const [broken, alsoBroken] = [read(second), read(third)];
      const asking = follow();
      await Promise.all([
        expect(asking).rejects.toThrow("Failed to discover"),
        expect(broken).rejects.toThrow(),
        expect(alsoBroken).rejects.toThrow(),
        ...cluster.nodes.map((node) => node.kill()),
      ]);
      await new Promise(setImmediate);
      expect(rejected).toEqual([]);
    });

    test("gives back the bytes, names and places of what was appended, and says when that is all", async () => {
      const server = await startServer();
      const { messages, appends, follow } = await connected(server.connectionString);
      const ids = ["0b7a3c1e-0000-4000-8000-000000000001", "0b7a3c1e-0000-4000-8000-000000000002"];
      const events = ids.map((id) => ({ id, type: "Noted", data: bytes('{ "a": 1.0 }'), metadata: bytes("{}") }));
      const first = messages.append(stream, null, events);
      const answer = await appends.send(first, 10_000);
      const call = await follow();
      const seen: ReadMessage[] = [];
      for await (const message of messagesOf(call)) {
        seen.push(message);
        if (seen.at(-1)?.isCaughtUp === true) break;
      }
      const found = seen.flatMap(({ event }) => (event === null ? [] : [event]));
      const places = { name: stream, type: "Noted", data: bytes('{ "a": 1.0 }'), metadata: bytes("{}") };
      expect(
        found.map(({ data, metadata, ...rest }) => ({
          ...rest,
          data: bytes(text(data)),
          metadata: bytes(text(metadata)),
        })),
      ).toMatchObject(ids.map((id, revision) => ({ ...places, id, revision })));
      expect(answer).toEqual({ status: "appended", revision: 1, position: found[1]?.position });
    });

    test("says which revision a stream has that is not as expected, none included", async () => {
      const server = await startServer();
      const { messages, appends } = await connected(server.connectionString);
      server.write(stream, [anEvent("Ordered"), anEvent("Paid")]);
      const event = {
        id: "0b7a3c1e-0000-4000-8000-000000000003",
        type: "Noted",
        data: bytes("{}"),
        metadata: bytes("{}"),
      };
      const send = (name: string, expected: number | null) =>
        appends.send(messages.append(name, expected, [event]), 10_000);
      expect(await send(stream, null)).toEqual({ status: "wrong-expected", current: 1 });
      expect(await send("conversation-2", 4)).toEqual({ status: "wrong-expected", current: -1 });
    });
  });
}

const text = (data: Uint8Array): string => Buffer.from(data).toString("utf8");

async function* messagesOf(call: ReadCall): AsyncIterable<ReadMessage> {
  // The call's own type says nothing of what it carries.
  for await (const message of call as AsyncIterable<ReadResp>) yield readMessage(message);
}

async function read(call: ReadCall): Promise<ReadMessage[]> {
  const messages: ReadMessage[] = [];
  for await (const message of messagesOf(call)) messages.push(message);
  return messages;
}

/** Takes in what there is; the call goes on. */
function caughtUp(call: ReadCall): Promise<boolean> {
  return new Promise((resolve, reject) => {
    call.once("error", reject);
    call.on("data", (message: ReadResp) => {
      if (readMessage(message).isCaughtUp) resolve(true);
    });
  });
}

async function startCluster() {
  const cluster = await startEventStoreDbCluster({ nodes: 3 });
  onTestFinished(() => cluster.stop());
  const [leader, follower] = cluster.nodes;
  if (leader === undefined || follower === undefined) throw new Error("three nodes were started");
  return { cluster, leader, follower };
}
