import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ConversationId } from "../../../src/domain/ids.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

let path = "";
beforeEach(async () => {
  path = temporaryFolder().file("turnlog.db");
  await using store = new TurnlogStore(await openSqliteStore(path));
  const old = store.conversation("cnv_elder");
  for (const text of ["zero", "one", "two", "three", "four"]) await old.append(text);
  const middle = await old.fork(3, { id: "cnv_middle" });
  for (const text of ["five", "six"]) await middle.append(text);
  const young = await middle.fork(1, { id: "cnv_young" });
  await young.append("seven");
});

test("a fork is verified with what it inherits from each ancestor, and nothing more", async () => {
  expect(await verified("cnv_young")).toEqual(["cnv_elder: 4 events", "cnv_middle: 2 events", "cnv_young: 2 events"]);
  expect(await verified("cnv_middle")).toEqual(["cnv_elder: 4 events", "cnv_middle: 3 events"]);
  expect(await verified("cnv_young", "cnv_elder")).toContain("cnv_elder: 6 events");
  damage("three");
  damage("six");
  expect(await verified("cnv_young")).not.toContainEqual(expect.stringContaining("damaged"));
});

test.each([
  ["one", "cnv_elder@2"],
  ["two", "cnv_elder@3"],
  ["five", "cnv_middle@1"],
])("what was changed in an ancestor is found with the fork that shows it: %s", async (text, place) => {
  damage(text);
  const damaged = (await verified("cnv_young")).filter((line) => line.includes("damaged"));
  expect(damaged).toEqual([expect.stringMatching(`^${place} damaged by chain$`)]);
});

test("an ancestor that is cut off before the fork, head and all, is found", async () => {
  edit("DELETE FROM events WHERE stream = 1 AND revision > 1");
  edit("UPDATE streams SET revision = 1, digest = (SELECT digest FROM events WHERE stream = 1 AND revision = 1)");
  expect(await verified("cnv_middle")).toContain("cnv_middle@0 damaged by fold");
});

test("heads of an ancestor that were saved after the fork say nothing about what is inherited", async () => {
  edit("DELETE FROM events WHERE stream = 1 AND revision > 4");
  await using store = await openSqliteStore(path, { mustExist: true });
  const savedHeads = new Map([["conversation-cnv_elder", { revision: 5, digest: "0".repeat(64) }]]);
  const conversations = ["cnv_middle" as ConversationId];
  for await (const { problem } of verifyStore(store, { codecs, conversations, savedHeads })) expect(problem).toBeNull();
});

function edit(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

const damage = (text: string): void => {
  edit(`UPDATE events SET data = replace(data, '"${text}"', '"zzz"')`);
};

/** A line a stream. */
async function verified(...names: readonly string[]): Promise<readonly string[]> {
  await using store = await openSqliteStore(path, { mustExist: true });
  const conversations = names.map((name) => name as ConversationId);
  const lines: string[] = [];
  for await (const { conversation, events, problem } of verifyStore(store, { codecs, conversations })) {
    const name = conversation ?? "?";
    lines.push(
      problem === null ? `${name}: ${events} events` : `${name}@${problem.revision} damaged by ${problem.kind}`,
    );
  }
  return lines;
}
