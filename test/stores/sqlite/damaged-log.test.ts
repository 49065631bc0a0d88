import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, appendPrepared, headAfter } from "../../../src/testing/contracts/prepared.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const streams = ["notes-a", "notes-b", "notes-c"];
const frameBytes = 24 + 8_192;

async function problems(store: SqliteStore): Promise<readonly string[]> {
  const reports = await all(verifyStore(store, { codecs: new Map() }));
  return reports.filter(({ problem }) => problem !== null).map(({ stream }) => stream);
}

const lengths = async (store: SqliteStore): Promise<readonly number[]> =>
  Promise.all(streams.map(async (stream) => ((await store.head(stream))?.revision ?? -1) + 1));

async function verified(path: string) {
  await using store = await openSqliteStore(path, { mustExist: true });
  return { lengths: await lengths(store), problems: await problems(store) };
}

/**
 * The files of a store as they stand when its process is killed: all that was written is in the log, and heads were saved
 * after it, by a sound `verify` or by another process that closed the store.
 */
async function killedStore(savedBy: "verify" | "close") {
  const { file } = temporaryFolder();
  await using store = await openSqliteStore(file("store.db"));
  // A reader of an earlier state keeps what comes after in the log, whichever process closes the store meanwhile.
  using reader = new DatabaseSync(file("store.db"));
  reader.exec("BEGIN; SELECT * FROM events");
  for (let round = 0; round < 4; round += 1) {
    for (const stream of streams) {
      await appendPrepared(store, { stream, expected: await store.head(stream), count: 1 + round });
    }
  }
  if (savedBy === "verify") expect(await problems(store)).toEqual([]);
  else {
    const other = await openSqliteStore(file("store.db"));
    await appendPrepared(other, { stream: "notes-a", expected: await other.head("notes-a") });
    await other.close();
  }
  const written = await lengths(store);
  const [there, log, heads] = ["", "-wal", ".heads"].map((end) => readFileSync(file(`store.db${end}`)));
  let copies = 0;
  return {
    written,
    log: log ?? Buffer.alloc(0),
    /** The same with another log, in a place of its own. */
    copyWith: (damaged: Uint8Array): string => {
      copies += 1;
      const path = file(`copy-${copies}.db`);
      writeFileSync(path, there ?? "");
      writeFileSync(`${path}.heads`, heads ?? "");
      writeFileSync(`${path}-wal`, damaged);
      return path;
    },
  };
}

/** The log with its end cut off, or with one byte changed, at so many places from the end on. */
function* damages(log: Buffer): Iterable<readonly [string, Buffer]> {
  for (let back = 1; back < log.length; back += Math.floor(frameBytes / 2) + 7) {
    yield [`cut ${back} bytes before its end`, log.subarray(0, log.length - back)];
    const flipped = Buffer.from(log);
    flipped.writeUInt8(flipped.readUInt8(log.length - back) ^ 0x10, log.length - back);
    yield [`flipped ${back} bytes before its end`, flipped];
  }
}

test.each(["verify", "close"] as const)(
  "verify finds what SQLite drops in silence with a damaged end of its log, by the heads that a %s saved",
  async (savedBy) => {
    const { written, log, copyWith } = await killedStore(savedBy);
    let losses = 0;
    for (const [damage, damaged] of damages(log)) {
      const found = await verified(copyWith(damaged)).catch((error: unknown) => {
        // Not in silence: there is no store any more, or not all of it can be read.
        expect(error, damage).toMatchObject({
          code: expect.stringMatching(/^store-(corrupted|not-found)$/) as unknown,
        });
        return null;
      });
      if (found === null) continue;
      const lost = streams.filter((_, index) => (found.lengths[index] ?? 0) < (written[index] ?? 0));
      expect(found.problems, damage).toEqual(lost);
      if (lost.length > 0) losses += 1;
    }
    expect(losses).toBeGreaterThan(20);
  },
);

test("a loss is reported until it is accepted, whatever is written after it", async () => {
  const { log, copyWith } = await killedStore("verify");
  const path = copyWith(log.subarray(0, log.length - 1));
  const reopened = async (work: (store: SqliteStore) => Promise<unknown>): Promise<unknown> => {
    await using store = await openSqliteStore(path);
    return await work(store);
  };
  await reopened(async (store) => {
    const { sent } = await appendPrepared(store, {
      stream: "notes-c",
      expected: await store.head("notes-c"),
      count: 9,
    });
    await appendPrepared(store, { stream: "notes-c", expected: headAfter(sent) });
  });
  for (const _ of [1, 2]) expect(await reopened(problems)).toEqual(["notes-c"]);
  rmSync(`${path}.heads`);
  for (const _ of [1, 2]) expect(await reopened(problems)).toEqual([]);
  expect(existsSync(`${path}.heads`)).toBe(true);
});
