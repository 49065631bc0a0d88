import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { backupDocument, copyDocument, exportDocument } from "../../../src/apps/documents/stores.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** One line that begins with the program's name, on stderr alone. */
function expectRefusal({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
  expect({ code, stdout, stderr }).toMatchObject({ code: expected, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^turnlog: [^\n]+\n$/);
}

const demoStore = useDemoStore();

function place() {
  const { path: cwd, file } = demoStore();
  const run = (typed: string): Promise<Outcome> =>
    turnlogHere(
      typed.split(" ").map((word) => word.replace(/^FILE:/, `${cwd}/`).replace(/^STORE:/, `sqlite:${cwd}/`)),
      { cwd },
    );
  return { cwd, file, run };
}

const ok = (outcome: Outcome): string => {
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return outcome.stdout;
};

/** The same of a command that had to make its store, which it says. */
const okAnew = ({ stderr, ...outcome }: Outcome): string => {
  expect(stderr).toMatch(/^a new store was made: [^\n]+\n$/);
  return ok({ ...outcome, stderr: "" });
};

const copiedEvents = (outcome: Outcome) => {
  const { conversations, blobs, events } = readDocument(copyDocument, outcome);
  expect(blobs).toBe(0);
  expect(conversations).toMatchObject([{ revision: 65, events }]);
  return events;
};

test("copy says what it copied, and that a second one had nothing to do", async () => {
  const { run } = place();
  expect(okAnew(await run("copy --to STORE:copy.db"))).toBe("1 conversation, 66 events copied and verified\n");
  expect(ok(await run("copy @last --to STORE:copy.db"))).toBe(
    "0 conversations, 0 events copied and verified; 1 already there\n",
  );
  expect(copiedEvents(await run("copy --to STORE:json.db --json"))).toBe(66);
  expect(copiedEvents(await run("copy --from STORE:json.db --to STORE:copy.db --json"))).toBe(0);
  expect(ok(await run("verify --store STORE:copy.db"))).toContain("all sound");
});

test("a store that had to be made is named, unless only data is asked for", async () => {
  const { run, cwd } = place();
  const words = (path: string): string => `a new store was made: sqlite:${cwd}/${path}\n`;
  expect((await run("append @new Hello --store STORE:nihgt.db")).stderr).toBe(words("nihgt.db"));
  expect((await run("append @new Hello --store STORE:nihgt.db")).stderr).toBe("");
  expect((await run("copy --to STORE:copy.db --json")).stderr).toBe(words("copy.db"));
  expect((await run("copy -q --to STORE:quiet.db")).stderr).toBe("");
  expect((await run("demo -q --store STORE:demo.db")).stderr).toBe("");
});

test("copy refuses what it cannot do, and creates nothing", async () => {
  const { run, file } = place();
  expectRefusal(await run("copy"), 2, /required option '--to <url>'/);
  expectRefusal(await run("copy --to redis:x"), 2, /redis:x is not the address of a store/);
  expectRefusal(await run("copy --from STORE:none.db --to STORE:new.db"), 3, /there is no turnlog store at/);
  expectRefusal(await run("copy cnv_nobody --to STORE:new.db"), 3, /there is no conversation 'cnv_nobody'/);
  expect(existsSync(file("new.db"))).toBe(false);
});

test("copy leaves a target alone that has gone another way, and exits 1", async () => {
  const { run, file } = place();
  okAnew(await run("copy --to STORE:copy.db"));
  for (const name of ["turnlog.db", "copy.db"]) {
    await using store = await openStore(`sqlite:${file(name)}`);
    for await (const id of store.conversations()) await store.conversation(id).append(`more in ${name}`);
  }
  const before = ok(await run("log @last --json --store STORE:copy.db"));
  expectRefusal(
    await run("copy --to STORE:copy.db"),
    1,
    /conversation-cnv_\w+ has other events at the target.*nothing/,
  );
  expect(ok(await run("log @last --json --store STORE:copy.db"))).toBe(before);
});

test("a bundle is exported into a file or to stdout, and imported as it was, once", async () => {
  const { run, file } = place();
  expect(ok(await run("export @last -o FILE:bundle.jsonl"))).toMatch(/^66 events written to .*bundle\.jsonl\n$/);
  expect(ok(await run("export @last"))).toBe(readFileSync(file("bundle.jsonl"), "utf8"));
  expect(okAnew(await run("import FILE:bundle.jsonl --store STORE:new.db"))).toBe(
    "1 conversation, 66 events imported and verified\n",
  );
  expect(copiedEvents(await run("import FILE:bundle.jsonl --store STORE:new.db --format bundle --json"))).toBe(0);
  expect(ok(await run("verify --store STORE:new.db"))).toContain("all sound");
  expect(
    ok(await run("export @last --store STORE:new.db"))
      .split("\n")
      .slice(1, -2),
  ).toEqual(readFileSync(file("bundle.jsonl"), "utf8").split("\n").slice(1, -2));
  const data = readDocument(exportDocument, await run("export @last -o FILE:other.jsonl --json"));
  expect(data).toMatchObject({ streams: 1, events: 66, isRedacted: false });
  expect(data.conversations).toHaveLength(1);
  expect(data.file).toBe(file("other.jsonl"));
  expect(readdirSync(file(".")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

test("spans are written into a file or to stdout, and their options are refused elsewhere", async () => {
  const { run, file } = place();
  const data = readDocument(exportDocument, await run("export @last --otlp FILE:spans.json --json"));
  const text = readFileSync(file("spans.json"), "utf8");
  expect(data).toMatchObject({ spans: text.match(/"spanId"/g)?.length, hasContent: false });
  expect(ok(await run("export @last --otlp -"))).toBe(text);
  for (const [words, message] of [
    ["export @last --otlp - --json", "already JSON"],
    ["export @last --content", "--content is about spans"],
    ["export @last --for langfuse", "--for is about spans"],
    ["export @last --agent a -o FILE:b", "--agent is about spans"],
    ["export @last --otlp FILE:a --redact", "leave out --redact"],
    ["export @last --otlp FILE:a -o FILE:b", "leave out --output"],
    ["export @last --otlp FILE:turnlog.db", "not a file of spans"],
  ] as const) {
    const { code, stderr } = await run(words);
    expect({ words, code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) as string });
  }
});

test("a cut or changed bundle is refused with its line, exits 4, and makes no store", async () => {
  const { run, file } = place();
  const text = ok(await run("export @last"));
  const lines = text.split("\n");
  const damaged = {
    cut: lines.slice(0, 40).join("\n"),
    "cut in a line": text.slice(0, 20_000),
    changed: text.replace("Aurora", "Bellini"),
    "without an end": `${lines.slice(0, -2).join("\n")}\n`,
  };
  for (const [what, content] of Object.entries(damaged)) {
    writeFileSync(file("bundle.jsonl"), content);
    expectRefusal(
      await run("import FILE:bundle.jsonl --store STORE:new.db"),
      4,
      /line \d+ of the bundle: .*nothing was/,
    );
    expect(existsSync(file("new.db")), what).toBe(false);
  }
});

test("a redacted bundle is refused by import with the reason, and exits 2", async () => {
  const { run, file } = place();
  expect(ok(await run("export @last --redact -o FILE:redacted.jsonl"))).toContain("their texts redacted");
  expect(readFileSync(file("redacted.jsonl"), "utf8")).not.toContain("Aurora");
  expectRefusal(
    await run("import FILE:redacted.jsonl --store STORE:new.db"),
    2,
    /is a redacted bundle, which has no texts: import a bundle that was exported without --redact/,
  );
  expect(existsSync(file("new.db"))).toBe(false);
});

test("export and import refuse what they cannot do", async () => {
  const { run, file } = place();
  expectRefusal(await run("export cnv_nobody"), 3, /there is no conversation 'cnv_nobody'/);
  expectRefusal(await run("export @last --json"), 2, /leave out --json, or name a file with --output/);
  expectRefusal(await run("export @last -o FILE:nowhere/bundle.jsonl"), 3, /nowhere.*check the path/);
  writeFileSync(file("notes.txt"), "notes");
  expectRefusal(await run("import FILE:notes.txt --format bundle"), 2, /is not a bundle: `turnlog export` writes them/);
  expectRefusal(await run("import FILE:none.jsonl"), 3, /none\.jsonl.*check the path/);
});

test("export takes along what a conversation began from, and fails without it", async () => {
  const { path: cwd, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  await store.conversation("cnv_parent").append("hello");
  const head = await store.events.head("conversation-cnv_parent");
  const started = (conversationId: string) => [
    JSON.stringify({ origin: { type: "fork", conversationId, ...head }, title: "a fork" }),
  ];
  const extra = { type: "ConversationStarted" };
  await appendPrepared(store.events, { stream: "conversation-cnv_fork", data: started("cnv_parent"), extra });
  await appendPrepared(store.events, { stream: "conversation-cnv_orphan", data: started("cnv_gone"), extra });
  const bundle = ok(await turnlogHere(["export", "cnv_fork"], { cwd }));
  expect(
    bundle
      .split("\n")
      .slice(1, -2)
      .map((line) => /"stream":"([^"]+)"/.exec(line)?.[1]),
  ).toEqual(["conversation-cnv_parent", "conversation-cnv_parent", "conversation-cnv_fork"]);
  const orphan = await turnlogHere(["export", "cnv_orphan"], { cwd });
  expectRefusal(orphan, 4, /conversation cnv_gone, from which cnv_orphan began, is not in the store/);
});

test("a store is backed up and restored, and says what the file holds", async () => {
  const { run, file } = place();
  expect(ok(await run("store backup FILE:backup.db"))).toMatch(
    /backup\.db holds 1 stream, 66 events, [\d,]+ bytes, checked\n$/,
  );
  expect(ok(await run("store restore FILE:backup.db --store STORE:again.db"))).toContain("again.db is as in ");
  expect(ok(await run("verify --store STORE:again.db"))).toContain("66 events");
  const restored = readDocument(backupDocument, await run("store restore FILE:backup.db --force --json"));
  expect(restored).toMatchObject({ action: "restore", file: file("backup.db"), streams: 1, events: 66 });
  expect(ok(await run("verify"))).toContain("all sound");
});

test("store refuses what it cannot do, and leaves what is there", async () => {
  const { run, file } = place();
  writeFileSync(file("notes.txt"), "notes");
  expectRefusal(await run("store backup FILE:notes.txt"), 2, /notes\.txt already exists: .*--force/);
  expectRefusal(await run("store restore FILE:notes.txt"), 2, /turnlog\.db already exists: .*--force/);
  expectRefusal(await run("store restore FILE:notes.txt --force"), 4, /notes\.txt is not an SQLite database/);
  expectRefusal(await run("store restore FILE:none.db --force"), 3, /there is no turnlog store at .*none\.db/);
  expectRefusal(await run("store backup FILE:x.db --store STORE:none.db"), 3, /there is no turnlog store at/);
  expectRefusal(await run("store backup FILE:nowhere/x.db"), 3, /nowhere.*check the path/);
  expectRefusal(await run("store remove FILE:x.db"), 2, /unknown command 'remove'/);
  expectRefusal(await run("store backup FILE:x.db --store memory:"), 2, /only a sqlite: store is one file/);
  expectRefusal(
    await run("store backup FILE:x.db --store esdb://me:secret@host"),
    2,
    /esdb:\/\/host is not: `turnlog copy`/,
  );
  expect(ok(await run("verify"))).toContain("all sound");
  expect(readFileSync(file("notes.txt"), "utf8")).toBe("notes");
});

test("verify checks a bundle to its end, redacted or not, without a store", async () => {
  const { run, file } = place();
  for (const [name, words] of [
    ["whole.bundle", "export @last -o FILE:whole.bundle"],
    ["redacted.bundle", "export @last --redact -o FILE:redacted.bundle"],
  ] as const) {
    ok(await run(words));
    const said = ok(await run(`verify --bundle FILE:${name} --store STORE:none.db`));
    expect(said).toMatch(/ bundle, and is as it was written: 66 events of 1 stream\n$/);
    expect(said.includes("redacted bundle")).toBe(name === "redacted.bundle");
    const text = readFileSync(file(name), "utf8");
    writeFileSync(file(name), text.replace('"revision":5,', '"revision":6,'));
    expectRefusal(await run(`verify --bundle FILE:${name}`), 4, /line 7 of the bundle: /);
  }
  expectRefusal(await run("verify --bundle FILE:none.bundle"), 3, /none\.bundle/);
  writeFileSync(file("notes.txt"), "something else\n");
  expectRefusal(await run("verify --bundle FILE:notes.txt"), 2, /^turnlog: \S+notes\.txt: this text is no bundle: /);
});
