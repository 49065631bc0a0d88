import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** A file as a turnlog wrote it that knew no lines, with one conversation. */
async function oldFile(): Promise<string> {
  const path = temporaryFolder().file("turnlog.db");
  await using store = new TurnlogStore(await openSqliteStore(path), { encoding: "json" });
  await store.conversation("cnv_old").append("Hello");
  await store.close();
  const database = new DatabaseSync(path);
  database.exec("DROP TABLE keys; UPDATE meta SET value = '1' WHERE name = 'schemaVersion'");
  database.close();
  return path;
}

const opened = async (path: string): Promise<TurnlogStore> => new TurnlogStore(await openSqliteStore(path));

async function encodings(store: TurnlogStore, id: `cnv_${string}`): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { encoding } of store.events.readStream(conversationStream(store.conversation(id).id)))
    found.push(encoding);
  return [...new Set(found)];
}

function schemaOf(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare("SELECT value FROM meta WHERE name = 'schemaVersion'").get();
  database.close();
  return String(row?.["value"]);
}

test("a file of an older turnlog is read and written as it is, until a conversation begins", async () => {
  const path = await oldFile();
  await using store = await opened(path);
  await store.conversation("cnv_old").append("Hello again");
  expect(schemaOf(path)).toBe("1");
  await store.conversation("cnv_new").append("Hello");
  expect(schemaOf(path)).toBe("2");
  expect(await encodings(store, "cnv_new")).toEqual(["lines"]);
  await store.conversation("cnv_old").append("And again");
  expect(await encodings(store, "cnv_old")).toEqual(["json"]);
  expect(await verification(store.events, { codecs })).toMatchObject({ isSound: true, streams: 2 });
});

test("while another connection has such a file open, new conversations are written as before", async () => {
  const path = await oldFile();
  await using store = await opened(path);
  await using other = await opened(path);
  await other.conversation("cnv_old").append("I am here");
  await store.conversation("cnv_meanwhile").append("Hello");
  expect(schemaOf(path)).toBe("1");
  expect(await encodings(store, "cnv_meanwhile")).toEqual(["json"]);
  // Nothing of the attempt is left in the way of either.
  await other.conversation("cnv_other").append("Hello");
  await other.close();
  await store.conversation("cnv_later").append("Hello");
  expect(schemaOf(path)).toBe("2");
  expect(await encodings(store, "cnv_later")).toEqual(["lines"]);
  expect(await verification(store.events, { codecs })).toMatchObject({ isSound: true });
});

test("a fork is written as its parent is, in a file that takes lines", async () => {
  const path = await oldFile();
  await using store = await opened(path);
  await store.conversation("cnv_new").append("Hello");
  await store.conversation("cnv_old").fork(-1, { id: "cnv_fork" });
  await store.conversation("cnv_new").fork(-1, { id: "cnv_other" });
  await store.conversation("cnv_fork").append("Hello");
  expect(await encodings(store, "cnv_fork")).toEqual(["json"]);
  expect(await encodings(store, "cnv_other")).toEqual(["lines"]);
});

test("a program may ask for conversations that every store takes", async () => {
  await using store = new TurnlogStore(await openSqliteStore(":memory:"), { encoding: "json" });
  await store.conversation("cnv_json").append("Hello");
  expect(await encodings(store, "cnv_json")).toEqual(["json"]);
});
