import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { StoreReplacedError } from "../../../src/log/ports/store-errors.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared, prepared } from "../../../src/testing/contracts/prepared.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** What may become of a store's file while a process has it open, and what that process is told. */
const harms: readonly (readonly [string, string, (file: (name: string) => string) => void])[] = [
  [
    "deleted",
    "was deleted while it was open here",
    (file) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(file(`store.db${end}`));
    },
  ],
  [
    "moved away",
    "was deleted while it was open here",
    (file) => {
      renameSync(file("store.db"), file("moved.db"));
    },
  ],
  [
    "replaced by another store",
    "was replaced by another file",
    (file) => {
      renameSync(file("other.db"), file("store.db"));
    },
  ],
  [
    "without its log",
    "lost its log",
    (file) => {
      rmSync(file("store.db-wal"));
    },
  ],
];

test.each(harms)(
  "a store that is %s under a running process is an error at the next append, and at the next read",
  async (_, told, harm) => {
    const { file } = temporaryFolder();
    await (await openSqliteStore(file("other.db"))).close();
    await using store = await openSqliteStore(file("store.db"));
    await appendPrepared(store, {});
    harm(file);
    for (const count of [1, 2]) {
      const refused = appendPrepared(store, { count });
      await expect(refused).rejects.toThrow(StoreReplacedError);
      await expect(refused).rejects.toThrow(told);
      await expect(refused).rejects.toThrow("nothing was written; open the store again");
    }
    for (const reading of [
      () => all(store.readLog()),
      () => all(store.readStream("notes-1")),
      () => store.head("notes-1"),
    ]) {
      await expect(reading()).rejects.toThrow(StoreReplacedError);
      await expect(reading()).rejects.toThrow("nothing was read; open the store again");
    }
  },
);

test.each(harms)(
  "a process that only reads learns that its store is %s, a few milliseconds later",
  async (_, told, harm) => {
    const { file } = temporaryFolder();
    await (await openSqliteStore(file("other.db"))).close();
    await using store = await openSqliteStore(file("store.db"));
    const { stream } = prepared();
    await store.head(stream);
    harm(file);
    // Reads of one millisecond share a look at the files.
    await setTimeout(5);
    await expect(store.head(stream)).rejects.toThrow(told);
  },
);

test("a store that was moved away and back again goes on", async () => {
  const { file } = temporaryFolder();
  await using store = await openSqliteStore(file("store.db"));
  renameSync(file("store.db"), file("moved.db"));
  await expect(appendPrepared(store, {})).rejects.toThrow(StoreReplacedError);
  renameSync(file("moved.db"), file("store.db"));
  await appendPrepared(store, {});
});

test("a store behind a link is an error when the link leads to another one", async () => {
  const { file } = temporaryFolder();
  for (const name of ["left", "right"]) mkdirSync(file(name));
  symlinkSync(file("left"), file("current"));
  await using store = await openSqliteStore(file("current/store.db"));
  await appendPrepared(store, {});
  await (await openSqliteStore(file("right/store.db"))).close();
  unlinkSync(file("current"));
  symlinkSync(file("right"), file("current"));
  await expect(appendPrepared(store, {})).rejects.toThrow("was replaced by another file");
});

test("a log that was replaced by another file is an error, also when that file has its name and its content", async () => {
  const { file } = temporaryFolder();
  await using store = await openSqliteStore(file("store.db"));
  await appendPrepared(store, {});
  copyFileSync(file("store.db-wal"), file("copy"));
  renameSync(file("copy"), file("store.db-wal"));
  await expect(appendPrepared(store, { count: 1 })).rejects.toThrow("lost its log");
});

test("a closed store holds no file open", async () => {
  const { file } = temporaryFolder();
  // Where the system does not list them, this compares nothing with nothing.
  const held = (): number => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
  const before = held();
  for (let time = 0; time < 5; time += 1) {
    const store = await openSqliteStore(file("store.db"));
    await appendPrepared(store, { stream: `notes-${time}` });
    await store.close();
  }
  expect(held()).toBe(before);
});

test("a conversation fails at once when its store is gone, without a retry", async () => {
  const { file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("store.db")}`);
  const conversation = store.conversation();
  await conversation.append("hello");
  for (const end of ["", "-wal", "-shm"]) rmSync(file(`store.db${end}`));
  await expect(conversation.append("is anybody there?")).rejects.toThrow(StoreReplacedError);
});
