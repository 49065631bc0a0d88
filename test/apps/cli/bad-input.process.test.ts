import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { startTurnlog, turnlog } from "../../support/cli/command-process.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { expectRefusal } from "../../support/cli/refusal.ts";
import type { Outcome } from "../../support/outcome.ts";
import { commandFile, outcomeOf } from "../../support/process.ts";
import { startServer, withSetting } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

test.each([
  ["an unknown flag", ["ls", "--limt", "3"], /unknown option '--limt' \(Did you mean --limit\?\)/],
  ["an unknown global flag", ["--jsn", "ls"], /unknown option '--jsn' \(Did you mean --json\?\)/],
  [
    "a command that stands elsewhere",
    ["settle", "@last", "charge=rerun"],
    /^turnlog: unknown command 'settle': type `turnlog resume CONVERSATION --settle CALL=HOW`\n$/,
  ],
  ["an unknown command", ["lgo"], /unknown command 'lgo' \(Did you mean log\?\)/],
  [
    "a command for what another tells",
    ["usage"],
    /^turnlog: unknown command 'usage': type `turnlog show CONVERSATION`\n$/,
  ],
  [
    "a command for what is done to a copy",
    ["redact", "@last"],
    /^turnlog: unknown command 'redact': type `turnlog export CONVERSATION --redact -o FILE`\n$/,
  ],
  [
    "a command for what no command does",
    ["forget", "@last"],
    /^turnlog: unknown command 'forget': `turnlog erase CONVERSATION` shows what erasing it would do, `turnlog hide` unlists it\n$/,
  ],
  [
    "a command for what only an operator of the store can do",
    ["rm", "@last"],
    /^turnlog: unknown command 'rm': `turnlog erase CONVERSATION` shows what erasing it would do, `turnlog hide` unlists it\n$/,
  ],
  ["a command that is like none", ["zebra"], /^turnlog: unknown command 'zebra': `turnlog --help` lists them\n$/],
  ["a missing argument", ["log"], /missing required argument/],
  ["too many arguments", ["ls", "more"], /too many arguments/],
  ["an option without its value", ["ls", "--limit"], /argument missing/],
  [
    "a limit that is no number",
    ["ls", "--limit", "many"],
    /'-n, --limit <count>' argument 'many' is invalid\. Expected a whole number of at least 0/,
  ],
  [
    "a port that is none",
    ["reference-server", "--port", "70000"],
    /'--port <number>' argument '70000' is invalid\. Expected a whole number from 0 to 65535/,
  ],
  ["a kind of store that is not known", ["ls", "--store", "redis:x"], /redis:x is not the address of a store/],
  [
    "a server that is no address",
    ["demo", "--server", "here"],
    /'--server <url>' argument 'here' is invalid\. Expected an address such as http/,
  ],
])("refuses %s with what to type instead, and exits 2", async (_, typed, message) => {
  const folder = temporaryFolder();
  expectRefusal(await turnlogHere(typed, { cwd: folder.path }), 2, message);
  expect(existsSync(folder.file("turnlog.db"))).toBe(false);
});

test("the process says so on stderr and by its exit code", async () => {
  const { path: cwd } = temporaryFolder();
  expectRefusal(await turnlog(["ls", "--limt", "3"], { cwd }), 2, /unknown option '--limt' \(Did you mean --limit\?\)/);
  expectRefusal(await turnlog(["ls"], { cwd }), 3, /there is no turnlog store at \.\/turnlog\.db/);
});

test.each([
  ["ls"],
  ["projections"],
  ["projections rebuild"],
  ["projections quarantine"],
  ["projections retry"],
  ["log @last"],
  ["show cnv_1234"],
  ["diff cnv_1234@1..2"],
  ["request cnv_1234"],
  ["why cnv_1234"],
  ["blame cnv_1234"],
  ["verify"],
])("%s creates no store where there is none, says how to get one, and exits 3", async (typed) => {
  const folder = temporaryFolder();
  expectRefusal(
    await turnlogHere(typed.split(" "), { cwd: folder.path }),
    3,
    /there is no turnlog store at .*turnlog\.db: `turnlog demo` creates one/,
  );
  expect(existsSync(folder.file("turnlog.db"))).toBe(false);
});

test("names what is not in the store, and exits 3", async () => {
  const { path: cwd } = demoStore();
  const run = (typed: string): Promise<Outcome> => turnlogHere(typed.split(" "), { cwd });
  expectRefusal(await run("log cnv_nobody"), 3, /there is no conversation 'cnv_nobody'/);
  expectRefusal(await run("show @last@1000"), 3, /there is no revision 1000 of cnv_\w+: it has the revisions 0 to 65/);
  expectRefusal(await run("show @last@resp_none"), 3, /no response of cnv_\w+ has the id 'resp_none'/);
  expectRefusal(await run("request @last@3"), 3, /cnv_\w+ has no request up to revision 3/);
  expectRefusal(await run("request @last@65"), 3, /revision 65 .* is not a request: the last .* is at revision 62/);
  expectRefusal(await run("blame @last 99"), 3, /there is no block 99/);
  expectRefusal(await run(`verify --heads ${cwd}/nowhere.json`), 3, /nowhere\.json.*check the path/);
});

test("refuses what names no place, and exits 2", async () => {
  const { path: cwd, file } = demoStore();
  const run = (typed: string): Promise<Outcome> => turnlogHere(typed.split(" "), { cwd });
  expectRefusal(await run("show @last@1..2"), 2, /expected one revision, got the range '@last@1\.\.2'/);
  expectRefusal(await run("diff @last"), 2, /name two revisions/);
  expectRefusal(await run("show @last@+5"), 2, /'\+5' in '@last@\+5' is not a revision/);
  expectRefusal(
    await run("blame @last run_"),
    2,
    /'run_' is the beginning of 1\d blocks: run_\w+\/\S+(, run_\w+\/\S+){4} and \d+ more$/m,
  );
  writeFileSync(file("heads.json"), "{}");
  expectRefusal(await run(`verify --heads ${file("heads.json")}`), 2, /heads\.json holds no heads/);
});

test("says which commands take a whole conversation, and exits 2", async () => {
  const { path: cwd } = demoStore();
  const run = (...typed: readonly string[]): Promise<Outcome> => turnlogHere(typed, { cwd });
  const whole = /^turnlog: expected a conversation, got a revision: write @last instead of '@last@5'$/m;
  for (const typed of ["verify", "export", "copy --to memory:", "resume --settle blk_1=rerun", "projections retry"])
    expectRefusal(await run(...typed.split(" "), "@last@5"), 2, whole);
  expectRefusal(
    await run("replay", "@last@1..5"),
    2,
    /expected a conversation, got a revision: write @last instead of '@last@1\.\.5'/,
  );
  expectRefusal(await run("replay", "@last@5"), 2, /expected a conversation, got a revision: write @last --to 5$/m);
  for (const typed of ["verify", "export", "replay"])
    expectRefusal(await run(typed, ""), 2, /'' does not name a conversation: write cnv_8f3k/);
});

test("log refuses a range that ends before it begins, and exits 2", async () => {
  const { path: cwd } = demoStore();
  for (const range of ["3..1", "-1..0"])
    expectRefusal(
      await turnlogHere(["log", `@last@${range}`], { cwd }),
      2,
      /the start must not be after the end: '@last@\S+' goes from \d+ to \d+$/m,
    );
  expect(await turnlogHere(["log", "@last@3..3"], { cwd })).toMatchObject({ code: 0 });
});

test("leaves a store of a newer turnlog alone, says to update, and exits 6", async () => {
  const { path: cwd, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE meta SET value = '99' WHERE name = 'schemaVersion'");
  database.close();
  const before = readFileSync(file("turnlog.db"));
  for (const typed of ["ls", "demo -q"]) {
    expectRefusal(await turnlogHere(typed.split(" "), { cwd }), 6, /a newer turnlog wrote .*: update turnlog/);
  }
  expect(readFileSync(file("turnlog.db")).equals(before)).toBe(true);
});

test.each(["ls", "demo -q", "verify"])(
  "%s says that a file is no database, leaves it alone, and exits 4",
  async (typed) => {
    const folder = temporaryFolder();
    writeFileSync(folder.file("turnlog.db"), "these are notes, and no database at all. ".repeat(500));
    const before = readFileSync(folder.file("turnlog.db"));
    expectRefusal(await turnlogHere(typed.split(" "), { cwd: folder.path }), 4, /is not an SQLite database/);
    expect(readFileSync(folder.file("turnlog.db")).equals(before)).toBe(true);
  },
);

test("says that a database file is damaged, and exits 4", async () => {
  const { path: cwd, file } = demoStore();
  const bytes = readFileSync(file("turnlog.db"));
  // Beyond the schema's first page: the pages of the tables.
  bytes.fill(0x7f, 8_192 * 2, bytes.length);
  writeFileSync(file("turnlog.db"), bytes);
  for (const typed of ["ls", "verify"]) {
    const { code, stderr } = await turnlogHere([typed], { cwd });
    expect({ code, stderr }).toMatchObject({ code: 4 });
    expect(stderr).toMatch(/^turnlog: .*turnlog\.db is damaged: restore it from a copy.*\n$/);
  }
});

test("says which folder cannot be written, and exits 6", async () => {
  const folder = temporaryFolder();
  writeFileSync(folder.file("file"), "");
  expectRefusal(
    await turnlog(["demo", "--store", "sqlite:file/turnlog.db"], { cwd: folder.path }),
    6,
    /file\/turnlog\.db cannot be created: file is not a folder/,
  );
  expectRefusal(
    await turnlog(["demo", "--store", "sqlite:nowhere/turnlog.db"], { cwd: folder.path }),
    6,
    /cannot be created: create the folder nowhere first/,
  );
});

const isRoot = process.getuid?.() === 0;
test.skipIf(isRoot)(
  "says who may write a folder, and exits 6 (skipped as root, who may write everything)",
  async () => {
    const folder = temporaryFolder();
    mkdirSync(folder.file("closed"));
    chmodSync(folder.file("closed"), 0o500);
    const outcome = await turnlog(["demo", "--store", "sqlite:closed/turnlog.db"], { cwd: folder.path });
    expectRefusal(outcome, 6, /cannot be opened: give this user write permission on closed/);
  },
);

test.skipIf(isRoot)(
  "says that a store may not be read, and exits 6 (skipped as root, who may read everything)",
  async () => {
    const { path: cwd, file } = demoStore();
    chmodSync(file("turnlog.db"), 0);
    expectRefusal(await turnlogHere(["ls"], { cwd }), 6, /cannot be read: give this user read permission on it$/m);
  },
);

test("ends a demo that is interrupted with 130, its run closed in the log", async () => {
  const { path: cwd } = temporaryFolder();
  const arrived = Promise.withResolvers<string>();
  const silent = createServer(() => {
    arrived.resolve("it asked");
  });
  await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const address = silent.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const { child, ended } = startTurnlog(["demo", "-q", "--server", url], { cwd });
  await arrived.promise;
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 130, stdout: "", stderr: "turnlog: interrupted\n" });
  expect((await turnlogHere(["log", "@last"], { cwd })).stdout).toContain("run cancelled");
});

test("a reader that has seen enough ends the command without an error", async () => {
  const { path: cwd } = demoStore();
  const line = `"${process.execPath}" "${commandFile}" show @last --json | head -c 10`;
  const { stdout, stderr } = await outcomeOf("sh", ["-c", line], { cwd, env: { PATH: process.env["PATH"] } });
  expect({ stdout, stderr }).toEqual({ stdout: '{"version"', stderr: "" });
});

test("says so by its exit code when a server has no store, and leaves nothing behind that keeps the process", async () => {
  const server = await startServer();
  const url = withSetting(server.connectionString, "turnlogNamespace=none");
  const cwd = temporaryFolder().path;
  const ended = await turnlog(["ls", "--store", url], { cwd, env: { XDG_CACHE_HOME: cwd } });
  expect(ended.code).toBe(3);
  expect(ended.stderr).toMatch(/^turnlog: there is no turnlog store at esdb:\/\/127\.0\.0\.1:\d+[^\n]+\n$/);
});

test("shows the stack of an error only with --debug", async () => {
  const { path: cwd } = temporaryFolder();
  expect((await turnlogHere(["ls"], { cwd })).stderr).not.toContain("    at ");
  expect((await turnlogHere(["ls", "--debug"], { cwd })).stderr).toMatch(
    /^turnlog: [^\n]+\nStoreNotFoundError: .*\n {4}at /,
  );
});
