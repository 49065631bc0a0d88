import { chmodSync, chownSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { StoreUnavailableError } from "../../src/log/ports/store-errors.ts";
import { createViews } from "../../src/stores/eventstoredb/views.ts";
import { backUpStore, restoreStore } from "../../src/stores/sqlite/backup.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { appendPrepared } from "../../src/testing/contracts/prepared.ts";
import { turnlogHere } from "../support/cli/command.ts";
import { useDemoStore } from "../support/cli/demo-store.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();
const key = { stream: "conversation-1", projection: "turn", version: 1 };
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Who may only do what others may has no modes; Windows has none, and says 666 of every file. */
const isPosix = process.platform !== "win32";
const posix = test.skipIf(!isPosix);
const asRoot = test.skipIf(process.getuid?.() !== 0);

posix("a new store is read by nobody else, its log neither (skipped on Windows, which has no modes)", async () => {
  const { file } = temporaryFolder();
  await using store = await openSqliteStore(file("store.db"));
  await appendPrepared(store, {});
  for (const end of ["", "-wal", "-shm"]) expect(modeOf(file(`store.db${end}`)), end).toBe("600");
});

posix("a store keeps the mode that its owner gave it (skipped on Windows, which has no modes)", async () => {
  const { file } = temporaryFolder();
  writeFileSync(file("store.db"), "");
  chmodSync(file("store.db"), 0o660);
  await using store = await openSqliteStore(file("store.db"));
  await appendPrepared(store, {});
  for (const end of ["", "-wal", "-shm"]) expect(modeOf(file(`store.db${end}`)), end).toBe("660");
});

posix.each([
  ["a backup", backUpStore],
  ["a restore", restoreStore],
])("%s is read by nobody else, or by who might read what it replaces (skipped on Windows)", async (_, copy) => {
  const { file } = temporaryFolder();
  await (await openSqliteStore(file("store.db"))).close();
  chmodSync(file("store.db"), 0o644);
  copy(file("store.db"), file("new.db"));
  expect(modeOf(file("new.db"))).toBe("600");
  chmodSync(file("new.db"), 0o640);
  copy(file("store.db"), file("new.db"), { force: true });
  expect(modeOf(file("new.db"))).toBe("640");
});

asRoot("what root replaces stays its owner's (skipped unless root runs the tests)", async () => {
  const { file } = temporaryFolder();
  const [nobody, users] = [65_534, 100];
  await (await openSqliteStore(file("store.db"))).close();
  backUpStore(file("store.db"), file("backup.db"));
  chownSync(file("store.db"), nobody, users);
  chmodSync(file("store.db"), 0o660);
  restoreStore(file("backup.db"), file("store.db"), { force: true });
  expect(statSync(file("store.db"))).toMatchObject({ uid: nobody, gid: users });
  expect(modeOf(file("store.db"))).toBe("660");
});

posix.each(["export @last -o", "verify --save-heads"])(
  "%s writes a file that nobody else reads, or who might read what it replaces (skipped on Windows)",
  async (typed) => {
    const { path: cwd, file } = demoStore();
    const write = () => turnlogHere([...typed.split(" "), file("written")], { cwd });
    expect(await write()).toMatchObject({ code: 0 });
    expect(modeOf(file("written"))).toBe("600");
    chmodSync(file("written"), 0o644);
    expect(await write()).toMatchObject({ code: 0 });
    expect(modeOf(file("written"))).toBe("644");
  },
);

test("no file of somebody else's is taken for a temporary one, whatever its name", async () => {
  const { path: cwd, file } = demoStore();
  const run = (typed: string) => turnlogHere(typed.replaceAll("FOLDER", cwd).split(" "), { cwd });
  for (const name of ["bundle", "heads", "backup.db"]) writeFileSync(file(`${name}.${process.pid}.tmp`), name);
  for (const typed of [
    "export @last -o FOLDER/bundle",
    "verify --save-heads FOLDER/heads",
    "store backup FOLDER/backup.db",
  ])
    expect(await run(typed), typed).toMatchObject({ code: 0 });
  for (const name of ["bundle", "heads", "backup.db"])
    expect(readFileSync(file(`${name}.${process.pid}.tmp`), "utf8")).toBe(name);
});

test.each([
  ["export @last -o", "bundle"],
  ["verify --save-heads", "file of heads"],
])("%s replaces nothing but a %s", async (typed, kind) => {
  const { path: cwd, file } = demoStore();
  writeFileSync(file("notes.txt"), "notes");
  for (const path of [file("notes.txt"), file("turnlog.db")]) {
    const there = readFileSync(path);
    const outcome = await turnlogHere([...typed.split(" "), path], { cwd });
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toContain(`exists and is not a ${kind}: name`);
    expect(readFileSync(path).equals(there)).toBe(true);
  }
  writeFileSync(file("empty"), "");
  expect(await turnlogHere([...typed.split(" "), file("empty")], { cwd })).toMatchObject({ code: 0 });
});

test("views are kept in no file that turnlog did not make for them, and it stays as it is", async () => {
  const { file } = temporaryFolder();
  writeFileSync(file("letter.txt"), "Dear Sir, ".repeat(2_000));
  const foreign = new DatabaseSync(file("foreign.db"));
  foreign.exec("CREATE TABLE bookmarks (url TEXT)");
  foreign.close();
  const store = await openSqliteStore(file("store.db"));
  await appendPrepared(store, { count: 3 });
  await store.close();
  for (const name of ["letter.txt", "foreign.db", "store.db"]) {
    const before = readFileSync(file(name));
    const views = createViews(file(name), () => undefined);
    const kept = views.snapshots.put(key, { revision: 1, data: "x" });
    await expect(kept, name).rejects.toThrow(StoreUnavailableError);
    await expect(kept, name).rejects.toThrow("leaves it unchanged: name another file (viewsPath), or delete it");
    views.close();
    expect(readFileSync(file(name)).equals(before), name).toBe(true);
  }
});

test("a file of views is no store of events", async () => {
  const { file } = temporaryFolder();
  const views = createViews(file("views.db"), () => undefined);
  await views.snapshots.put(key, { revision: 1, data: "x" });
  views.close();
  await expect(openSqliteStore(file("views.db"))).rejects.toThrow("is not a turnlog store");
});

test("a file whose name looks like an address is a file of that name", async () => {
  const { file, path } = temporaryFolder();
  const cwd = process.cwd();
  process.chdir(path);
  try {
    await (await openSqliteStore("file:store.db?mode=memory")).close();
  } finally {
    process.chdir(cwd);
  }
  expect(existsSync(file("file:store.db?mode=memory"))).toBe(true);
});
