import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { expect } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { asReader, readAs } from "../../support/cli/read-as.ts";
import { outputOf, startAside, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

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
