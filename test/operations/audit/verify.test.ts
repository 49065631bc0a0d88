import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { blockToJson } from "../../../src/domain/block-json.ts";
import type { BlockNames } from "../../../src/domain/block-names.ts";
import { blockIdSchema, conversationIdSchema } from "../../../src/domain/ids.ts";
import { user } from "../../../src/domain/make-block.ts";
import { chainDigest, firstPrevious } from "../../../src/log/codec/envelope.ts";
import { namesOf } from "../../../src/log/codec/stream-names.ts";
import type { Head, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { type StreamReport, type VerifyOptions, verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { createSoundStore } from "../../support/audit/sound-store.ts";
import { changedData } from "../../support/log/changed-data.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const journey = "conversation-cnv_journey";
const folder = mkdtempSync(join(tmpdir(), "turnlog-"));
const sound = join(folder, "sound.db");

beforeAll(() => createSoundStore(sound));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("finds nothing wrong with what the engine wrote", async () => {
  const reports = await verified(sound);
  expect(reports.map(({ stream, problem }) => [stream.replace(/-[0-9a-f]{64}$/, ""), problem])).toEqual([
    ["blob-cnv_meeting", null],
    [journey, null],
    ["conversation-cnv_meeting", null],
    ["conversation-cnv_note", null],
  ]);
  expect(reports.map(({ requests }) => requests)).toEqual([0, 6, 1, 0]);
});

test("looks at the named conversations and their blobs only", async () => {
  const reports = await verified(sound, { conversations: [conversationIdSchema.parse("cnv_meeting")] });
  expect(reports.map(({ conversation }) => conversation)).toEqual([null, "cnv_meeting"]);
});

test("finds a tail that was cut together with its head, by heads that were saved before", async () => {
  const path = copy();
  const savedHeads = headsOf(await verified(path));
  edit(path, (database) => {
    database.exec(
      "DELETE FROM events WHERE stream = (SELECT number FROM streams WHERE name LIKE '%journey') AND revision > 40",
    );
    const digest = database.prepare("SELECT digest FROM events WHERE revision = 40").get()?.["digest"];
    database.prepare("UPDATE streams SET revision = 40, digest = ? WHERE name = ?").run(String(digest), journey);
  });
  expect(problems(await verified(path)), "by those of the store").toEqual([`${journey}@41 head`]);
  rmSync(`${path}.heads`);
  expect(problems(await verified(path))).toEqual([]);
  expect(problems(await verified(path, { savedHeads }))).toEqual([`${journey}@41 head`]);
});

test("finds a stream that is gone, by heads that were saved before", async () => {
  const path = copy();
  const savedHeads = headsOf(await verified(path));
  edit(path, (database) => {
    database.exec("DELETE FROM events WHERE stream = (SELECT number FROM streams WHERE name LIKE '%note')");
    database.exec("DELETE FROM streams WHERE name LIKE '%note'");
  });
  expect(problems(await verified(path)), "by those of the store").toEqual(["conversation-cnv_note@0 head"]);
  rmSync(`${path}.heads`);
  expect(problems(await verified(path))).toEqual([]);
  expect(problems(await verified(path, { savedHeads }))).toEqual(["conversation-cnv_note@0 head"]);
});

test("finds events whose stream is gone", async () => {
  const path = copy();
  edit(path, (database) => {
    database.exec("DELETE FROM streams WHERE name LIKE '%journey'");
  });
  const [number] = /\d+/.exec(problems(await verified(path)).join()) ?? [];
  expect(problems(await verified(path))).toEqual([`stream number ${number}@0 head`]);
  expect(problems(await verified(path, { conversations: [conversationIdSchema.parse("cnv_note")] }))).toEqual([]);
});

test("finds a history that was written anew, by heads that were saved before", async () => {
  const path = copy();
  const savedHeads = headsOf(await verified(path));
  const forged = Block.named(user("Just a joke").withId(joke), await namesIn(path, "conversation-cnv_note"));
  await rewrite(path, "conversation-cnv_note", 1, () => ({ block: blockToJson(forged) }));
  expect(problems(await verified(path)), "by those of the store").toEqual(["conversation-cnv_note@1 head"]);
  rmSync(`${path}.heads`);
  expect(problems(await verified(path))).toEqual([]);
  expect(problems(await verified(path, { savedHeads }))).toEqual(["conversation-cnv_note@1 head"]);
});

test("goes on after saved heads, which later events do not contradict", async () => {
  const reports = await verified(sound);
  const savedHeads = new Map([[journey, { revision: 3, digest: digestAt(sound, 3) }]]);
  expect(problems(await verified(sound, { savedHeads }))).toEqual([]);
  expect(reports.length).toBeGreaterThan(1);
});

test("finds a changed byte that reads as the same text", async () => {
  const path = copy();
  edit(path, (database) => {
    const select = database.prepare(
      "SELECT position, CAST(data AS BLOB) AS bytes FROM events WHERE data LIKE '%Just a note%'",
    );
    const row = select.get();
    const bytes = Buffer.from(row?.["bytes"] instanceof Uint8Array ? row["bytes"] : []);
    const index = bytes.indexOf("\u{fffd}");
    // U+FFFD is EF BF BD; F0 BF BD is the beginning of another character, and reads as U+FFFD.
    bytes[index] = 0xf0;
    expect(bytes.toString()).toContain("Just a note \u{fffd}");
    database
      .prepare("UPDATE events SET data = CAST(? AS TEXT) WHERE position = ?")
      .run(bytes, Number(row?.["position"]));
  });
  expect(problems(await verified(path))).toEqual(["conversation-cnv_note@1 chain"]);
});

test.each([
  ["an edit that gives another Turn", "TurnEdited", { after: "0".repeat(64) }, "fold"],
  ["settings that are not what their digest names", "SettingsDeclared", { settings: { model: "other" } }, "fold"],
  ["a request that was sent with another body", "InferenceRequested", { requestDigest: "0".repeat(64) }, "request"],
  ["a request of another length", "InferenceRequested", { requestBytes: 1 }, "request"],
  ["a request by an unknown encoder", "InferenceRequested", { encoder: "other/1" }, "codec"],
  ["data that is not of its schema", "RunStarted", { epoch: "first" }, "unreadable"],
] as const)("finds %s, although the hash chain is right", async (_, type, change, kind) => {
  const path = copy();
  const revision = firstOf(path, type);
  await rewrite(path, journey, revision, (data) => ({ ...data, ...change }));
  expect(problems(await verified(path))).toEqual([`${journey}@${revision} ${kind}`]);
});

test("finds a request that the server held otherwise than was recorded", async () => {
  const path = copy();
  const revision = firstOf(path, "InferenceRequested");
  await rewrite(
    path,
    journey,
    revision,
    (data) => data,
    (text) => text.replace(/"held":"[0-9a-f]{64}"/, `"held":"${"1".repeat(64)}"`),
  );
  expect(problems(await verified(path))).toEqual([`${journey}@${revision} request`]);
});

test.each(["BlockAppended", "TurnEdited", "ResponseReceived", "ToolFinished"])(
  "finds a block of %s under another digest than its own, although the hash chain is right",
  async (type) => {
    const path = copy();
    const revision = firstOf(path, type, '%"digest":%"payload":%');
    const other = (text: string): string =>
      text.replace(/"digest":"[0-9a-f]{64}","payload"/, `"digest":"${"0".repeat(64)}","payload"`);
    await rewrite(path, journey, revision, (data) => data, other);
    expect(problems(await verified(path))).toEqual([`${journey}@${revision} fold`]);
  },
);

test("finds a block that differs under its digest, although the hash chain is right", async () => {
  const path = copy();
  await rewrite(
    path,
    "conversation-cnv_note",
    1,
    (data) => data,
    (text) => text.replace("a note", "a joke"),
  );
  expect(problems(await verified(path))).toEqual(["conversation-cnv_note@1 fold"]);
});

test("finds an event of a kind that it does not know", async () => {
  const path = copy();
  const revision = firstOf(path, "RunCompleted");
  await rewrite(
    path,
    journey,
    revision,
    (data) => data,
    (text) => text,
    "RunForgotten",
  );
  expect(problems(await verified(path))).toEqual([`${journey}@${revision} unreadable`]);
});

test("finds that a blob which an event names is gone", async () => {
  const path = copy();
  edit(path, (database) => {
    database.exec("DELETE FROM events WHERE stream = (SELECT number FROM streams WHERE name LIKE 'blob-%')");
    database.exec("DELETE FROM streams WHERE name LIKE 'blob-%'");
  });
  expect(problems(await verified(path))).toEqual(["conversation-cnv_meeting@1 unreadable"]);
});

test("says nothing about a store that cannot be read", async () => {
  const store = await openSqliteStore(copy(), { mustExist: true });
  const reports = verifyStore(store, { codecs })[Symbol.asyncIterator]();
  await reports.next();
  await store.close();
  await expect(reports.next()).rejects.toMatchObject({ code: "store-closed" });
});

function copy(): string {
  const path = temporaryFolder().file("turnlog.db");
  copyFileSync(sound, path);
  return path;
}

function edit(path: string, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path);
  work(database);
  database.close();
}

const joke = blockIdSchema.parse("blk_joke_0000000000001");

const firstOf = (path: string, type: string, data = "%"): number =>
  numberOf(
    path,
    `SELECT min(events.revision) AS found FROM events JOIN streams ON number = stream
     WHERE name = ? AND type = ? AND data LIKE ?`,
    [journey, type, data],
  );
const digestAt = (path: string, revision: number): string => {
  const database = new DatabaseSync(path);
  const row = database
    .prepare(
      "SELECT events.digest AS found FROM events JOIN streams ON number = stream WHERE name = ? AND events.revision = ?",
    )
    .get(journey, revision);
  database.close();
  return String(row?.["found"]);
};

function numberOf(path: string, sql: string, parameters: readonly string[]): number {
  const database = new DatabaseSync(path);
  const row = database.prepare(sql).get(...parameters);
  database.close();
  return Number(row?.["found"]);
}

/** Changes one event and recomputes the whole chain, as any user with write access to the file can. */
async function rewrite(
  path: string,
  stream: string,
  revision: number,
  change: (data: JsonObject) => JsonObject,
  changeText: (text: string) => string = (text) => text,
  type?: string,
): Promise<void> {
  const envelopes: StoredEnvelope[] = [];
  {
    await using store = await openSqliteStore(path, { mustExist: true });
    for await (const envelope of store.readStream(stream)) envelopes.push(envelope);
  }
  edit(path, (database) => {
    const update = database.prepare(
      "UPDATE events SET type = ?, data = ?, data_digest = ?, digest = ? WHERE position = ?",
    );
    let previous = firstPrevious(stream);
    for (const { position, digest: _, ...envelope } of envelopes) {
      const isIt = envelope.revision === revision;
      const written = isIt ? changedData(envelope, change, changeText) : envelope;
      const { data, dataDigest } = written;
      const sealed = { ...envelope, type: isIt ? (type ?? envelope.type) : envelope.type, dataDigest };
      previous = chainDigest(previous, sealed);
      update.run(sealed.type, data, sealed.dataDigest, previous, position);
    }
    database.prepare("UPDATE streams SET digest = ? WHERE name = ?").run(previous, stream);
  });
}

async function verified(path: string, options: Partial<VerifyOptions> = {}): Promise<readonly StreamReport[]> {
  await using store = await openSqliteStore(path, { mustExist: true });
  const reports: StreamReport[] = [];
  for await (const report of verifyStore(store, { codecs, ...options })) reports.push(report);
  return reports;
}

const headsOf = (reports: readonly StreamReport[]): ReadonlyMap<string, Head> =>
  new Map(reports.flatMap(({ stream, head }) => (head === null ? [] : [[stream, head]])));

const problems = (reports: readonly StreamReport[]): readonly string[] =>
  reports.flatMap(({ stream, problem }) => (problem === null ? [] : [`${stream}@${problem.revision} ${problem.kind}`]));

/** The names that the keys of a store give. */
async function namesIn(path: string, stream: string): Promise<BlockNames> {
  await using store = await openSqliteStore(path);
  return await namesOf(store, stream);
}
