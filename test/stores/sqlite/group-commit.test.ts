import { expect, test } from "vitest";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { createAppend } from "../../../src/stores/sqlite/append.ts";
import { storeError } from "../../../src/stores/sqlite/errors.ts";
import {
  createGroupCommit,
  type GroupCommit,
  maxGroupAppends,
  maxGroupUnits,
  maxStandStillMs,
} from "../../../src/stores/sqlite/group-commit.ts";
import { openDatabase } from "../../../src/stores/sqlite/open.ts";
import { realTime, type Time } from "../../../src/stores/time.ts";
import { jsonText, prepared } from "../../../src/testing/contracts/prepared.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("shares a transaction among the appends of one turn, and makes none wait for the next", async () => {
  const { group, commits } = await openGroup();
  await Promise.all(Array.from({ length: 64 }, () => group.append(prepared({}))));
  expect(commits()).toBe(1);
  await group.append(prepared({}));
  expect(commits()).toBe(2);
});

test("bounds a transaction, and still answers everybody", async () => {
  const { group, commits } = await openGroup();
  const results = await Promise.all(Array.from({ length: maxGroupAppends + 1 }, () => group.append(prepared({}))));
  expect(results.every((result) => result.status === "appended")).toBe(true);
  expect(commits()).toBe(2);
});

test("lets the event loop turn between two transactions", async () => {
  const { group, commits } = await openGroup();
  const seen = new Set<number>();
  const look = (): void => {
    seen.add(commits());
    if (commits() < 3) setImmediate(look);
  };
  setImmediate(look);
  await Promise.all(Array.from({ length: 3 * maxGroupAppends }, () => group.append(prepared({}))));
  expect([...seen]).toEqual(expect.arrayContaining([1, 2]));
});

test("goes on with what the answers to a transaction bring in, without a turn of the event loop", async () => {
  const { group, commits } = await openGroup({ time: clock(0) });
  await group.append(prepared({}));
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });
  await Promise.all([0, 1].map(() => appendInTurn(group, 5)));
  expect({ turns, commits: commits() }).toEqual({ turns: 0, commits: 6 });
});

test("lets the event loop turn under a writer that never pauses, once its time slice is over", async () => {
  const { group, commits } = await openGroup({ time: clock(maxStandStillMs / 4) });
  const seen: number[] = [];
  const look = (): void => {
    seen.push(commits());
    if (commits() < 20) setImmediate(look);
  };
  setImmediate(look);
  await appendInTurn(group, 20);
  const steps = seen.slice(1).map((count, index) => count - (seen[index] ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(4);
  expect(seen.length).toBeGreaterThanOrEqual(5);
});

test("bounds what a transaction holds, so that big appends do not stop the event loop either", async () => {
  const { group, commits } = await openGroup();
  const big = () => prepared({ data: Array.from({ length: 3 }, () => jsonText(200_000)) });
  expect(maxGroupUnits).toBeLessThan(2 * 600_000);
  await Promise.all(Array.from({ length: 4 }, () => group.append(big())));
  expect(commits()).toBe(4);
});

test("answers a full disk as unavailable, keeps what was there, and goes on when there is room again", async () => {
  const { group, database, count } = await openGroup();
  await group.append(prepared({}));
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() ?? {};
  database.exec(`PRAGMA max_page_count = ${Number(pages) + 3}`);
  const large = Array.from({ length: 3 }, () => prepared({ data: [jsonText(100_000)] }));
  const outcomes = await Promise.allSettled(large.map((one) => group.append(one)));
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: "store-unavailable" } });
  const alone = group.append(prepared({ data: [jsonText(100_000)] }));
  await expect(alone).rejects.toThrow(StoreUnavailableError);
  await expect(alone).rejects.toThrow("the disk is full: free some space");
  expect(count()).toBe(1);
  database.exec("PRAGMA max_page_count = 1000000");
  const results = await Promise.all(large.map((one) => group.append(one)));
  expect(results.every((result) => result.status === "appended")).toBe(true);
  expect(count()).toBe(4);
});

/** One append after another, each as soon as the one before is answered. */
async function appendInTurn(group: GroupCommit, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await group.append(prepared({}));
}

/** A clock that goes on with each look at it. */
function clock(stepMs: number): Time {
  let nowMs = 0;
  return {
    nowMs() {
      nowMs += stepMs;
      return nowMs;
    },
    wait: () => Promise.resolve(),
  };
}

async function openGroup({ time = realTime }: { readonly time?: Time } = {}) {
  const path = temporaryFolder().file("store.db");
  const { database } = openDatabase(path, {});
  let commits = 0;
  const group = createGroupCommit({
    database,
    append: createAppend(database),
    admit: () => undefined,
    deadlineMs: 0,
    time,
    confirmPlace: () => undefined,
    translate: (error) => storeError(error, path),
    onCommit: () => {
      commits += 1;
    },
  });
  const count = (): unknown => database.prepare("SELECT count(*) AS events FROM events").get()?.["events"];
  return { group, database, commits: () => commits, count };
}
