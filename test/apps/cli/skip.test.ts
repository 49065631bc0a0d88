import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { logDocument } from "../../../src/apps/documents/conversations.ts";
import { skipDocument, verifyDocument } from "../../../src/apps/documents/stores.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

/** A demo's store whose event of that revision is from an unknown future. */
function damagedAt(revision: number): string {
  const { path, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.prepare("UPDATE events SET version = 9 WHERE revision = ?").run(revision);
  database.close();
  return path;
}

test("skip goes on without a damaged event, and the reason is in the log", async () => {
  const cwd = damagedAt(65);
  expect(await turnlogHere(["show", "@last"], { cwd })).toMatchObject({ code: 4 });
  const skipped = await turnlogHere(["skip", "@last@65", "--reason", "a newer one wrote it"], { cwd });
  expect(skipped).toMatchObject({ code: 0, stderr: "" });
  expect(skipped.stdout).toMatch(/^cnv_\w+@65 is skipped\nthe conversation can continue\n$/);
  expect(await turnlogHere(["show", "@last"], { cwd })).toMatchObject({ code: 0 });
  expect((await turnlogHere(["log", "@last"], { cwd })).stdout).toContain("a newer one wrote it");
  const verified = await turnlogHere(["verify"], { cwd });
  expect(verified.code).toBe(0);
  expect(verified.stdout).toMatch(
    /^skipped +cnv_\w+@65 +a newer one wrote it \(its digest does not follow [^\n]*\)\n.*verified: all else sound, 1 event skipped\n$/,
  );
});

test("the log shows who skipped an event and why in its place, and a transcript notes it", async () => {
  const cwd = damagedAt(65);
  await turnlogHere(["skip", "@last@65", "--reason", "a newer one wrote it"], { cwd });
  const { stdout } = await turnlogHere(["log", "@last@60..66"], { cwd });
  expect(stdout.match(/.*skipped by.*/g)).toEqual([
    expect.stringMatching(/^ +65 .* \w+ skipped by operator: a newer one wrote it$/),
  ]);
  const document = readDocument(logDocument, await turnlogHere(["log", "@last@60..66", "--json"], { cwd }));
  const skipped = { by: { kind: "operator" }, reason: "a newer one wrote it", skippedAt: 66 };
  expect(document).toMatchObject({
    events: [60, 61, 62, 63, 64, 65, 66].map((revision) => ({
      ...{ revision, problem: null, skipped: revision === 65 ? skipped : null },
    })),
  });
  const { stderr } = await turnlogHere(["log", "@last", "--transcript"], { cwd });
  expect(stderr).toBe("@65 was skipped by operator: a newer one wrote it\n");
});

test("verify continues after a changed event that was skipped, and reports a change that no operator skipped", async () => {
  const cwd = damagedAt(65);
  await turnlogHere(["skip", "@last@65", "--reason", "a newer one wrote it"], { cwd });
  const change = (sql: string): void => {
    const database = new DatabaseSync(`${cwd}/turnlog.db`);
    database.exec(sql);
    database.close();
  };
  change("UPDATE events SET version = 8 WHERE revision = 65");
  expect((await turnlogHere(["verify"], { cwd })).stdout).toMatch(/^damaged +cnv_\w+@65 /);
  const again = await turnlogHere(["skip", "@last@65", "--reason", "somebody was here"], { cwd });
  expect(again).toMatchObject({ code: 0 });
  expect((await turnlogHere(["verify"], { cwd })).stdout).toMatch(/^skipped +cnv_\w+@65 +somebody was here /);
  change("UPDATE events SET data = replace(data, 'somebody', 'nobody') WHERE revision = 67");
  expect((await turnlogHere(["verify"], { cwd })).stdout).toMatch(/^damaged +cnv_\w+@67 /);
});

test("skip takes the events along that follow from a damaged one, and the conversation can continue", async () => {
  const cwd = damagedAt(29);
  await turnlogHere(["skip", "@last@29", "--reason", "unreadable"], { cwd });
  const all = await turnlogHere(["skip", "@last@29", "--all-that-follow", "--reason", "they hang on it"], { cwd });
  expect(all).toMatchObject({ code: 0, stderr: "" });
  expect(all.stdout).toMatch(/@29 is skipped, and \d\d events that followed from it\nthe conversation can continue\n$/);
  expect(await turnlogHere(["show", "@last"], { cwd })).toMatchObject({ code: 0 });
  const verified = await turnlogHere(["verify"], { cwd });
  expect([verified.code, verified.stdout]).toEqual([
    0,
    expect.stringMatching(/ all else sound, \d\d events skipped\n$/),
  ]);
  expect((await turnlogHere(["append", "@last", "Go on."], { cwd })).code).toBe(0);
});

test("skip says where the damage goes on, and what to do instead", async () => {
  const cwd = damagedAt(29);
  const skipped = await turnlogHere(["skip", "@last@29", "--reason", "unreadable"], { cwd });
  expect(skipped.code).toBe(4);
  expect(skipped.stdout).toMatch(/@29 is skipped\nthe next damage is at revision 30 of [^\n]*: \d\d events to skip\n$/);
  expect(skipped.stderr).toMatch(/`turnlog skip cnv_\w+@29 --all-that-follow --reason …` skips them too\n/);
  const [, fork = ""] = /`turnlog (fork cnv_\w+@28)`/.exec(skipped.stderr) ?? [];
  const forked = await turnlogHere(fork.split(" "), { cwd });
  expect(forked.code).toBe(0);
  expect(await turnlogHere(["show", forked.stdout.trim()], { cwd })).toMatchObject({ code: 0, stderr: "" });
});

test("verify lists what was skipped, with its reason, until something else happens to it", async () => {
  const { path: cwd, file } = demoStore();
  await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const note = store.conversation("cnv_note");
  await note.append("Hello");
  const stream = "conversation-cnv_note";
  const unheard = { event: { type: "Unheard", version: 1, data: {} }, actor: { kind: "app" } } as const;
  await store.log.append(stream, await store.events.head(stream), [unheard]);
  expect((await turnlogHere(["verify", "cnv_note"], { cwd })).code).toBe(4);
  await turnlogHere(["skip", "cnv_note@2", "--reason", "a plugin\nwrote it"], { cwd });
  const verified = await turnlogHere(["verify", "cnv_note"], { cwd });
  expect(verified.code).toBe(0);
  expect(verified.stdout).toMatch(
    /^skipped +cnv_note@2 +a plugin wrote it \([^\n]+\)\n1 stream, 4 events .* verified: all else sound, 1 event skipped\n$/,
  );
  const json = await turnlogHere(["verify", "--json"], { cwd });
  const skipped = [{ stream, conversation: "cnv_note", revision: 2, reason: "a plugin\nwrote it" }];
  expect([json.code, readDocument(verifyDocument, json)]).toMatchObject([0, { isSound: true, problems: [], skipped }]);
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET data = '[]' WHERE type = 'Unheard'");
  database.close();
  const changed = await turnlogHere(["verify", "cnv_note"], { cwd });
  expect([changed.code, changed.stdout]).toEqual([4, expect.stringMatching(/^damaged +cnv_note@2 +its data is not/)]);
});

test.each([
  ["data = replace(data, 'Rome', 'Oslo')", 3, "its data is not what was written"],
  ["at = '2020-01-01T00:00:00.000Z'", 4, "its digest does not follow"],
])(
  "an event that was changed (%s) and still reads stops nothing, and skip says what helps",
  async (change, revision, why) => {
    const { path: cwd, file } = demoStore();
    const database = new DatabaseSync(file("turnlog.db"));
    database.exec(`UPDATE events SET ${change} WHERE revision = ${revision}`);
    database.close();
    const shown = await turnlogHere(["show", "@last"], { cwd });
    expect(shown).toMatchObject({ code: 0 });
    // What costs no more than a digest of what is read; the log and its transcript look at the whole chain.
    const isData = why.includes("data");
    for (const { stdout } of [shown, await turnlogHere(["blame", "@last"], { cwd })])
      expect(stdout.includes(`changed since it was written: @${revision}; \`turnlog verify\` says more\n`)).toBe(
        isData,
      );
    expect(
      (await turnlogHere(["log", "@last"], { cwd })).stdout.split("\n").filter((line) => line.includes(why)),
    ).toEqual([expect.stringMatching(new RegExp(`^ +${revision} `))]);
    const said = await turnlogHere(["log", "@last", "--transcript"], { cwd });
    expect(said.stderr).toBe(`@${revision} was changed: ${said.stderr.split(": ")[1]}`);
    expect(said.stderr).toContain(why);
    const skipped = await turnlogHere(["skip", `@last@${revision}`, "--reason", "changed"], { cwd });
    expect(skipped).toMatchObject({ code: 1, stdout: "" });
    expect(skipped.stderr).toMatch(
      new RegExp(`^turnlog: revision ${revision} of \\S+ was changed \\(.*${why}.*\\) and can still be read`),
    );
    expect(skipped.stderr).toContain(`so no reader stops there, and there is nothing to skip at revision ${revision}`);
    expect(skipped.stderr).toContain("fork from before it, or restore a backup\n");
    expect((await turnlogHere(["fork", `@last@${revision - 1}`], { cwd })).code).toBe(0);
    expect((await turnlogHere(["verify", "@last"], { cwd })).stdout).toContain("all sound");
  },
);

test("skip names the forks that leave the event out too, whose logs tell it", async () => {
  const cwd = damagedAt(65);
  await using store = await openStore(`sqlite:${cwd}/turnlog.db`);
  const names = ["cnv_f1", "cnv_f2", "cnv_f3", "cnv_f4", "cnv_f5", "cnv_f6"];
  const of = await turnlogHere(["skip", "@last@65", "--reason", "a newer one wrote it"], { cwd });
  expect(of.code).toBe(0);
  expect(of.stdout).not.toContain("forks");
  const id = (await store.list()).conversations[0]?.id ?? "";
  for (const name of names) await store.conversation(id).fork(-1, { id: name });
  await store.close();
  const database = new DatabaseSync(`${cwd}/turnlog.db`);
  database.prepare("UPDATE events SET version = 9 WHERE revision = 64").run();
  database.close();
  const skipped = await turnlogHere(["skip", `${id}@64`, "--reason", "so did this one"], { cwd });
  expect(skipped).toMatchObject({ code: 0, stderr: "" });
  expect(skipped.stdout).toContain("left out of its forks, too: cnv_f1, cnv_f2, cnv_f3, cnv_f4, cnv_f5 and 1 more\n");
  const { stdout } = await turnlogHere(["log", "cnv_f6"], { cwd });
  expect(stdout).toMatch(new RegExp(`1 inherited event skipped in ${id}: 64\\n$`));
});

test("skip --json is one document", async () => {
  const cwd = damagedAt(29);
  const outcome = await turnlogHere(["skip", "@last@29", "--reason", "unreadable", "--json"], { cwd });
  expect(readDocument(skipDocument, outcome)).toMatchObject({
    ...{ revision: 29, skipped: [29], forks: [] },
    damage: expect.arrayContaining([expect.objectContaining({ revision: 30 })]) as unknown,
  });
});

test.each([
  ["an event that is sound", ["skip", "@last@28", "--reason", "a guess"], 1, "skip that event, or none"],
  ["an event without a reason", ["skip", "@last@29"], 2, "required option '--reason <text>'"],
  ["a whole conversation", ["skip", "@last", "--reason", "all of it"], 2, "expected one event such as cnv_8f3k@120"],
  ["an event that is not there", ["skip", "@last@1000", "--reason", "none"], 3, "it has the revisions 0 to 65"],
])("skip refuses %s in one line, and writes nothing", async (_, args, code, words) => {
  const cwd = damagedAt(29);
  const outcome = await turnlogHere(args, { cwd });
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toContain(words);
  expect(outcome.stderr.split("\n")).toHaveLength(2);
  expect(await turnlogHere(["skip", "@last@66", "--reason", "none"], { cwd })).toMatchObject({ code: 3 });
});
