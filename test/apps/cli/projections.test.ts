import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { withRows } from "../../../src/analysis/lists/rows.ts";
import { quarantineDocument, statusDocument } from "../../../src/apps/documents/stores.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import type { Outcome } from "../../support/outcome.ts";
import { changedStore, rowsFromScratch, rowsOf } from "../../support/read-models/rows.ts";
import { surroundedViews } from "../../support/read-models/surrounded-views.ts";
import { beyond, said, started, write } from "../../support/read-models/written-log.ts";

const demoStore = useDemoStore();
const run = (cwd: string, typed: string): Promise<Outcome> => turnlogHere(typed.split(" "), { cwd });

test("status tells what is not built, what is behind and what is up to date", async () => {
  const { path: cwd, file } = demoStore();
  expect((await run(cwd, "projections")).stdout).toMatch(/conversation-list +not built yet +0 events +66 behind/);
  await run(cwd, "projections rebuild conversation-list");
  const built = await run(cwd, "projections status");
  expect(built).toMatchObject({ code: 0, stderr: "" });
  expect(built.stdout).toMatch(/conversation-list +version 8 +66 events +up to date\nusage +not built yet/);
  await using store = await openSqliteStore(file("turnlog.db"));
  await write(store, [started("late"), said("late")]);
  expect((await run(cwd, "projections status conversation-list")).stdout).toMatch(/66 events +2 behind/);
});

test("ls reads the list, and takes in what came since it was last read", async () => {
  const { path: cwd, file } = demoStore();
  expect((await run(cwd, "ls")).stdout).toMatch(/^cnv_\w+ .* 66 events +8 requests +~\d+ % saved +A journey/);
  await using store = await openSqliteStore(file("turnlog.db"));
  await write(store, [started("late"), said("late", "Any news?")]);
  const { stdout } = await run(cwd, "ls");
  // Its events are dated before those of the demo.
  expect(stdout).toMatch(/^cnv_\w+ .* A journey.*\ncnv_late .* 2 events +0 requests +Any news\?/);
  expect((await run(cwd, "ls -n 1")).stderr).toContain("1 more, older");
});

test("verify names a conversation that ls shows otherwise than its events are, until it is rebuilt", async () => {
  const { path: cwd, file } = demoStore();
  expect((await run(cwd, "ls")).stdout).toContain("A journey");
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE view_rows SET view = replace(view, 'A journey', 'An innocent chat')");
  database.close();
  expect((await run(cwd, "ls")).stdout).toContain("An innocent chat");
  const verified = await run(cwd, "verify");
  expect([verified.code, verified.stdout]).toEqual([
    4,
    expect.stringMatching(/^damaged +cnv_\w+@65 +the events are right, but conversation-list differs from them: /),
  ]);
  await run(cwd, "projections rebuild");
  expect((await run(cwd, "verify")).stdout).toContain("all sound");
});

test("shows what is in quarantine, by every read model, and makes it whole after a repair", async () => {
  const { path: cwd, file } = demoStore();
  await (async () => {
    await using store = await openSqliteStore(file("turnlog.db"));
    await write(store, [
      started("bad_"),
      ...Object.values(beyond("bad_")),
      started("good"),
      said("good", "All is well"),
    ]);
  })();
  const { stdout } = await run(cwd, "projections quarantine conversation-list");
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(Object.keys(beyond("bad_")).length);
  for (const [index, { type, version }] of Object.values(beyond("bad_")).entries())
    expect(lines[index]).toContain(`cnv_bad_@${index + 1}  ${type} version ${version}`);
  const { degraded } = readDocument(quarantineDocument, await run(cwd, "projections quarantine --json"));
  const statuses = readDocument(statusDocument, await run(cwd, "projections --json")).projections;
  const lacking = statuses.filter((status) => status.degraded > 0).map(({ name }) => name);
  expect(lacking).not.toEqual([]);
  expect(degraded.map(({ projection }) => projection)).toEqual(lacking);
  for (const { conversation, events, first } of degraded) {
    expect({ conversation, events }).toEqual({ conversation: "cnv_bad_", events: lines.length });
    for (const { stream, reason } of first) {
      expect(stream).toBe("conversation-cnv_bad_");
      expect(reason).not.toBe("");
    }
  }
  const listed = (await run(cwd, "ls")).stdout;
  expect(listed).toContain("[damaged]");
  expect(listed).toMatch(/cnv_good .* All is well/);
  expect(await run(cwd, "projections retry cnv_bad_")).toMatchObject({ code: 4 });
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec(
    "DELETE FROM events WHERE stream = (SELECT number FROM streams WHERE name = 'conversation-cnv_bad_') AND revision > 0",
  );
  database.close();
  const retried = await run(cwd, "projections retry");
  expect(retried).toMatchObject({ code: 0, stderr: "" });
  expect(retried.stdout).toMatch(
    /conversation-list +cnv_bad_ +whole again\nusage +cnv_bad_ +whole again\nbill +cnv_bad_ +whole again\ncache +cnv_bad_ +whole again\nsearch-texts +cnv_bad_ +whole again\n/,
  );
  expect(await run(cwd, "projections quarantine")).toMatchObject({ stdout: "", stderr: "no event is in quarantine\n" });
  const again = await run(cwd, "projections retry cnv_bad_");
  expect(again.stdout).toMatch(
    /conversation-list +cnv_bad_ +lacked nothing, made anew\nusage +cnv_bad_ +lacked nothing, made anew\nbill +cnv_bad_ +lacked nothing, made anew\ncache +cnv_bad_ +lacked nothing, made anew\nsearch-texts +cnv_bad_ +lacked nothing/,
  );
  expect(await run(cwd, "projections retry")).toMatchObject({ code: 0, stderr: "there was nothing to retry\n" });
});

test.each([
  ["projections list", 2, /there is no projection 'list': .* `turnlog help projections` lists their commands/],
  ["projections rebuild users", 2, /there is no projection 'users': there are conversation-list and usage/],
  ["projections retry cnv_nobody", 3, /there is no conversation 'cnv_nobody'/],
])("refuses %s", async (typed, code, message) => {
  const outcome = await run(demoStore().path, typed);
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toMatch(message);
});

test("an ls of an older turnlog leaves newer rows as they are, and says who is to be updated", async () => {
  const { path: cwd, file } = demoStore();
  await run(cwd, "ls");
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE view_builds SET version = 99");
  database.close();
  const outcome = await run(cwd, "ls");
  expect(outcome).toMatchObject({ code: 6, stdout: "" });
  expect(outcome.stderr).toMatch(/a newer turnlog made the rows of conversation-list .*update turnlog/);
});

test("makes rows for one time where they cannot be kept", async () => {
  await using store = createMemoryStore();
  await write(store, [started("one1"), said("one1")]);
  const wanted = await rowsFromScratch(store, conversationList);
  const refuse = (): never => {
    throw new StoreUnavailableError("this file may only be read");
  };
  const readOnly = changedStore(store, {
    views: { ...surroundedViews(store.views, (step) => step()), begin: refuse, save: refuse },
  });
  expect(await withRows(readOnly, conversationList, rowsOf)).toEqual(wanted);
  const { views: _, ...without } = store;
  const bare: EventStore = { ...without, [Symbol.asyncDispose]: () => store.close() };
  expect(await withRows(bare, conversationList, rowsOf)).toEqual(wanted);
  expect(await store.views.builds("conversation-list")).toEqual([]);
});
