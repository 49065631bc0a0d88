import { describe, expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { isEventStoreDbAddress, parseAddress } from "../../../src/stores/eventstoredb/address.ts";
import { all, appendPrepared, prepared } from "../../../src/testing/contracts/prepared.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";

describe("an address", () => {
  test.each([
    ["esdb://host", "esdb://host", "esdb://host"],
    ["esdb://host:1?tls=false", "esdb://host:1?tls=false", "esdb://host:1"],
    ["kurrentdb://a:1,b:2,c/?tls=true", "esdb://a:1,b:2,c?tls=true", "esdb://a:1,b:2,c"],
    ["kdb+discover://me:pa%3Ass@host", "esdb+discover://me:pa%3Ass@host", "esdb+discover://host"],
    ["esdb://host?TLS=false&turnlogNamespace=x", "esdb://host?tls=false", "esdb://host"],
  ])("%s reaches the client as one that it knows", (url, connectionString, shown) => {
    expect(isEventStoreDbAddress(url)).toBe(true);
    expect(parseAddress(url)).toMatchObject({ connectionString, shown });
  });

  test("says how long a call may take: its option, then deadlineMs, then the client's own name for it", () => {
    const address = "esdb://host?defaultDeadline=250";
    expect(parseAddress("esdb://host").deadlineMs).toBe(10_000);
    expect(parseAddress(address)).toMatchObject({ deadlineMs: 250, connectionString: address });
    expect(parseAddress(`${address}&deadlineMs=300`)).toMatchObject({ deadlineMs: 300, connectionString: address });
    expect(parseAddress(`${address}&deadlineMs=300`, 40).deadlineMs).toBe(40);
  });

  test("tries twice within the deadline, and gives up on an append never before the server does", () => {
    expect(parseAddress("esdb://host").silenceMs).toEqual({ append: 5_000, read: 5_000 });
    expect(parseAddress("esdb://host?defaultDeadline=400").silenceMs).toEqual({ append: 2_500, read: 200 });
    const hasty = "esdb://host?turnlogCommitTimeout=400&turnlogReadTimeout=200";
    expect(parseAddress(hasty).silenceMs).toEqual({ append: 500, read: 250 });
    const slow = "esdb://host?turnlogCommitTimeout=20000&turnlogReadTimeout=30000";
    expect(parseAddress(slow)).toMatchObject({
      connectionString: "esdb://host",
      silenceMs: { append: 25_000, read: 37_500 },
    });
  });

  test.each([
    ["http://host", "esdb://"],
    ["esdb://", "host:port"],
    ["esdb://host:port", "host:port"],
    ["esdb://me@host", "user:password@"],
    ["esdb://me:pa:ss@host", "percent-encoding"],
    ["esdb://me:pa@ss@host", "percent-encoding"],
    ["esdb://me:pa/ss@host", "percent-encoding"],
    ["esdb://me:100%@host", "%25"],
    ["esdb://host?tls", "tls has no value"],
    ["esdb://host?ssl=true", "no setting ssl"],
    ["esdb://host?tlsVerifyCert=false", "tlsCAFile"],
    ["esdb://host?defaultDeadline=soon", "defaultDeadline must be a whole number"],
    ["esdb://host?defaultDeadline=0", "defaultDeadline must be greater than 0"],
    ["esdb://host?deadlineMs=0", "deadlineMs must be greater than 0"],
    ["esdb://host?turnlogCommitTimeout=0", "turnlogCommitTimeout must be greater than 0"],
    ["esdb://host?turnlogNamespace=a-b", "turnlogNamespace"],
    ["esdb://host?nodePreference=nearest", "leader"],
    ["esdb://host?tlsCAFile=/none/ca.crt", "certificate file"],
  ])("%s is refused with the part to change", async (url, advice) => {
    await expect(opened(url)).rejects.toThrow(StoreUnavailableError);
    await expect(opened(url)).rejects.toThrow(advice);
  });

  test("of an unknown kind is rejected without showing its password", async () => {
    await expect(openStore("esbd://me:secret@host")).rejects.toThrow(
      expect.objectContaining({ code: "unknown-store" }),
    );
    await expect(openStore("esbd://me:secret@host")).rejects.toThrow("esbd://host is not the address of a store");
  });
});

test("opens a store by its address, like every other store", async () => {
  const server = await startServer();
  const url = server.connectionString.replace("esdb:", "kurrentdb:");
  await using store = await openStore(url, { viewsPath: ":memory:" });
  await store.conversation("cnv_0001").append("hello");
  expect(server.events("conversation-cnv_0001").length).toBeGreaterThan(0);
});

test.each([
  ["a port that nobody listens to", "esdb://127.0.0.1:1?tls=false", "check host and port"],
  [
    "a cluster of which no node is there",
    "esdb://127.0.0.1:1,127.0.0.1:2?tls=false&maxDiscoverAttempts=1",
    "check host",
  ],
  ["a host that is not known", "esdb://turnlog.invalid?tls=false", "correct the host"],
])("names %s", async (_, url, advice) => {
  await expect(opened(url, { deadlineMs: 1_000 })).rejects.toThrow(StoreUnavailableError);
  await expect(opened(url, { deadlineMs: 1_000 })).rejects.toThrow(advice);
});

test("tells TLS without TLS from a certificate that is not trusted", async () => {
  const options = { deadlineMs: 1_000 };
  const plain = await startServer();
  const withTls = plain.connectionString.replace("tls=false", "tls=true");
  await expect(opened(withTls, options)).rejects.toThrow("add tls=false to the address");
  const secure = await startServer({ tls: true });
  const untrusted = secure.connectionString.replace(/&tlsCAFile=.*/, "");
  await expect(opened(untrusted, options)).rejects.toThrow("tlsCAFile=");
  const withoutTls = untrusted.replace("tls=true", "tls=false");
  await expect(opened(withoutTls, options)).rejects.toThrow("tls=true or false");
});

test("names the password that is wrong, and never shows it", async () => {
  const server = await startServer({ tls: true });
  const url = server.connectionStringFor("admin", "guess-4711");
  const error: unknown = await opened(url).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(String(error)).toContain("correct user:password in the address");
  expect(String(error)).not.toContain("guess-4711");
});

test("names the user who may read and not write, and writes nothing", async () => {
  const server = await startServer({ tls: true, users: { reader: { password: "p", isAdmin: true, mayWrite: false } } });
  const reading = server.connectionStringFor("reader", "p");
  await expect(opened(reading)).rejects.toThrow(expect.objectContaining({ code: "access-denied" }));
  const { sent } = await appendPrepared(await opened(server.connectionString), { count: 2 });
  const store = await opened(reading);
  expect(await all(store.readStream(sent.stream))).toHaveLength(2);
  const denied = prepared({});
  await expect(store.append(denied)).rejects.toThrow(expect.objectContaining({ code: "access-denied" }));
  await expect(store.append(denied)).rejects.toThrow(`not allowed to append ${denied.stream}`);
  expect(server.events(denied.stream)).toHaveLength(0);
});

test("names the right to read the whole log, which users do not have by default", async () => {
  const server = await startServer({ tls: true, users: { app: { password: "p:/?@%" } } });
  const store = await opened(server.connectionStringFor("app", "p:/?@%"));
  const { sent } = await appendPrepared(store, { count: 2 });
  expect(await all(store.readStream(sent.stream))).toHaveLength(2);
  for (const events of [store.readLog(), store.subscribe()]) await expect(all(events)).rejects.toThrow("$all");
});
