import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import * as z from "zod";
import { catDocument } from "../../../src/apps/documents/conversations.ts";
import { lsDocument } from "../../../src/apps/documents/stores.ts";
import { appendDocument, relabelDocument, revertDocument } from "../../../src/apps/documents/writing.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { joinLines } from "../../../src/log/codec/lines.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

/** Runs commands at one store. */
function at(cwd: string) {
  const run = (words: readonly string[], stdin: string | Uint8Array = ""): Promise<Outcome> =>
    turnlogHere(words, { cwd, stdin });
  const read = async <Data>(document: z.ZodType<Data>, words: readonly string[], stdin?: string): Promise<Data> => {
    const outcome = await run([...words, "--json"], stdin);
    expect(outcome.code, outcome.stderr).toBe(0);
    return z.strictObject({ version: z.literal(1), data: document }).parse(documentOf(outcome)).data;
  };
  /** The one sentence that a line answers with. */
  const said = async (words: readonly string[], stdin?: string): Promise<string> => {
    const { code, stdout, stderr } = await run(words, stdin);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^[^\n]+\n$/);
    return stdout.trimEnd();
  };
  return { run, read, said };
}

/** One line that begins with the program's name, on stderr alone. */
function expectRefusal({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
  expect({ code, stdout, stderr }).toMatchObject({ code: expected, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^turnlog: [^\n]+\n$/);
}

test("append takes the text from the command line or stdin, and says where it is and who wrote it", async () => {
  const { run, said, read } = at(demoStore().path);
  expect(await said(["append", "@last", "One more thing"])).toMatch(/^user message appended as cnv_\w+@66$/);
  expect(await said(["append", "@last", "-", "--as", "system"], "Be brief.\nBe kind.\n")).toMatch(/^system .*@67$/);
  const { data } = await read(catDocument, ["cat", "@last@67"]);
  expect(JSON.stringify(data)).toContain('Be brief.\\nBe kind."');
  const { stdout } = await run(["log", "@last", "-n", "2"]);
  expect(stdout).toMatch(/66 .* operator +user “One more thing”\n +67 .* operator +system “Be brief\. Be kind\.”/);
});

test("append with a key appends once", async () => {
  const { said, read } = at(demoStore().path);
  const words = ["append", "@last", "Again", "--key", "m1"];
  const first = await read(appendDocument, words);
  expect(first).toMatchObject({ revision: 66, isPending: false, isNewConversation: false });
  expect(await said(words)).toMatch(/^nothing appended: cnv_\w+ already has a message with the key 'm1'$/);
  expect(await read(appendDocument, words)).toEqual({ ...first, revision: null });
});

test("append to @new begins a conversation, also the first of a store, under an id that the user chooses", async () => {
  const { path, file } = temporaryFolder();
  const { run, read } = at(path);
  expectRefusal(await run(["append", "@last", "Hello"]), 3, /there is no turnlog store/);
  expect(existsSync(file("turnlog.db"))).toBe(false);
  expect(await run(["append", "@new", "Hello", "--id", "cnv_mine"])).toEqual({
    code: 0,
    stdout: "user message appended as the new conversation cnv_mine\n",
    stderr: `a new store was made: sqlite:${file("turnlog.db")}\n`,
  });
  const other = await read(appendDocument, ["append", "@new", "Hello"]);
  expect(other).toMatchObject({ isNewConversation: true, revision: 1 });
  expectRefusal(
    await run(["append", "@new", "x", "--id", "cnv_mine"]),
    2,
    /the conversation cnv_mine already exists: choose another --id/,
  );
});

test("append while a run is open says that the message waits for it", async () => {
  const { path, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("DELETE FROM events WHERE revision > 62");
  database.exec("UPDATE streams SET revision = 62, digest = (SELECT digest FROM events WHERE revision = 62)");
  database.close();
  const { run, said } = at(path);
  expect(await said(["append", "@last", "Are you there?"])).toMatch(/@63: it joins the Turn when the open run ends$/);
  expectRefusal(await run(["revert", "@last@19"]), 2, /run run_\w+ of cnv_\w+ is open: finish it with `turnlog resume/);
});

test("append answers a call that waits for its app, and a run goes on with it", async () => {
  const { path, file } = temporaryFolder();
  const { run, said } = at(path);
  const calls = [{ name: "approve", arguments: "{}" }];
  const engine = () => createEngine({ provider: scripted([{ calls }, "Approved, then."]) });
  await (async () => {
    await using store = await openStore(`sqlite:${file("turnlog.db")}`);
    await store.conversation("cnv_app").append("May I?");
    expect((await store.conversation("cnv_app").run(engine())).status).toBe("calls-open");
  })();
  const answer = ["append", "cnv_app", "yes", "--as", "tool"];
  expectRefusal(await run(answer), 2, /--as tool answers a call: name it with --call ID/);
  expectRefusal(
    await run([...answer, "--call", "other"]),
    3,
    /no open call of cnv_app is called 'other': open calls are approve \(\w+\)/,
  );
  expectRefusal(
    await run(["append", "cnv_app", "yes", "--call", "approve"]),
    2,
    /--call cannot go with --as user: give --as tool/,
  );
  expect(await said([...answer, "--call", "approve"])).toMatch(/^result appended as cnv_app@\d+$/);
  expectRefusal(await run([...answer, "--call", "approve"]), 3, /no call is open/);
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  const turn = await store.conversation("cnv_app").turn();
  expect(turn.last?.text).toBe("yes");
});

test.each([
  ["no text", ["append", "@last"], "", /give the text to append in quotes, or - to read it/],
  ["an empty text", ["append", "@last", " "], "", /there is nothing to append: the text is empty/],
  ["an empty stdin", ["append", "@last", "-"], "\n", /there is nothing to append/],
  ["bytes that are no text", ["append", "@last", "-"], Buffer.from([0xff, 0xfe]), /is not UTF-8 text: convert it/],
  ["a role that there is not", ["append", "@last", "x", "--as", "robot"], "", /Allowed choices are user, system/],
  ["an id for what is there", ["append", "@last", "x", "--id", "cnv_x"], "", /write @new instead of '@last'/],
  ["an id that cannot be one", ["append", "@new", "x", "--id", "a.b"], "", /'a\.b' cannot be an id/],
  ["a revision to append at", ["append", "@last@3", "x"], "", /expected a conversation, got a revision/],
  ["an empty title", ["rename", "@last", ""], "", /the title is empty: give a title/],
  [
    "a label without a value",
    ["label", "@last", "ann"],
    "",
    /'ann' is not a label: write NAME=VALUE, such as user=ann/,
  ],
  ["a label set and removed", ["label", "@last", "a=b", "--remove", "a"], "", /'a' is both set and removed/],
  ["a revert to nowhere", ["revert", "@last"], "", /say where to go back to: a revision, @last@24, or an exchange/],
  ["a revert to two places", ["revert", "@last@3", "--exchange", "0"], "", /say where to go back to/],
] as const)("refuses %s in one sentence, and writes nothing", async (_, words, stdin, message) => {
  const { run } = at(demoStore().path);
  expectRefusal(await run(words, stdin), 2, message);
  expect((await run(["log", "@last@66"])).code).toBe(3);
});

test("rename and label say how the conversation is called, list shows it, and the log who called it so", async () => {
  const { run, said, read } = at(demoStore().path);
  expect(await said(["rename", "@last", "Rome by train"])).toMatch(/^cnv_\w+ is called Rome by train$/);
  expect(await said(["label", "@last", "user=ann", "draft=yes"])).toMatch(/ has the labels user=ann, draft=yes$/);
  expect(await said(["label", "@last", "user=bob", "--remove", "draft"])).toMatch(/ has the labels user=bob$/);
  expect(await read(relabelDocument, ["label", "@last", "--remove", "draft"])).toMatchObject({
    revision: null,
    title: "Rome by train",
    labels: { user: "bob" },
  });
  expect(await said(["label", "@last", "--remove", "user"])).toMatch(/ has no labels$/);
  expect((await run(["ls"])).stdout).toMatch(/Rome by train\n$/);
  const { stdout } = await run(["log", "@last@66..-1"]);
  expect(stdout).toMatch(/66 .* operator +named Rome by train\n.* labelled user=ann, draft=yes\n/);
  expect(stdout).toMatch(/ labelled user=bob, no longer labelled draft\n.* no longer labelled user\n$/);
});

test("a hidden conversation is in no list but that of all, can be read, and comes back", async () => {
  const { run, said, read } = at(demoStore().path);
  await said(["append", "@new", "Hello", "--id", "cnv_mine"]);
  expect(await said(["hide", "cnv_mine"])).toMatch(/^cnv_mine is hidden: `turnlog ls --all` lists it/);
  expect(await read(lsDocument, ["ls"])).toMatchObject({ total: 1, hidden: 1, conversations: [{ requests: 8 }] });
  expect((await run(["ls"])).stderr).toBe("1 hidden; --all shows them\n");
  expect((await run(["ls", "--all"])).stdout).toMatch(/^cnv_mine .*\[hidden\] Hello\n/);
  expect((await run(["show", "@last"])).stdout).toContain("A journey to Rome");
  expect((await run(["log", "cnv_mine"])).stdout).toMatch(/operator +hidden from lists\n$/);
  expect(await said(["unhide", "cnv_mine"])).toBe("cnv_mine is listed");
  expect(await read(lsDocument, ["ls"])).toMatchObject({ total: 2, hidden: 0 });
});

test("revert makes the Turn what it was, says what left it, and does nothing twice", async () => {
  const { said, read } = at(demoStore().path);
  expect(await said(["revert", "@last@19"])).toMatch(
    /^cnv_\w+ is back at cnv_\w+@19: its Turn has 8 blocks, 12 blocks left it$/,
  );
  expect(await said(["revert", "@last@19"])).toMatch(
    /^nothing to do: the Turn of cnv_\w+ is already as at cnv_\w+@19$/,
  );
  expect(await read(revertDocument, ["revert", "@last@65"])).toMatchObject({ revision: 67, blocks: 20, removed: [] });
  expect(await said(["revert", "@last", "--exchange", "-2"])).toMatch(
    /is back at the end of exchange -2: .* 2 blocks left it$/,
  );
  const { run } = at(demoStore().path);
  expectRefusal(await run(["revert", "@last", "--exchange", "9"]), 3, /exchange/);
  expectRefusal(await run(["revert", "@last@99"]), 3, /there is no revision 99/);
});

test("cat gives an event as the store holds it, with its digests", async () => {
  const { path, file } = demoStore();
  const { run, read } = at(path);
  const event = await read(catDocument, ["cat", "@last@12"]);
  const before = await read(catDocument, ["cat", "@last@11"]);
  expect(event.previousDigest).toBe(before.digest);
  const database = new DatabaseSync(file("turnlog.db"));
  const row = z
    .object({ data: z.string() })
    .parse(database.prepare("SELECT data FROM events WHERE revision = 12").get());
  expect(event).toMatchObject({ encoding: "lines", data: joinLines(row.data) });
  expect(JSON.parse((await run(["cat", "@last@12"])).stdout)).toEqual(event);
  database.exec("UPDATE events SET data = 'not json' WHERE revision = 12");
  database.close();
  expect(await read(catDocument, ["cat", "@last@12"])).toMatchObject({
    data: "not json",
    problem: expect.stringContaining("JSON") as string,
  });
});

test("cat shows long texts by reference, and whole where that is asked for", async () => {
  const { path } = temporaryFolder();
  const { read } = at(path);
  const long = "long ".repeat(20_000);
  await read(appendDocument, ["append", "@new", "-"], long);
  expect(JSON.stringify((await read(catDocument, ["cat", "@last"])).data)).toContain("$blob");
  expect(JSON.stringify((await read(catDocument, ["cat", "@last", "--full"])).data)).toContain(long);
});
