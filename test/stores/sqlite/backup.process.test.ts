import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../../src/log/ports/store-errors.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { backUpStore, restoreStore } from "../../../src/stores/sqlite/backup.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared, headAfter, jsonText, withoutPosition } from "../../../src/testing/contracts/prepared.ts";
import { startAside } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

async function opened(path: string): Promise<SqliteStore> {
  const store = await openSqliteStore(path);
  onTestFinished(() => store.close());
  return store;
}

/** A store in a file, with so many events, closed again. */
async function storeAt(path: string, count: number): Promise<Awaited<ReturnType<typeof appendPrepared>>["sent"]> {
  await using store = await openSqliteStore(path);
  return (await appendPrepared(store, { count })).sent;
}

const logOf = async (path: string) => {
  await using store = await openSqliteStore(path, { mustExist: true });
  return { storeId: store.storeId, events: await all(store.readLog()), heads: await all(store.heads()) };
};

test("a backup is the store as it is, and restored it is that store again, positions and id included", async () => {
  const { file } = temporaryFolder();
  await storeAt(file("store.db"), 200);
  const original = await logOf(file("store.db"));
  const checked = backUpStore(file("store.db"), file("backup.db"));
  expect(checked).toMatchObject({ storeId: original.storeId, streams: 1, events: 200 });
  expect(restoreStore(file("backup.db"), file("restored.db"))).toEqual(checked);
  expect(await logOf(file("restored.db"))).toEqual(original);
  expect(readdirSync(file(".")).filter((name) => name.includes("tmp"))).toEqual([]);
});

test("a backup has what an open store wrote, though it is in the log beside the file only", async () => {
  const { file } = temporaryFolder();
  const store = await opened(file("store.db"));
  const { sent } = await appendPrepared(store, { count: 3 });
  backUpStore(file("store.db"), file("backup.db"));
  await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 3 });
  const { events } = await logOf(file("backup.db"));
  expect(events.map(withoutPosition)).toEqual(sent.envelopes);
});

test("backups while another process writes are each whole, and each a beginning of the log", async () => {
  const { file } = temporaryFolder();
  const streams = Array.from({ length: 4 }, (_, index) => `conversation-cnv_0${index}`);
  const writer = startAside("stores/appending-process.ts", [`sqlite:${file("store.db")}`, "100000", ...streams]);
  let acknowledged = 0;
  writer.child.stdout?.on("data", (lines: Buffer) => {
    acknowledged += lines.toString().split("\n").length - 1;
  });
  await writer.readTo(/./);
  const lengths: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    // What was acknowledged is in the file, and more of it than in the backup before; a line says that the file is open.
    const before = (lengths.at(-1) ?? 0) + 1;
    await expect.poll(() => acknowledged, { interval: 1, timeout: 30_000 }).toBeGreaterThan(before);
    backUpStore(file("store.db"), file("backup.db"), { force: true });
    copyFileSync(file("backup.db"), file(`backup-${round}.db`));
    lengths.push((await logOf(file(`backup-${round}.db`))).events.length);
  }
  await writer.kill();
  const { events } = await logOf(file("store.db"));
  for (let round = 0; round < 6; round += 1) {
    const backup = await logOf(file(`backup-${round}.db`));
    expect(backup.events).toEqual(events.slice(0, backup.events.length));
    await using store = await openSqliteStore(file(`backup-${round}.db`));
    const problems = (await all(verifyStore(store, { codecs: new Map() }))).map(({ problem }) => problem?.kind ?? null);
    // What the process writes are no conversations: their chains hold, and that is all that there is to check.
    expect(problems.filter((kind) => kind === "chain" || kind === "head")).toEqual([]);
  }
  expect(lengths).toEqual(lengths.toSorted((left, right) => left - right));
  expect(new Set(lengths).size).toBe(6);
});

test("leaves a file or a store alone that is there, unless forced", async () => {
  const { file } = temporaryFolder();
  await storeAt(file("store.db"), 2);
  writeFileSync(file("notes.txt"), "notes");
  expect(() => backUpStore(file("store.db"), file("notes.txt"))).toThrow(
    expect.objectContaining({ code: "file-exists" }),
  );
  expect(readFileSync(file("notes.txt"), "utf8")).toBe("notes");
  await storeAt(file("other.db"), 5);
  const other = await logOf(file("other.db"));
  expect(() => restoreStore(file("store.db"), file("other.db"))).toThrow(
    expect.objectContaining({ code: "file-exists" }),
  );
  expect(await logOf(file("other.db"))).toEqual(other);
  backUpStore(file("store.db"), file("notes.txt"), { force: true });
  restoreStore(file("notes.txt"), file("other.db"), { force: true });
  expect(await logOf(file("other.db"))).toEqual(await logOf(file("store.db")));
});

test("a store takes the place of a later one: positions go on from the backup, with other events", async () => {
  const { file } = temporaryFolder();
  const sent = await storeAt(file("store.db"), 5);
  backUpStore(file("store.db"), file("backup.db"));
  const { storeId, events } = await logOf(file("store.db"));
  const grow = async () => {
    await using store = await openSqliteStore(file("store.db"));
    await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 1 });
    return (await all(store.readLog())).at(-1);
  };
  const lost = await grow();
  restoreStore(file("backup.db"), file("store.db"), { force: true });
  expect(await logOf(file("store.db"))).toMatchObject({ storeId, events });
  const next = await grow();
  // A reader that had seen the lost event finds another one at its position.
  expect(next?.position).toBe(lost?.position);
  expect(next?.id).not.toBe(lost?.id);
});

test("does not mix with what a killed process left beside the store", async () => {
  const { file } = temporaryFolder();
  const sent = await storeAt(file("store.db"), 3);
  backUpStore(file("store.db"), file("backup.db"));
  const backup = await logOf(file("backup.db"));
  await using store = await openSqliteStore(file("store.db"));
  await appendPrepared(store, {
    stream: sent.stream,
    expected: headAfter(sent),
    data: [jsonText(50_000), jsonText(50_000)],
  });
  // As it stands on disk when the process dies now.
  for (const end of ["", "-wal", "-shm"]) copyFileSync(file(`store.db${end}`), file(`dead.db${end}`));
  restoreStore(file("backup.db"), file("dead.db"), { force: true });
  expect(["-wal", "-shm", "-journal"].filter((end) => existsSync(file(`dead.db${end}`)))).toEqual([]);
  expect(await logOf(file("dead.db"))).toEqual(backup);
});

test("refuses to replace a store that is open, which stays as it is and goes on", async () => {
  const { file } = temporaryFolder();
  await storeAt(file("backup.db"), 1);
  const store = await opened(file("store.db"));
  const { sent } = await appendPrepared(store, { count: 2 });
  const restore = () => restoreStore(file("backup.db"), file("store.db"), { force: true });
  expect(restore).toThrow(StoreUnavailableError);
  expect(restore).toThrow("is open in another process: end it, then restore again");
  await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 2 });
  await store.close();
  expect((await logOf(file("store.db"))).events).toHaveLength(4);
  expect(readdirSync(file(".")).filter((name) => name.includes("tmp"))).toEqual([]);
  restore();
  expect((await logOf(file("store.db"))).events).toHaveLength(1);
});

test("refuses to write a backup over a store that is open: what it goes on to acknowledge is there afterwards", async () => {
  const { file } = temporaryFolder();
  await storeAt(file("store.db"), 1);
  const store = await opened(file("other.db"));
  const { sent } = await appendPrepared(store, { count: 2 });
  const backUp = () => backUpStore(file("store.db"), file("other.db"), { force: true });
  expect(backUp).toThrow(StoreUnavailableError);
  expect(backUp).toThrow("is open in another process: end it, or name another file");
  await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 2 });
  await store.close();
  expect((await logOf(file("other.db"))).events).toHaveLength(4);
  expect(readdirSync(file(".")).filter((name) => name.includes("tmp"))).toEqual([]);
  backUp();
  expect(await logOf(file("other.db"))).toEqual(await logOf(file("store.db")));
});

test("refuses to copy a store over itself, whatever name it goes by, and leaves it is", async () => {
  const { file } = temporaryFolder();
  const store = await opened(file("store.db"));
  const { sent } = await appendPrepared(store, { count: 2 });
  symlinkSync(file("store.db"), file("link.db"));
  linkSync(file("store.db"), file("hard.db"));
  for (const name of ["store.db", "./store.db", "link.db", "hard.db"]) {
    for (const work of [backUpStore, restoreStore]) {
      const copy = () => work(file("store.db"), file(name), { force: true });
      expect(copy, name).toThrow(expect.objectContaining({ code: "file-exists" }));
      expect(copy, name).toThrow("are the same file: name another");
    }
  }
  await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 2 });
  await store.close();
  expect((await logOf(file("store.db"))).events).toHaveLength(4);
});

test.each([
  ["a restore", restoreStore],
  ["a backup", backUpStore],
])("%s replaces the file that a link names, and no other name of the old one", async (_, work) => {
  const { file } = temporaryFolder();
  await storeAt(file("store.db"), 3);
  await storeAt(file("old.db"), 2);
  const old = await logOf(file("old.db"));
  linkSync(file("old.db"), file("kept.db"));
  symlinkSync("old.db", file("link.db"));
  symlinkSync("new.db", file("dangling.db"));
  work(file("store.db"), file("link.db"), { force: true });
  work(file("store.db"), file("dangling.db"));
  expect(readlinkSync(file("link.db"))).toBe("old.db");
  const store = await logOf(file("store.db"));
  for (const name of ["old.db", "new.db"]) expect(await logOf(file(name)), name).toEqual(store);
  expect(await logOf(file("kept.db"))).toEqual(old);
});

test("who has opened the old file in that moment finds no store in it any more", async () => {
  const { file } = temporaryFolder();
  await storeAt(file("backup.db"), 1);
  await storeAt(file("store.db"), 2);
  const held = openSync(file("store.db"), "r");
  restoreStore(file("backup.db"), file("store.db"), { force: true });
  // The replaced file has no name any more: this is what is read through a handle of it.
  writeFileSync(file("gone.db"), readFileSync(held));
  closeSync(held);
  const before = readFileSync(file("gone.db"));
  await expect(openSqliteStore(file("gone.db"))).rejects.toThrow("is not a turnlog store");
  expect(readFileSync(file("gone.db")).equals(before)).toBe(true);
  expect(existsSync(file("gone.db-wal"))).toBe(false);
});

test("takes the place of a store that is damaged, even of one that cannot be opened", async () => {
  const { file } = temporaryFolder();
  await storeAt(file("backup.db"), 3);
  for (const damage of ["these are notes, and no database at all. ".repeat(500), "", "SQLite format 3\0nonsense"]) {
    writeFileSync(file("store.db"), damage);
    restoreStore(file("backup.db"), file("store.db"), { force: true });
    expect((await logOf(file("store.db"))).events).toHaveLength(3);
  }
});

test.each([
  ["is damaged", "no database. ".repeat(2_000)],
  ["is gone", null],
])("does not mix with the log of a store that %s", async (_, rest) => {
  const { file } = temporaryFolder();
  const sent = await storeAt(file("store.db"), 3);
  backUpStore(file("store.db"), file("backup.db"));
  await using store = await openSqliteStore(file("store.db"));
  await appendPrepared(store, {
    stream: sent.stream,
    expected: headAfter(sent),
    data: [jsonText(50_000), jsonText(50_000)],
  });
  copyFileSync(file("store.db-wal"), file("dead.db-wal"));
  if (rest !== null) writeFileSync(file("dead.db"), rest);
  restoreStore(file("backup.db"), file("dead.db"), { force: true });
  expect(await logOf(file("dead.db"))).toEqual(await logOf(file("backup.db")));
});

test.each([
  ["a restore", restoreStore],
  ["a backup", backUpStore],
])("%s refuses to replace the database of another program, and the store of a newer turnlog", async (_, work) => {
  const { file } = temporaryFolder();
  await storeAt(file("backup.db"), 3);
  const foreign = new DatabaseSync(file("foreign.db"));
  foreign.exec("CREATE TABLE bookmarks (url TEXT)");
  foreign.close();
  const before = readFileSync(file("foreign.db"));
  expect(() => work(file("backup.db"), file("foreign.db"), { force: true })).toThrow("is not a turnlog store");
  expect(readFileSync(file("foreign.db")).equals(before)).toBe(true);
  await storeAt(file("newer.db"), 1);
  const newer = new DatabaseSync(file("newer.db"));
  newer.exec("UPDATE meta SET value = '99' WHERE name = 'schemaVersion'");
  newer.close();
  expect(() => work(file("backup.db"), file("newer.db"), { force: true })).toThrow(StoreTooNewError);
});

test("backs up and restores nothing that is damaged, and leaves no file behind", async () => {
  const { file } = temporaryFolder();
  expect(() => backUpStore(file("none.db"), file("backup.db"))).toThrow(StoreNotFoundError);
  expect(() => restoreStore(file("none.db"), file("restored.db"))).toThrow(StoreNotFoundError);
  await storeAt(file("store.db"), 300);
  backUpStore(file("store.db"), file("backup.db"));
  const damages: readonly ((path: string) => void)[] = [
    (path) => {
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.subarray(0, bytes.length - 8_192));
    },
    (path) => {
      const bytes = readFileSync(path);
      bytes.fill(0x7f, 8_192 * 3, 8_192 * 5);
      writeFileSync(path, bytes);
    },
    (path) => {
      change(path, "DELETE FROM events WHERE revision = 299");
    },
    (path) => {
      change(path, "DELETE FROM events WHERE revision = 7");
    },
    (path) => {
      change(path, "DELETE FROM events");
    },
    (path) => {
      change(path, "DELETE FROM streams");
    },
    (path) => {
      change(path, "UPDATE streams SET digest = 'x'");
    },
  ];
  for (const [index, damage] of damages.entries()) {
    for (const [name, copy] of [
      ["store.db", "backup"],
      ["backup.db", "restore"],
    ] as const) {
      const damaged = file(`damaged-${index}-${copy}.db`);
      copyFileSync(file(name), damaged);
      damage(damaged);
      const work = copy === "backup" ? backUpStore : restoreStore;
      expect(() => work(damaged, file("out.db")), `${index} ${copy}`).toThrow(StoreCorruptedError);
      expect(readdirSync(file(".")).filter((each) => each.startsWith("out.db"))).toEqual([]);
    }
  }
});

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}
