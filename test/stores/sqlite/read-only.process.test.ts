import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { openImmutable } from "../../../src/stores/sqlite/immutable-reader.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared, headAfter } from "../../../src/testing/contracts/prepared.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { asReader, readAs } from "../../support/cli/read-as.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

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
