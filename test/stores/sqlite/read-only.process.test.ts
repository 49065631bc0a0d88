import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { all, appendPrepared, headAfter } from "../../../src/contracts/prepared.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { openStore } from "../../../src/open-store.ts";
import { openImmutable } from "../../../src/stores/sqlite/immutable-reader.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { outputOf, startAside, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

const outcomesSchema = z.array(
  z.strictObject({ typed: z.string(), code: z.int(), stdout: z.string(), stderr: z.string() }),
);

/** What commands come to for a user who may read everything in the folder, and write nothing, or make files of his own. */
async function readAs(
  folder: string,
  commands: readonly string[],
  folderMode = 0o555,
): Promise<z.infer<typeof outcomesSchema>> {
  for (const name of readdirSync(folder)) chmodSync(`${folder}/${name}`, 0o444);
  chmodSync(folder, folderMode);
  onTestFinished(() => {
    chmodSync(folder, 0o755);
  });
  const text = await outputOf([supportFile("cli/reading-process.ts"), `${folder}/turnlog.db`, ...commands]);
  return outcomesSchema.parse(JSON.parse(text));
}

const reading = [
  "verify",
  "ls",
  "log @last",
  "show @last",
  "export @last",
  "diff @last@1..9",
  "request @last",
  "why @last",
  "blame @last",
  "replay @last",
  "projections",
];

const needsUser = process.getuid === undefined;
const asReader = test.skipIf(needsUser);

asReader("who may only read a store reads all that it holds (skipped where the system has no users)", async () => {
  const { path } = demoStore();
  const there = readFileSync(`${path}/turnlog.db`);
  for (const { typed, code, stdout, stderr } of await readAs(path, reading)) {
    // The two Turns differ.
    expect({ typed, code, stderr }).toMatchObject({ code: typed.startsWith("diff") ? 1 : 0 });
    expect(stdout, typed).not.toBe("");
    expect(stderr, typed).not.toContain("turnlog:");
  }
  expect(readdirSync(path)).toEqual(["turnlog.db"]);
  expect(readFileSync(`${path}/turnlog.db`).equals(there)).toBe(true);
});

asReader("read models that lag behind are made for one time (skipped where the system has no users)", async () => {
  const { path, file } = demoStore();
  expect(await turnlogHere(["ls"], { cwd: path })).toMatchObject({ code: 0 });
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  await store.conversation("cnv_later").append("said later");
  await store.close();
  const [listed, status] = await readAs(path, ["ls", "projections"]);
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed?.stdout).toContain("said later");
  expect(status?.stdout).toMatch(/conversation-list .* 2 behind/);
});

asReader("a store that may only be read is backed up (skipped where the system has no users)", async () => {
  const { path } = demoStore();
  const elsewhere = temporaryFolder();
  chmodSync(elsewhere.path, 0o777);
  const [backup] = await readAs(path, [`store backup ${elsewhere.file("backup.db")}`]);
  expect(backup).toMatchObject({ code: 0 });
  // An erasure names backups that are on record; who may only read cannot write that.
  expect(backup?.stderr).toMatch(/^the store did not record the backup: [^\n]+\n$/);
  expect(backup?.stdout).toContain("66 events");
});

asReader("a command that writes says what it lacks (skipped where the system has no users)", async () => {
  const { path } = demoStore();
  const typed = ["fork @last@12", "resume @last --settle blk_1=rerun", "projections rebuild", "demo -q"];
  for (const { code, stdout, stderr } of await readAs(path, typed)) {
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toMatch(/^turnlog: \S+turnlog\.db cannot be written: give this user write permission on .*\n$/);
  }
});

asReader("a backup is read where it lies (skipped where the system has no users)", async () => {
  const { path, file } = demoStore();
  const { backUpStore } = await import("../../../src/stores/sqlite/backup.ts");
  backUpStore(file("turnlog.db"), file("backup.db"));
  rmSync(file("turnlog.db"));
  copyFileSync(file("backup.db"), file("turnlog.db"));
  expect(await readAs(path, ["verify"])).toMatchObject([{ code: 0 }]);
});

asReader(
  "a log beside the file is read with it, or the store is refused (skipped where the system has no users)",
  async () => {
    const { file, path } = temporaryFolder();
    const writing = [`sqlite:${file("turnlog.db")}`, "1000000", "conversation-cnv_some"];
    const { readTo, kill } = startAside("stores/appending-process.ts", writing);
    await readTo(/./);
    await kill();
    expect(readFileSync(file("turnlog.db-wal")).length).toBeGreaterThan(0);
    expect(await readAs(path, ["ls"])).toMatchObject([{ code: 0 }]);
    chmodSync(path, 0o755);
    rmSync(file("turnlog.db-shm"));
    const [refused] = await readAs(path, ["ls"]);
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect(refused?.stderr).toContain("give this user write permission on");
  },
);

asReader(
  "a reader who may write in the folder leaves nothing there that keeps the owner out (skipped where the system has no users)",
  async () => {
    const { path, file } = demoStore();
    for (const { typed, code } of await readAs(path, ["ls", "verify", `store backup ${file("backup.db")}`], 0o777))
      expect({ typed, code }).toEqual({ typed, code: 0 });
    expect(readdirSync(path).toSorted()).toEqual(["backup.db", "turnlog.db"]);
    const refused = await outputOf([supportFile("stores/opening-process.ts"), file("turnlog.db")]);
    expect(refused).toContain("store-unavailable");
    expect(refused).toContain("give this user write permission on the file and its folder");
    expect(readdirSync(path).toSorted()).toEqual(["backup.db", "turnlog.db"]);
    await using store = await openSqliteStore(file("turnlog.db"));
    await appendPrepared(store, {});
    expect(await readAs(path, ["ls"], 0o777), "while its owner has it open").toMatchObject([{ code: 0 }]);
    await appendPrepared(store, {});
    await store.close();
    expect(readdirSync(path).toSorted()).toEqual(["backup.db", "turnlog.db", "turnlog.db.heads"]);
  },
);

test("what is read without locks is taken back when somebody has written meanwhile", async () => {
  const { file } = temporaryFolder();
  await using store = await openSqliteStore(file("store.db"));
  const { sent } = await appendPrepared(store, { count: 2 });
  expect(openImmutable(file("store.db")), "while its log has content").toBeNull();
  await store.close();
  const settled = openImmutable(file("store.db"));
  onTestFinished(() => settled?.database.close());
  settled?.confirm();
  const version = settled?.version();
  expect(settled?.version()).toBe(version);
  await using other = await openSqliteStore(file("store.db"));
  await appendPrepared(other, { stream: sent.stream, expected: headAfter(sent), count: 1 });
  const refused = (): void => {
    expect(() => settled?.confirm()).toThrow(StoreUnavailableError);
    expect(() => settled?.confirm()).toThrow("another process is writing");
  };
  refused();
  await other.close();
  refused();
  expect(settled?.version()).not.toBe(version);
});

test("a journal that was not rolled back keeps a file from being read without locks", async () => {
  const { file } = temporaryFolder();
  await (await openSqliteStore(file("store.db"))).close();
  writeFileSync(file("store.db-journal"), "");
  openImmutable(file("store.db"))?.database.close();
  expect(openImmutable(file("store.db"))).not.toBeNull();
  writeFileSync(file("store.db-journal"), "not rolled back");
  expect(openImmutable(file("store.db"))).toBeNull();
});

test("a store that may be read only is opened for writing where it can be", async () => {
  const { file } = temporaryFolder();
  await (await openSqliteStore(file("store.db"))).close();
  await using store = await openSqliteStore(file("store.db"), { mayBeReadOnly: true });
  await appendPrepared(store, { count: 1 });
  expect(await all(store.readLog())).toHaveLength(1);
});
