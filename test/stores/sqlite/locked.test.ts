import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { AppendResult } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { createViews } from "../../../src/stores/eventstoredb/views.ts";
import { createAppend } from "../../../src/stores/sqlite/append.ts";
import { storeError } from "../../../src/stores/sqlite/errors.ts";
import { createGroupCommit } from "../../../src/stores/sqlite/group-commit.ts";
import { patiently } from "../../../src/stores/sqlite/guarded.ts";
import { openDatabase } from "../../../src/stores/sqlite/open.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import type { Time } from "../../../src/stores/time.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const key = { stream: "conversation-1", projection: "turn", version: 1 };

/** Another connection to the file, with the one lock for writing, until it is told to let go. */
function lock(path: string): { readonly release: () => void } {
  const other = new DatabaseSync(path);
  onTestFinished(() => {
    other.close();
  });
  other.exec("BEGIN IMMEDIATE");
  let isHeld = true;
  return {
    release: () => {
      if (isHeld) other.exec("COMMIT");
      isHeld = false;
    },
  };
}

/** So many turns of the event loop: where it stands still, nobody can let the lock go. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

test("the event loop turns while another process has the lock, and what waits for it is done then", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { release } = lock(path);
  const done: string[] = [];
  const waiting = [
    appendPrepared(store, {}).then(() => done.push("append")),
    store.snapshots.put(key, { revision: 1, data: "x" }).then(() => done.push("snapshot")),
    store.views.begin("list", 1).then(() => done.push("view")),
  ];
  await turns(10);
  expect(done).toEqual([]);
  expect(await all(store.readLog()), "reading waits for nobody").toEqual([]);
  release();
  await Promise.all(waiting);
  expect(done.toSorted()).toEqual(["append", "snapshot", "view"]);
  expect(await all(store.readLog())).toHaveLength(1);
});

test("appends that come while a lock is waited for are written after it, in their order", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path);
  const { release } = lock(path);
  const first = prepared({});
  const second = prepared({ stream: first.stream, expected: headAfter(first) });
  const one = store.append(first);
  await turns(3);
  const other = store.append(second);
  release();
  expect([await one, await other]).toMatchObject([{ status: "appended" }, { status: "appended" }]);
});

test("a store that is closed while it waits for a lock still writes what it was given, and nothing else", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openSqliteStore(path);
  const { release } = lock(path);
  const appended = appendPrepared(store, {});
  const kept = store.snapshots.put(key, { revision: 1, data: "x" });
  const refused = expect(kept).rejects.toMatchObject({ code: "store-closed" });
  const closed = store.close();
  await turns(3);
  release();
  expect((await appended).result.status).toBe("appended");
  await refused;
  await closed;
  await using again = await openSqliteStore(path);
  expect(await all(again.readLog())).toHaveLength(1);
});

test("a lock that is not released is an error, for appends and for everything else", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path, { deadlineMs: 20 });
  const { release } = lock(path);
  for (const work of [() => appendPrepared(store, {}), () => store.snapshots.put(key, { revision: 1, data: "x" })]) {
    const refused = work();
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    await expect(refused).rejects.toThrow("locked by another process");
  }
  release();
  await appendPrepared(store, {});
});

test.each([
  ["the option", { deadlineMs: 60 }, ""],
  ["the address", {}, "?deadlineMs=60"],
])("a message waits for a lock as long as %s says, repeats included", async (_, options, query) => {
  const path = temporaryFolder().file("store.db");
  const repeats: number[] = [];
  const pause = async (repeat: number): Promise<void> => void repeats.push(repeat);
  await using store = await openStore(`sqlite:${path}${query}`, { ...options, pause });
  expect(store.events.deadlineMs).toBe(60);
  const { release } = lock(path);
  await expect(store.conversation("cnv_locked").append("Hello")).rejects.toThrow("locked by another process");
  expect(repeats).toEqual([]);
  release();
  await store.conversation("cnv_locked").append("Hello");
});

test("opening waits for a lock no longer than its deadline, by a clock that goes on while it waits", async () => {
  let now = 0;
  const time: Time = {
    nowMs: () => now,
    async wait(ms) {
      now += ms;
    },
  };
  let tries = 0;
  const locked = (): never => {
    tries += 1;
    // Each try stands still for a while, which counts.
    now += 5;
    throw Object.assign(new Error("database is locked"), { errcode: 5 });
  };
  await expect(patiently(100, locked, time)).rejects.toThrow("locked");
  expect(now).toBeLessThanOrEqual(110);
  expect(tries).toBeGreaterThan(3);
});

test("an append that is called while others wait for a lock has its own time, from when it is called", async () => {
  const path = temporaryFolder().file("store.db");
  const { database } = openDatabase(path, {});
  onTestFinished(() => database.close());
  let now = 0;
  const { release } = lock(path);
  const group = createGroupCommit({
    ...{ database, append: createAppend(database), admit: () => undefined, confirmPlace: () => undefined },
    ...{ deadlineMs: 100, translate: (error: unknown) => storeError(error, path), onCommit: () => undefined },
    time: {
      nowMs: () => now,
      async wait(ms) {
        now += ms;
        if (now >= 70 && late === null) late = group.append(prepared({}));
        if (now >= 130) release();
        await turns(1);
      },
    },
  });
  let late: Promise<AppendResult> | null = null;
  await expect(group.append(prepared({}))).rejects.toThrow("locked by another process");
  expect(late).not.toBeNull();
  await expect(late).resolves.toMatchObject({ status: "appended" });
});

test("a file of views that another process is making is waited for", async () => {
  const path = temporaryFolder().file("views.db");
  const { release } = lock(path);
  const views = createViews(path, () => undefined);
  const kept = views.snapshots.put(key, { revision: 1, data: "x" });
  await turns(10);
  release();
  await kept;
  expect(await views.snapshots.get(key, 1)).toEqual({ revision: 1, data: "x" });
  views.close();
});
