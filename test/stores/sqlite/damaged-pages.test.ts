import { closeSync, openSync, readdirSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { readModels } from "../../../src/conversation/read-models.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { backUpStore } from "../../../src/stores/sqlite/backup.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { createSoundStore } from "../../support/audit/sound-store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const run = (cwd: string, ...args: readonly string[]) => turnlogHere(args, { cwd });

const notNull = [
  ...["stream", "revision", "id", "type", "version", "at", "actor", "data_digest", "digest", "data"],
] as const;

test.each(notNull)(
  "verify survives a record whose %s turned NULL: its stream is named, and the rest is verified",
  async (column) => {
    const { file } = temporaryFolder();
    const path = file("turnlog.db");
    await createSoundStore(path);
    turnNull(path, { table: "events", column, where: "position = 5" });
    await using events = await openSqliteStore(path);
    const { streams, problems } = await verification(events, { codecs });
    expect(streams).toBeGreaterThan(3);
    expect(problems.map(({ conversation }) => conversation)).toContain("cnv_journey");
    expect(problems.filter(({ conversation }) => conversation === "cnv_meeting")).toEqual([]);
  },
);

test.each(["name", "revision", "digest"])("verify names a stream whose %s turned NULL", async (column) => {
  const { file } = temporaryFolder();
  const path = file("turnlog.db");
  await createSoundStore(path);
  turnNull(path, { table: "streams", column, where: "name = 'conversation-cnv_journey'" });
  await using events = await openSqliteStore(path);
  const { problems } = await verification(events, { codecs });
  expect(problems).not.toEqual([]);
});

test.each(["view_rows", "snapshots"])(
  "where pages of %s are damaged, backup and rebuild tell of copy, and a copy has all events",
  async (table) => {
    const { file, path: folder } = temporaryFolder();
    const path = file("turnlog.db");
    await createSoundStore(path);
    await withRows(path);
    damagePages(path, table);
    const backup = await run(folder, "store", "backup", file("backup.db"));
    expect([backup.code === 0, backup.stderr]).toEqual([false, expect.stringContaining("turnlog copy --to")]);
    if (table === "view_rows") {
      const rebuild = await run(folder, "projections", "rebuild");
      expect([rebuild.code === 0, rebuild.stderr]).toEqual([false, expect.stringContaining("turnlog copy --to")]);
    }
    expect(await run(folder, "copy", "--to", `sqlite:${file("other.db")}`)).toMatchObject({ code: 0 });
    await using copied = await openSqliteStore(file("other.db"));
    expect((await verification(copied, { codecs, readModels: readModels(copied) })).problems).toEqual([]);
    expect((await new TurnlogStore(copied).list({ withTotal: true })).total).toBe(3);
  },
);

test("a backup deletes and reports the unfinished copies that a killed backup left", async () => {
  const { file, path: folder } = temporaryFolder();
  await createSoundStore(file("turnlog.db"));
  const uuid = "01a20a0b-b60b-7002-a3fb-14d64e14aeb2";
  // No process has this number: the greatest that a system gives is 2^22.
  const [left, fresh] = [file(`last-week.db.99999999.${uuid}.tmp`), file(`today.db.99999998.${uuid}.tmp`)];
  const [running, other] = [file(`backup.db.${process.pid}.${uuid}.tmp`), file("notes.99999999.tmp")];
  for (const each of [left, fresh, running, other]) writeFileSync(each, "half a store");
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const each of [left, running, other]) utimesSync(each, longAgo, longAgo);
  expect(backUpStore(file("turnlog.db"), file("backup.db")).removed).toEqual([left]);
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toHaveLength(3);
  utimesSync(fresh, longAgo, longAgo);
  const { code, stderr } = await run(folder, "store", "backup", file("again.db"));
  expect([code, stderr]).toEqual([0, expect.stringContaining(`deleted ${fresh}`)]);
});

/** What damage to a page can do, and the schema keeps everybody else from: the table is made again without it. */
function turnNull(
  path: string,
  { table, column, where }: Readonly<Record<"table" | "column" | "where", string>>,
): void {
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE loose AS SELECT * FROM ${table};
    DROP TABLE ${table};
    ALTER TABLE loose RENAME TO ${table};
    UPDATE ${table} SET ${column} = NULL WHERE ${where};
  `);
  database.close();
}

async function withRows(path: string): Promise<void> {
  await using store = new TurnlogStore(await openSqliteStore(path));
  await store.list();
  await store.search("hotel");
  for (let n = 0; n < 520; n += 1) await store.conversation("cnv_note").relabel({ title: `title ${n}` });
}

/** Overwrites the pages that hold the content of a table. */
function damagePages(path: string, table: string): void {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const pages = database
    .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'")
    .all(table)
    .map(({ pageno }) => Number(pageno));
  database.close();
  const opened = openSync(path, "r+");
  for (const page of pages) writeSync(opened, Buffer.alloc(4_096, 0xa5), 0, 4_096, (page - 1) * 8_192);
  closeSync(opened);
}
