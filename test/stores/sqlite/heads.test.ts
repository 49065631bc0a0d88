import { chmodSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Head } from "../../../src/log/ports/event-store.ts";
import { parseHeads } from "../../../src/stores/saved-heads.ts";
import { backUpStore, restoreStore } from "../../../src/stores/sqlite/backup.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `notes-${n}`);

/** Appends one event to each of some streams, and closes the store; answers the heads of all. */
async function write(path: string, streams: readonly string[]): Promise<ReadonlyMap<string, Head>> {
  await using store = await openSqliteStore(path);
  for (const stream of streams) await appendPrepared(store, { stream, expected: await store.head(stream) });
  return await headsOf(store);
}

const headsOf = async (store: SqliteStore): Promise<ReadonlyMap<string, Head>> =>
  new Map((await all(store.heads())).map(({ stream, head }) => [stream, head]));

const savedIn = (path: string) => parseHeads(readFileSync(`${path}.heads`, "utf8"));

test("closing a store saves its heads beside it, and adds only what was written since the last time", async () => {
  const path = temporaryFolder().file("store.db");
  const first = await write(path, names(10));
  expect(savedIn(path)).toMatchObject({ heads: first, unreadable: 0 });
  const before = readFileSync(`${path}.heads`, "utf8");
  const second = await write(path, ["notes-3", "notes-new"]);
  expect(savedIn(path)).toMatchObject({ heads: second, unreadable: 0 });
  const after = readFileSync(`${path}.heads`, "utf8");
  expect(after.startsWith(before)).toBe(true);
  expect(parseHeads(`${before.split("\n")[0] ?? ""}\n${after.slice(before.length)}`)?.heads.size).toBe(2);
});

test("heads that were written many times over are written anew", async () => {
  const path = temporaryFolder().file("store.db");
  await write(path, names(2));
  const line = readFileSync(`${path}.heads`, "utf8").split("\n")[1] ?? "";
  const end = readFileSync(`${path}.heads`, "utf8").split("\n").at(-2) ?? "";
  writeFileSync(`${path}.heads`, [...Array.from({ length: 20_000 }, () => line), end, ""].join("\n"), { flag: "a" });
  const heads = await write(path, ["notes-1"]);
  expect(savedIn(path)).toMatchObject({ heads });
  expect(statSync(`${path}.heads`).size).toBeLessThan(1_000);
});

test("a store that was only read saves nothing", async () => {
  const path = temporaryFolder().file("store.db");
  await write(path, []);
  await (await openSqliteStore(path)).close();
  expect(existsSync(`${path}.heads`)).toBe(false);
});

test.each(['{"stream":"notes-0","revision":7,"dig', "\n\n", '{"format":"turnlog-heads","version":1,'])(
  "what a crash left of a line (%j) costs nothing but that line",
  async (rest) => {
    const path = temporaryFolder().file("store.db");
    await write(path, names(10));
    writeFileSync(`${path}.heads`, rest, { flag: "a" });
    const heads = await write(path, ["notes-3"]);
    expect(savedIn(path)).toMatchObject({ heads });
    await using store = await openSqliteStore(path);
    expect(await store.savedHeads?.()).toEqual(heads);
  },
);

test("a process that writes removes what a killed one left while it saved heads, and nothing else", async () => {
  const { path: folder, file } = temporaryFolder();
  const path = file("store.db");
  const uuid = crypto.randomUUID();
  const [gone, fresh] = [`store.db.heads.99999999.${uuid}.tmp`, `store.db.heads.99999998.${uuid}.tmp`];
  const [running, other] = [`store.db.heads.${process.pid}.${uuid}.tmp`, `other.db.heads.99999999.${uuid}.tmp`];
  for (const name of [gone, fresh, running, other]) writeFileSync(file(name), '{"format":"turnlog-heads"');
  const longAgo = new Date(0);
  for (const name of [gone, running, other]) utimesSync(file(name), longAgo, longAgo);
  const left = (): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".tmp"));
  await (await openSqliteStore(path)).close();
  expect(left()).toHaveLength(4);
  await write(path, names(2));
  expect(left().toSorted()).toEqual([fresh, running, other].toSorted());
  utimesSync(file(fresh), longAgo, longAgo);
  await write(path, ["notes-1"]);
  expect(left().toSorted()).toEqual([running, other].toSorted());
});

test("heads of another store that stood here say nothing of this one, and give way to its own", async () => {
  const { file } = temporaryFolder();
  await write(file("other.db"), names(3));
  writeFileSync(file("store.db.heads"), readFileSync(file("other.db.heads")));
  await using store = await openSqliteStore(file("store.db"));
  expect(await store.savedHeads?.()).toEqual(new Map());
  await appendPrepared(store, { stream: "notes-1" });
  const heads = await headsOf(store);
  await store.close();
  expect(savedIn(file("store.db"))).toMatchObject({ storeId: store.storeId, heads });
});

test("a file of that name that is not turnlog's stays unchanged, with a warning", async () => {
  const path = temporaryFolder().file("store.db");
  writeFileSync(`${path}.heads`, "notes");
  const told: string[] = [];
  const store = await openSqliteStore(path, { warn: (message) => told.push(message) });
  await appendPrepared(store, {});
  expect(await store.savedHeads?.()).toEqual(new Map());
  await store.close();
  expect(told.join()).toMatch(/turnlog could not save heads beside .*store\.db.*heads belongs to another program/);
  restoreStore(path, path.replace("store.db", "copy.db"));
  expect(readFileSync(`${path}.heads`, "utf8")).toBe("notes");
});

test("a restored store is compared with nothing that the replaced one had later", async () => {
  const { file } = temporaryFolder();
  await write(file("store.db"), names(3));
  backUpStore(file("store.db"), file("backup.db"));
  await write(file("store.db"), names(3));
  restoreStore(file("backup.db"), file("store.db"), { force: true });
  await using store = await openSqliteStore(file("store.db"));
  expect(await store.savedHeads?.()).toEqual(new Map());
});

const posix = test.skipIf(process.platform === "win32");
posix("heads may be read by who may read the store (skipped on Windows, which has no modes)", async () => {
  const { file } = temporaryFolder();
  for (const mode of [0o600, 0o660]) {
    writeFileSync(file(`store-${mode}.db`), "");
    chmodSync(file(`store-${mode}.db`), mode);
    await write(file(`store-${mode}.db`), ["notes-1"]);
    expect(statSync(file(`store-${mode}.db.heads`)).mode & 0o777).toBe(mode);
  }
});
