import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreReplacedError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../../src/log/ports/store-errors.ts";
import { initPostgresStore } from "../../../src/stores/postgres/setup.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import { outputOf } from "../../support/process.ts";
import { hasPgbouncer, startPgbouncer } from "../../support/stores/pgbouncer.ts";
import {
  asRole,
  createEmptyStores,
  lockTable,
  opened,
  schemaOf,
  sql,
  withSetting,
} from "../../support/stores/postgres-opened.ts";
import { testWithProgram } from "../../support/stores/postgres-programs.ts";
import { hasPostgres, type PostgresServer, startPostgres } from "../../support/stores/postgres-server.ts";

/** For a try that has to fail: long enough for the server's own answer on a busy machine. */
const soon = { deadlineMs: 2_000 };

const patience = { timeout: 20_000 };

function withServer(): void {
  let server: PostgresServer;
  let emptyStore: ReturnType<typeof createEmptyStores>;
  beforeAll(async () => {
    server = await startPostgres({ tls: true });
    await sql(
      server.url("postgres"),
      // PostgreSQL 13 still has md5 as its default.
      "SET password_encryption = 'scram-sha-256'; CREATE ROLE writer LOGIN; CREATE ROLE guarded LOGIN PASSWORD 'right'; GRANT writer TO guarded",
    );
    emptyStore = createEmptyStores(server, { writer: "writer" });
  });
  afterAll(() => server.end());

  /** Executes a statement now, and another one after the test. */
  async function during(text: string, after: string): Promise<void> {
    onTestFinished(async () => {
      await sql(server.url("postgres"), after);
    });
    await sql(server.url("postgres"), text);
  }

  test("a wrong password, role, database or schema is told apart, without the password", async () => {
    const url = await emptyStore();
    await opened(url.replace("owner@", "guarded:right@"));
    const refusals = [
      ["guarded:wrong@", StoreUnavailableError, "rejects the user or the password"],
      ["guarded@", StoreUnavailableError, "asks for a password"],
      ["stranger@", StoreUnavailableError, "does not let this user in"],
    ] as const;
    for (const [login, kind, reason] of refusals) {
      const refused = opened(url.replace("owner@", login), soon);
      await expect(refused).rejects.toThrow(kind);
      await expect(refused).rejects.toThrow(reason);
      await expect(refused).rejects.not.toThrow("wrong");
    }
    const nowhere = opened(url.replace("/postgres", "/nowhere"));
    await expect(nowhere).rejects.toThrow(StoreNotFoundError);
    await expect(nowhere).rejects.toThrow("names a database that does not exist");
    const noSchema = opened(withSetting(server.url("postgres"), "schema=empty"));
    await expect(noSchema).rejects.toThrow(StoreNotFoundError);
    await expect(noSchema).rejects.toThrow("`turnlog store init`");
  });

  test("TLS is spoken with a server whose certificate is known, and with no other", async () => {
    const url = withSetting(await emptyStore(), `sslmode=verify-full`);
    const unknown = opened(url, soon);
    await expect(unknown).rejects.toThrow(StoreUnavailableError);
    await expect(unknown).rejects.toThrow("sslrootcert=");
    const known = withSetting(url, `sslrootcert=${encodeURIComponent(server.certificateFile)}`);
    const store = await opened(known);
    await appendPrepared(store, {});
    const [{ ssl } = { ssl: null }] = await sql(
      server.url("postgres"),
      "SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'turnlog'",
    );
    expect(ssl).toBe(true);
    await expect(opened(withSetting(url, "sslrootcert=/none.crt"))).rejects.toThrow("/none.crt cannot be read");
    if (!hasPgbouncer) return;
    await using pooler = await startPgbouncer(server);
    await expect(opened(withSetting(pooler("postgres"), "sslmode=verify-full"), soon)).rejects.toThrow(
      "does not speak TLS",
    );
  });

  test.runIf(hasPgbouncer)("a pooler that pools by statement is told as such where that matters", async () => {
    await using pooler = await startPgbouncer(server, "statement");
    const refused = initPostgresStore(withSetting(pooler("postgres"), "schema=by_statement"));
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    await expect(refused).rejects.toThrow("set it to pool by transaction");
  });

  test("a database in another encoding, and a schema of something else, are refused and left as they are", async () => {
    await sql(server.url("postgres"), "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    await expect(initPostgresStore(server.url("latin"))).rejects.toThrow("in LATIN1, which cannot store every text");
    await sql(server.url("postgres"), "CREATE SCHEMA shop; CREATE TABLE shop.orders (id int)");
    const shop = withSetting(server.url("postgres"), "schema=shop");
    await expect(opened(shop)).rejects.toThrow(StoreNotFoundError);
    await expect(initPostgresStore(shop)).rejects.toThrow("holds tables of something else");
    await sql(server.url("postgres"), "CREATE TABLE shop.meta (name text, value text)");
    for (const open of [opened, initPostgresStore]) {
      const refused = open(shop);
      await expect(refused).rejects.toThrow(StoreCorruptedError);
      await expect(refused).rejects.toThrow("is not a turnlog store's");
    }
    await sql(server.url("postgres"), "CREATE SCHEMA given");
    const given = withSetting(server.url("postgres"), "schema=given");
    expect(await initPostgresStore(given)).toMatchObject({ from: 0, to: 1 });
    await sql(server.url("postgres"), "UPDATE given.meta SET value = '99' WHERE name = 'schemaVersion'");
    await expect(opened(given)).rejects.toThrow(StoreTooNewError);
  });

  test("a server that does not write durably is refused, unless the program allows it", async () => {
    const url = await emptyStore();
    const reload = "SELECT pg_reload_conf()";
    onTestFinished(async () => {
      await sql(url, "ALTER SYSTEM RESET fsync");
      await sql(url, reload);
    });
    await sql(url, "ALTER SYSTEM SET fsync = off");
    await sql(url, reload);
    await expect.poll(async () => (await sql(url, "SHOW fsync"))[0], patience).toEqual({ fsync: "off" });
    await expect(opened(url)).rejects.toThrow("does not write durably (fsync off)");
    const warnings: string[] = [];
    await opened(url, { allowUnsafe: true, warn: (message) => warnings.push(message) });
    expect(warnings).toEqual([expect.stringContaining("loses acknowledged appends")]);
  });

  test("a role whose transactions are of another kind, or read-only, is told to change that", async () => {
    const url = asRole(await emptyStore(), "writer");
    await during("ALTER ROLE writer SET default_transaction_isolation = 'serializable'", "ALTER ROLE writer RESET ALL");
    await expect(opened(url)).rejects.toThrow("set default_transaction_isolation of this role to read committed");
    await sql(server.url("postgres"), "ALTER ROLE writer RESET ALL");
    await sql(server.url("postgres"), "ALTER ROLE writer SET default_transaction_read_only = on");
    const store = await opened(url, soon);
    expect(await store.head("conversation-any")).toBeNull();
    const refused = store.append(prepared());
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    await expect(refused).rejects.toThrow("is read-only");
  });

  test("a role without a connection left waits for one until the deadline", async () => {
    const url = asRole(await emptyStore(), "writer");
    await during("ALTER ROLE writer CONNECTION LIMIT 0", "ALTER ROLE writer CONNECTION LIMIT -1");
    await expect(opened(url, soon)).rejects.toThrow("has no connection left");
    const waiting = opened(url);
    await sql(server.url("postgres"), "ALTER ROLE writer CONNECTION LIMIT -1");
    await appendPrepared(await waiting, {});
  });

  test("a time limit of the operator's ends an append whose outcome is then found out", async () => {
    const url = asRole(await emptyStore(), "writer");
    const [hasty, patient] = [await opened(url, { deadlineMs: 1_000 }), await opened(url)];
    await during("ALTER ROLE writer SET statement_timeout = '200ms'", "ALTER ROLE writer RESET ALL");
    const sent = prepared();
    const lock = await lockTable(server.url("postgres"), `${schemaOf(url)}.streams`);
    const refused = hasty.append(sent);
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    await expect(refused).rejects.toThrow("raise statement_timeout of this role");
    const written = patient.append(sent);
    await lock.release();
    expect(await written).toMatchObject({ status: "appended" });
    expect((await all(patient.readStream(sent.stream))).length).toBe(1);
  });

  test("a text that Postgres cannot hold is refused before anything is sent, and searches find nothing by it", async () => {
    const store = await opened(await emptyStore());
    for (const stream of ["conversation-\0", "conversation-\ud800"]) {
      const refused = store.append(prepared({ stream }));
      await expect(refused).rejects.toThrow(RangeError);
      await expect(refused).rejects.toThrow("which Postgres cannot store");
      await expect(store.head(stream)).rejects.toThrow(RangeError);
    }
    // Called at once, they share a call of the server, and the one that is refused harms no other.
    const streams = ["conversation-a", "conversation-\0", "conversation-b"];
    const together = await Promise.allSettled(streams.map((stream) => store.append(prepared({ stream }))));
    expect(together.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const build = await store.views.begin("notes", 1);
    expect(await store.views.containing(build, ["\0"])).toEqual([]);
    expect((await all(store.readLog())).map(({ stream }) => stream)).toEqual(["conversation-a", "conversation-b"]);
  });

  test("a position of another kind of store, or one beyond the end, is refused", async () => {
    const store = await opened(await emptyStore());
    await appendPrepared(store, {});
    await expect(all(store.readLog({ after: "12/12" }))).rejects.toThrow(StoreCorruptedError);
    await expect(all(store.subscribe({ after: "12/12" }))).rejects.toThrow(StoreCorruptedError);
    await expect(all(store.readLog({ after: "99999999999" }))).rejects.toThrow(StoreReplacedError);
    await expect(all(store.subscribe({ after: "99999999999" }))).rejects.toThrow(StoreReplacedError);
  });

  test("a store that was replaced by another one, or set back, takes nothing more from this process", async () => {
    const url = await emptyStore();
    const schema = schemaOf(url);
    const store = await opened(url);
    const { sent } = await appendPrepared(store, { count: 3 });
    const calls = [
      () => store.append(prepared({ stream: sent.stream, expected: headAfter(sent) })),
      () => all(store.readLog()),
      () => all(store.subscribe()),
    ];
    const [{ position } = { position: null }] = await sql(
      url,
      `SELECT last_value AS position FROM ${schema}.positions`,
    );
    // As after restoring a backup without the newest events.
    await sql(url, `SELECT setval('${schema}.positions', ${String(position)} - 2)`);
    for (const call of calls) {
      const refused = call();
      await expect(refused).rejects.toThrow(StoreReplacedError);
      await expect(refused).rejects.toThrow("less than this process has seen");
    }
    await sql(url, `SELECT setval('${schema}.positions', ${String(position)})`);
    const [{ value } = { value: null }] = await sql(url, `SELECT value FROM ${schema}.meta WHERE name = 'storeId'`);
    await sql(url, `UPDATE ${schema}.meta SET value = gen_random_uuid()::text WHERE name = 'storeId'`);
    for (const call of calls) {
      const refused = call();
      await expect(refused).rejects.toThrow(StoreReplacedError);
      await expect(refused).rejects.toThrow("another store");
    }
    // A new connection asks first.
    await sql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnlog'");
    await expect(store.head(sent.stream)).rejects.toThrow(StoreReplacedError);
    await sql(url, `UPDATE ${schema}.meta SET value = '${String(value)}' WHERE name = 'storeId'`);
    expect((await all(store.readStream(sent.stream))).length).toBe(3);
  });

  test("a schema that is removed under a running process is told as such", async () => {
    const url = withSetting(server.url("postgres"), "schema=short_lived");
    await initPostgresStore(url);
    const store = await opened(url, soon);
    await sql(url, "DROP SCHEMA short_lived CASCADE");
    const refused = store.append(prepared());
    await expect(refused).rejects.toThrow(StoreReplacedError);
    await expect(refused).rejects.toThrow("was removed while it was open");
  });

  testWithProgram(
    "pg_basebackup",
    "a standby is refused, and of several hosts the primary is used, whatever their order",
    async () => {
      const url = await emptyStore();
      const standby = await startPostgres({ standbyOf: server });
      try {
        const { search } = new URL(url);
        const only = opened(`${standby.url("postgres")}${search}`, soon);
        await expect(only).rejects.toThrow(StoreUnavailableError);
        await expect(only).rejects.toThrow("the server is a standby");
        const hosts = [`127.0.0.1:${standby.port}`, `127.0.0.1:${server.port}`];
        for (const order of [hosts, hosts.toReversed()]) {
          const store = await opened(`postgres://owner@${order.join(",")}/postgres${search}`);
          const { result } = await appendPrepared(store, {});
          expect(result.status).toBe("appended");
        }
      } finally {
        await standby.end();
      }
    },
  );

  // It waits for five seconds.
  test("a lock that is held for longer than an append waits ends one try, not the append", async () => {
    const url = await emptyStore();
    const store = await opened(url);
    const lock = await lockTable(server.url("postgres"), `${schemaOf(url)}.streams`);
    const written = store.append(prepared());
    const waits = `SELECT count(*)::int AS waits FROM pg_stat_activity WHERE application_name = 'turnlog' AND query_start > `;
    const [{ now } = { now: null }] = await sql(url, "SELECT now()::text AS now");
    // The second try began.
    await expect
      .poll(async () => (await sql(url, `${waits}'${String(now)}'::timestamptz + interval '5 s'`))[0], {
        timeout: 20_000,
      })
      .toEqual({ waits: 1 });
    await lock.release();
    expect(await written).toMatchObject({ status: "appended" });
  });
}

if (hasPostgres) describe("a server of Postgres", withServer);

test("a server that says nothing is given up at the deadline", async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket)).listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await new Promise((resolve) => silent.once("listening", resolve));
  const address = silent.address();
  if (address === null || typeof address === "string") throw new Error("a listening socket has an address");
  const refused = opened(`postgres://ann:secret@127.0.0.1:${address.port}/app`, { deadlineMs: 300 });
  await expect(refused).rejects.toThrow(StoreUnavailableError);
  await expect(refused).rejects.toThrow("cannot be reached");
  await expect(refused).rejects.not.toThrow("secret");
});

test("a host that does not exist is told at once", async () => {
  await expect(opened("postgres://ann@no-such-host.invalid/app?sslmode=disable")).rejects.toThrow(
    StoreUnavailableError,
  );
});

test("names the command that installs the client when it is not there", async () => {
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => next(name === "pg" ? "pg-not-there" : name, context) });
    const { openStore } = await import(${JSON.stringify(new URL("../../../src/conversation/open-store.ts", import.meta.url).href)});
    await openStore("postgres://127.0.0.1:1/app").catch((error) => console.log(error.code, error.message));
  `;
  const said = await outputOf(["--input-type=module", "--eval", script]);
  expect(said).toContain("store-unavailable");
  expect(said).toContain("npm install pg@8");
});
