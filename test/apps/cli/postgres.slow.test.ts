import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setupDocument } from "../../../src/apps/documents/stores.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { digestsByKind, playWholeDemo } from "../../support/cli/same-digests.ts";
import type { Outcome } from "../../support/outcome.ts";
import { outcomeOf } from "../../support/process.ts";
import { asRole, createEmptyStores, sql } from "../../support/stores/postgres-opened.ts";
import { testWithProgram } from "../../support/stores/postgres-programs.ts";
import {
  hasPostgres,
  type PostgresServer,
  postgresProgram,
  startPostgres,
} from "../../support/stores/postgres-server.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const ok = (outcome: Outcome): string => {
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return outcome.stdout;
};

function withServer(): void {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    await sql(server.url("postgres"), "CREATE ROLE app LOGIN; CREATE ROLE auditor LOGIN");
  });
  afterAll(() => server.end());

  let databases = 0;
  /** A database without a store, and what is typed at it. */
  async function place() {
    databases += 1;
    const name = `place_${databases}`;
    await sql(server.url("postgres"), `CREATE DATABASE ${name}`);
    const { path: cwd, file } = temporaryFolder();
    const url = server.url(name);
    const at = (address: string, ...typed: readonly string[]) => turnlogHere([...typed, "--store", address], { cwd });
    return { cwd, file, url, at, run: (...typed: readonly string[]) => at(url, ...typed) };
  }

  test("the demo creates its store, reading commands read it, and copies go both ways and stay equal", async () => {
    const { run, at, url, file } = await place();
    const demo = ok(await run("demo", "-q"));
    expect(demo).toContain("8 requests: 4 chained, 2 rebased, 2 full");
    expect(demo).toContain("Two commands to try, with the user and password in the address:");
    expect(ok(await run("log", "@last")).split("\n").length).toBeGreaterThan(60);
    expect(ok(await run("log", "@last", "--transcript"))).toContain("Your code is K7Q2.");
    expect(ok(await run("why", "@last"))).toContain("speak-french@2.0.1");
    expect(ok(await run("search", "train"))).toContain("train");
    expect(ok(await run("verify"))).toContain("all sound");
    const bodies = ok(await run("request", "@last"));
    const sqlite = `sqlite:${file("copy.db")}`;
    expect((await run("copy", "--to", sqlite)).code).toBe(0);
    expect(ok(await at(sqlite, "request", "@last"))).toBe(bodies);
    const back = `${url}?schema=back`;
    ok(await at(back, "store", "init"));
    ok(await at(sqlite, "copy", "--to", back));
    expect(ok(await at(back, "request", "@last"))).toBe(bodies);
    expect(ok(await at(back, "verify"))).toContain("all sound");
  });

  test("an empty database is refused and left empty; init creates the store once, in a schema", async () => {
    const { run, at, url } = await place();
    const refused = await run("append", "@new", "Hello");
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toContain("there is no turnlog store in the schema turnlog at");
    expect(refused.stderr).toContain("create it with `turnlog store init`");
    const tables =
      "SELECT relname FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid WHERE nspname = 'turnlog'";
    expect(await sql(url, tables)).toEqual([]);
    const first = readDocument(setupDocument, await run("store", "init", "--json"));
    expect(first).toMatchObject({ action: "init", from: 0, to: 1, statements: null });
    expect(ok(await run("store", "init"))).toContain("is there already (schema version 1)\n");
    expect(readDocument(setupDocument, await run("store", "migrate", "--json"))).toEqual({
      ...first,
      action: "migrate",
      from: 1,
    });
    expect(ok(await run("store", "migrate"))).toContain("is up to date (schema version 1)\n");
    expect((await run("append", "@new", "Hello")).code).toBe(0);
    expect((await at(`${url}?schema=other`, "store", "migrate")).stderr).toContain("there is no turnlog store");
  });

  test("what init and grants print is what they do", async () => {
    const { run, at, url } = await place();
    const statements = ok(await run("store", "init", "--print"));
    await sql(url, `BEGIN; ${statements}; COMMIT`);
    const grants = ok(await run("store", "grants", "--writer", "app", "--reader", "auditor", "--print"));
    await sql(url, grants);
    expect((await at(asRole(url, "app"), "append", "@new", "Hello", "--id", "cnv_first")).code).toBe(0);
    expect(ok(await at(asRole(url, "auditor"), "log", "cnv_first"))).toContain("Hello");
  });

  test("a writer appends and cannot change events; a reader reads; others have no access", async () => {
    const { run, at, url } = await place();
    ok(await run("store", "init"));
    expect((await run("store", "grants")).stderr).toContain("no role was given");
    expect((await run("store", "grants", "--writer", "nobody_there")).stderr).toMatch(/nobody_there/);
    const stranger = await at(asRole(url, "app"), "ls");
    expect(stranger).toMatchObject({ code: 6, stdout: "" });
    expect(stranger.stderr).toContain("`turnlog store grants` prints");
    expect(ok(await run("store", "grants", "--writer", "app", "--reader", "auditor"))).toMatch(
      /^app may append, auditor may read in postgres:/,
    );
    const [writer, reader] = [asRole(url, "app"), asRole(url, "auditor")];
    ok(await at(writer, "append", "@new", "Hello", "--id", "cnv_first"));
    ok(await at(writer, "append", "cnv_first", "Are you there?"));
    ok(await at(writer, "verify"));
    expect(ok(await at(reader, "log", "cnv_first"))).toContain("Are you there?");
    expect(ok(await at(reader, "ls"))).toContain("cnv_first");
    expect(ok(await at(reader, "verify"))).toContain("all sound");
    expect((await at(reader, "append", "cnv_first", "No")).stderr).toContain("may not do that");
    for (const statement of [
      "UPDATE turnlog.events SET data = ''",
      "DELETE FROM turnlog.events",
      "TRUNCATE turnlog.events",
      "INSERT INTO turnlog.events SELECT * FROM turnlog.events",
      "UPDATE turnlog.streams SET revision = 0",
      "DELETE FROM turnlog.streams",
      "UPDATE turnlog.keys SET key = ''",
      "DELETE FROM turnlog.keys",
      "UPDATE turnlog.meta SET value = ''",
      "SELECT nextval('turnlog.positions')",
      "SELECT setval('turnlog.positions', 1)",
      "DROP TABLE turnlog.events",
      "CREATE TABLE turnlog.mine (n int)",
    ])
      await expect(sql(writer, statement), statement).rejects.toMatchObject({ code: "42501" });
  });

  testWithProgram(
    "pg_dump",
    "backup and restore name the commands of Postgres, which give the same store",
    async () => {
      const { run, at, url, cwd, file } = await place();
      expect(ok(await run("demo", "-q"))).toContain("8 requests");
      const refused = await run("store", "backup", "turnlog.backup");
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("pg_dump -Fc -n turnlog -f turnlog.dump");
      expect((await run("store", "restore", "turnlog.backup")).stderr).toContain("pg_restore --single-transaction");
      const dump = await outcomeOf(
        postgresProgram("pg_dump"),
        ["-Fc", "-n", "turnlog", "-f", file("turnlog.dump"), url],
        { cwd },
      );
      expect(dump).toMatchObject({ code: 0 });
      const copy = await place();
      const words = ["--single-transaction", "--exit-on-error", "-d", copy.url, file("turnlog.dump")];
      expect(await outcomeOf(postgresProgram("pg_restore"), words, { cwd })).toMatchObject({ code: 0 });
      expect(ok(await at(copy.url, "verify"))).toContain("all sound");
      const log = ok(await run("log", "@last", "--json"));
      expect(ok(await at(copy.url, "log", "@last", "--json"))).toBe(log);
      ok(await at(copy.url, "append", "@last", "One more"));
      expect(ok(await at(copy.url, "verify"))).toContain("all sound");
      const again = await outcomeOf(postgresProgram("pg_restore"), words, { cwd });
      expect(again.code).not.toBe(0);
      expect(ok(await at(copy.url, "verify"))).toContain("all sound");
    },
  );

  test("erasing is refused, and the refusal says why", async () => {
    const { run } = await place();
    ok(await run("store", "init"));
    ok(await run("append", "@new", "Hello", "--id", "cnv_first"));
    const refused = await run("erase", "cnv_first");
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect(refused.stderr).toContain("Postgres keeps old versions");
  });

  // `same-digests.test.ts` compares memory with SQLite.
  test("the demo comes to the same digests at every revision as in memory", async () => {
    const emptyStore = createEmptyStores(server);
    const digests = await digestsByKind(
      [
        ["memory", async () => "memory:"],
        ["postgres", emptyStore],
      ],
      playWholeDemo,
    );
    expect(digests.get("memory")?.length).toBeGreaterThan(60);
    expect(digests.get("postgres")).toEqual(digests.get("memory"));
  });
}

if (hasPostgres) describe("a server of Postgres, at the command line", withServer);

test("only postgres: stores are set up by a command", async () => {
  const { path: cwd } = temporaryFolder();
  for (const action of ["init", "migrate", "grants"]) {
    const refused = await turnlogHere(["store", action, "--store", "sqlite:x.db"], { cwd });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("name one with --store postgres://HOST/DATABASE");
  }
});
