import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import type { StoreWithLiveness } from "../../../src/entries/store.ts";
import { thisProcess } from "../../../src/log/writer/owner.ts";
import { backUpStore } from "../../../src/stores/sqlite/backup.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/stores/sqlite/store.ts";
import { startAside, supportFile } from "../../support/process.ts";
import { describeLiveness } from "../../support/stores/contract.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const paths = new WeakMap<StoreWithLiveness, string>();

async function openIn(path: string): Promise<StoreWithLiveness> {
  const { liveness, ...store } = await openSqliteStore(path);
  if (liveness === undefined) throw new Error("a store in a file tells who lives");
  const opened = { ...store, liveness };
  paths.set(opened, path);
  return opened;
}

describeLiveness(
  "the sqlite store",
  () => openIn(temporaryFolder().file("store.db")),
  (store) => openIn(paths.get(store) ?? ""),
);

test("a store in memory needs no lease: only this process has it", async () => {
  await using store = await openSqliteStore(":memory:");
  expect(store.liveness).toBeUndefined();
});

const isAlive = async ({ liveness }: SqliteStore, leaseId: string): Promise<boolean> =>
  (await liveness?.isAlive(leaseId)) ?? false;

/** Another process that holds a lease of a store. */
async function holderOf(path: string) {
  const aside = startAside("stores/holding-process.ts", [path]);
  const [line = ""] = await aside.readTo(/^holds /);
  return { ...aside, leaseId: line.split(" ")[1] ?? "" };
}

test("a process that was killed is known to be dead at once, and its file is removed", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { leaseId, kill } = await holderOf(path);
  expect(await isAlive(store, leaseId)).toBe(true);
  await kill();
  expect(existsSync(`${path}.alive-${leaseId}`)).toBe(true);
  expect(await isAlive(store, leaseId)).toBe(false);
  expect(existsSync(`${path}.alive-${leaseId}`)).toBe(false);
});

test("a process that is stopped, as a suspended machine's are, is alive", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { leaseId, child } = await holderOf(path);
  child.kill("SIGSTOP");
  expect(await isAlive(store, leaseId)).toBe(true);
  child.kill("SIGCONT");
});

test("the next process that runs removes the files of killed processes, and no others", async () => {
  const folder = temporaryFolder();
  const path = folder.file("store.db");
  await using store = await openSqliteStore(path);
  const [killed, living] = await Promise.all([holderOf(path), holderOf(path)]);
  await killed.kill();
  const own = await store.liveness?.hold();
  const files = readdirSync(folder.file(".")).filter((name) => name.includes(".alive-"));
  expect(files.toSorted()).toEqual([`store.db.alive-${own}`, `store.db.alive-${living.leaseId}`].toSorted());
  expect(await isAlive(store, living.leaseId)).toBe(true);
});

test("a thread that was terminated holds nothing any more, while its process lives", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const thread = new Worker(supportFile("stores/holding-thread.ts"), { workerData: path });
  onTestFinished(async () => {
    await thread.terminate();
  });
  const leaseId = String((await once(thread, "message"))[0]);
  expect(await isAlive(store, leaseId)).toBe(true);
  await thread.terminate();
  expect(await isAlive(store, leaseId)).toBe(false);
});

test("no lease is left by a closed store, by readers, or in a backup", async () => {
  const folder = temporaryFolder();
  const path = folder.file("store.db");
  const store = await openSqliteStore(path);
  const leaseId = (await store.liveness?.hold()) ?? "";
  const reader = await openSqliteStore(path, { mustExist: true, mayBeReadOnly: true });
  expect(await isAlive(reader, leaseId)).toBe(true);
  await reader.close();
  backUpStore(path, folder.file("backup.db"));
  const names = readdirSync(folder.file(".")).filter((name) => name.includes(".alive-"));
  expect(names).toEqual([`store.db.alive-${leaseId}`]);
  await store.close();
  expect(readdirSync(folder.file(".")).filter((name) => name.includes(".alive-"))).toEqual([]);
});

test("a lease has the mode of its store, so that every user who may write the store can check the lease", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const leaseId = await store.liveness?.hold();
  expect(statSync(`${path}.alive-${leaseId}`).mode).toBe(statSync(path).mode);
});

test("of a copied file the owner is known to be gone: it does not write there", async () => {
  const folder = temporaryFolder();
  const path = folder.file("store.db");
  const store = await openSqliteStore(path);
  const leaseId = (await store.liveness?.hold()) ?? "";
  copyFileSync(path, folder.file("copy.db"));
  await using copy = await openSqliteStore(folder.file("copy.db"));
  expect(await isAlive(copy, leaseId)).toBe(false);
  expect(thisProcess()).not.toHaveProperty("lease");
  await store.close();
});
