import { expect, test } from "vitest";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { parsePostgresAddress } from "../../../src/stores/postgres/address.ts";
import type { Client } from "../../../src/stores/postgres/client.ts";
import { createConnections } from "../../../src/stores/postgres/connections.ts";

const sound = {
  isStandby: false,
  number: "150018",
  text: "PostgreSQL 15.18",
  encoding: "UTF8",
  isolation: "read committed",
};

/** Connections to servers that say this of themselves, and what was done with them. */
function servers(says: Readonly<Record<string, object>>, { max = 2 } = {}) {
  const log: string[] = [];
  const create = ({ host }: { readonly host: string }): Client => ({
    connect: async () => void log.push(`connect ${host}`),
    query: async ({ text }) => ({
      rows: text.includes("pg_is_in_recovery") ? [{ ...sound, ...says[host] }] : [{ host }],
    }),
    end: async () => void log.push(`end ${host}`),
    ref: () => undefined,
    unref: () => undefined,
    on: () => undefined,
  });
  const address = parsePostgresAddress(`postgres://${Object.keys(says).join(",")}/app?sslmode=disable`);
  return { log, connections: createConnections({ address, create, max, confirm: async () => undefined }) };
}

const ask = (client: Client) => client.query({ text: "SELECT 1" });

test.each([
  [
    "CockroachDB",
    { text: "CockroachDB CCL v25.2.1", isolation: "serializable" },
    "is CockroachDB, whose locks cannot order the log",
  ],
  ["YugabyteDB", { text: "PostgreSQL 11.2-YB-2.20", number: "110002" }, "is YugabyteDB"],
  ["an old PostgreSQL", { text: "PostgreSQL 12.22", number: "120022" }, "is an older PostgreSQL than 13"],
  ["another encoding", { encoding: "SQL_ASCII" }, "is in SQL_ASCII"],
  ["other transactions", { isolation: "repeatable read" }, "runs transactions as repeatable read"],
])("%s is refused by name", async (_, says, reason) => {
  const { connections, log } = servers({ db: says });
  await expect(connections.use(1_000, ask)).rejects.toThrow(StoreUnavailableError);
  await expect(connections.use(1_000, ask)).rejects.toThrow(reason);
  expect(log).toEqual(["connect db", "end db", "connect db", "end db"]);
});

test("the primary is found among several hosts, and asked first from then on", async () => {
  const { connections, log } = servers({ one: { isStandby: true }, two: {} }, { max: 2 });
  const both = [connections.use(1_000, ask), connections.use(1_000, ask)];
  expect((await Promise.all(both)).map(({ rows }) => rows)).toEqual([[{ host: "two" }], [{ host: "two" }]]);
  await connections
    .use(1_000, async () => {
      throw Object.assign(new Error("terminated"), { code: "57P01" });
    })
    .catch(() => undefined);
  log.length = 0;
  await Promise.all([connections.use(1_000, ask), connections.use(1_000, ask)]);
  expect(log).toEqual(["connect two"]);
});

test("more work than connections waits for one, and none is lost to work that fails", async () => {
  const { connections, log } = servers({ db: {} }, { max: 1 });
  const failure = Object.assign(new Error("no table"), { code: "42P01" });
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) =>
      connections.use(1_000, async () => (n % 3 === 0 ? Promise.reject(failure) : n)),
    ),
  );
  expect(results.filter(({ status }) => status === "fulfilled").length).toBe(6);
  expect(log).toEqual(["connect db"]);
});

test("a connection whose work takes too long is closed, and its place is free again", async () => {
  const { connections, log } = servers({ db: {} }, { max: 1 });
  const never = new Promise<never>(() => undefined);
  await expect(connections.use(5, () => never)).rejects.toThrow(/did not answer within [1-5] ms/);
  expect((await connections.use(1_000, ask)).rows).toEqual([{ host: "db" }]);
  expect(log).toEqual(["connect db", "end db", "connect db"]);
});

test("who waits for a connection longer than the limit gets an error, and the connection goes to the next", async () => {
  const { connections, log } = servers({ db: {} }, { max: 1 });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const first = connections.use(60_000, () => promise);
  await expect(connections.use(5, ask)).rejects.toThrow(/did not answer within [1-5] ms/);
  resolve(undefined);
  await first;
  for (let n = 0; n < 3; n += 1) expect((await connections.use(1_000, ask)).rows).toEqual([{ host: "db" }]);
  expect(log).toEqual(["connect db"]);
});
