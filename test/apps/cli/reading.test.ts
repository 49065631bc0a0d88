import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { logDocument, showDocument } from "../../../src/apps/documents/conversations.ts";
import { whyDocument } from "../../../src/apps/documents/requests.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { image, text, user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createSoundStore } from "../../support/audit/sound-store.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

const run = (cwd: string, typed: string): Promise<Outcome> => turnlogHere(typed.split(" "), { cwd });

test("why names what was taken, who broke the newest context, and what every known context was rejected for", async () => {
  const { path: cwd } = demoStore();
  const { stdout } = await run(cwd, "why @last@47");
  expect(stdout).toContain("rebased (1 answer back): sent 3 of 15 blocks");
  expect(stdout).toMatch(/what resp_\w+ holds differs: ask-first@1\.0\.0 removed block 13 \(system\)/);
  expect(stdout).toMatch(/@40 +15 blocks +ask-first@1\.0\.0 removed block 13/);
  expect(stdout).toMatch(/@32 +12 blocks +continued from/);
  expect(stdout).toMatch(/@25 +10 blocks +another one holds more of this Turn/);
  expect(stdout).toMatch(/@17 +8 blocks +shorten-results@1\.2\.0 modified block 5/);
});

test("why of an answer's revision or of its response id is about the request that it answers", async () => {
  const { path: cwd } = demoStore();
  const first = (outcome: Outcome): string | undefined => outcome.stdout.split("\n")[0];
  const wanted = first(await run(cwd, "why @last@24"));
  expect(wanted).toMatch(/@24 /);
  expect(first(await run(cwd, "why @last@25"))).toBe(wanted);
  expect(first(await run(cwd, "why @last@28"))).toBe(wanted);
  const id = /"responseId":"(resp_\w+)"/.exec((await run(cwd, "why @last@31 --json")).stdout)?.[1];
  expect(first(await run(cwd, `why @last@${id}`))).toBe(wanted);
});

test("why names a layer that asked again after an error", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const stubborn = defineMiddleware(
    { name: "stubborn", version: "1.0.0" },
    (next) => (turn) => next(turn).catch(() => next(turn)),
  );
  const provider = scripted([{ error: { message: "not today" } }, "an answer"]);
  await store.conversation("cnv_stubborn").append("hello");
  await store.conversation("cnv_stubborn").run(createEngine({ provider, middleware: [stubborn] }));
  await store.close();
  const { stdout } = await run(cwd, "why cnv_stubborn");
  expect(stdout).toContain("stubborn went on after an error of frame 0.0: not today");
  expect((await run(cwd, "log cnv_stubborn")).stdout).toContain("stubborn");
});

test("why tells the attempts of one step apart", async () => {
  const { path: cwd, file } = temporaryFolder();
  await createSoundStore(file("turnlog.db"));
  const { stdout } = await run(cwd, "why cnv_journey");
  expect(stdout).toContain("attempt 2");
  expect(stdout).toContain("because: what its server held was given up: it was refused, lost or deleted");
  expect(stdout).toMatch(/resp_2\w+ .* its server has lost it/);
});

test("show in mid-run has the Turn untouched, what the run works on, and what servers hold", async () => {
  const { path: cwd } = demoStore();
  const { stdout } = await run(cwd, "show @last@24");
  const full = (await run(cwd, "show @last@24 --full")).stdout;
  expect(stdout).toMatch(/Turn: 9 blocks\n +0 .*\n +1 +user +user @3 +I am ada@example\.org/);
  expect(stdout).toMatch(
    /Run run_\w+, open since @21: works on 9 blocks, the first 1 as above\n +1 +user +redact-emails@1\.0\.0 @6 +I am \[email\]/,
  );
  expect(stdout).toMatch(
    /Servers hold\n.*@8 +5 blocks +a prefix of the Turn\n +1 that is no longer true: --full lists it\n/,
  );
  expect(full).toMatch(/@17 +8 blocks +no longer true\n.*@8 +5 blocks +a prefix of the Turn/);
});

test("show tells how much it cuts of a text, and of a long Turn, and --full cuts nothing", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const words = "many words ".repeat(100);
  await store.conversation("cnv_long").append(Array.from({ length: 60 }, (_, n) => `${n} ${words}\nthe end of ${n}`));
  await store.close();
  const { stdout } = await run(cwd, "show cnv_long");
  expect(stdout).toMatch(/ 4 +user .*… \(1,115 characters\)\n +… 20 blocks: --full shows them\n +25 +user /);
  expect(stdout).not.toContain("the end of");
  const full = (await run(cwd, "show cnv_long --full")).stdout;
  for (let n = 0; n < 60; n += 1)
    expect(full).toMatch(new RegExp(` ${n} +user .*\n      ${n} many .* words \n      the end of ${n}\n`));
});

test("show does not tell of answers that no server keeps as if they were untrue", async () => {
  const { path: cwd, file } = temporaryFolder();
  await using server = await startReferenceServer();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation("cnv_chat");
  await conversation.append("hello");
  const provider = chatCompletions({ model: "any", dialect: "vllm", baseURL: server.baseUrl });
  await conversation.run(createEngine({ provider }));
  await store.close();
  expect((await run(cwd, "show @last")).stdout).toMatch(/Servers hold\n {2}no context to continue from\n/);
  expect((await run(cwd, "show @last --full")).stdout).toContain("the answer had no id to continue from");
});

test("show tells what the last run may use and how much of it is used", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation("cnv_budgeted");
  await conversation.append("hello");
  const budget = { maxInputTokens: 90_000, maxTotalTokens: 100_000 };
  const { usage } = await conversation.run(createEngine({ provider: scripted(["hello"]), budget }));
  await store.close();
  const used = usage.inputTokens + usage.outputTokens;
  const lines = [
    "Budget of the last run",
    `  ends over 90,000 tokens in a request: ${used} counted of the Turn`,
    `  ends over 100,000 tokens in all: ${used} used`,
  ];
  expect((await run(cwd, "show @last")).stdout).toContain(lines.join("\n"));
  expect(readDocument(showDocument, await run(cwd, "show @last --json"))).toMatchObject({
    budget: { ...budget, onExceeded: "end", countedTokens: used, usedTokens: used },
  });
  const { path } = demoStore();
  expect((await run(path, "show @last")).stdout).not.toContain("Budget");
});

test("show calls no context untrue, anywhere in a run, that its next request continues from", async () => {
  const { path: cwd } = demoStore();
  const shown = async (revision: number) => readDocument(showDocument, await run(cwd, `show @last@${revision} --json`));
  const asked = [];
  for (let revision = 3; revision <= 65; revision += 1) {
    const { event, serverContexts } = await shown(revision);
    asked.push({ revision, isRequest: event.type === "InferenceRequested", serverContexts });
  }
  let chained = 0;
  for (const [index, request] of asked.entries()) {
    if (!request.isRequest) continue;
    const why = readDocument(whyDocument, await run(cwd, `why @last@${request.revision} --json`));
    if (why.decision.strategy !== "chained") continue;
    chained += 1;
    const before = asked.slice(0, index + 1);
    const since = before.findLastIndex(({ serverContexts }) => serverContexts.length < request.serverContexts.length);
    for (const { revision, serverContexts } of before.slice(since + 1)) {
      const { relation } = serverContexts.find(({ responseId }) => responseId === why.decision.anchor?.id) ?? {};
      expect({ revision, relation }).not.toMatchObject({ relation: "diverged" });
    }
  }
  expect(chained).toBe(4);
});

test("blame tells the whole story of one block, by its place or its id", async () => {
  const { path: cwd } = demoStore();
  const { stdout } = await run(cwd, "blame @last 5");
  expect(stdout).toMatch(
    /^tool_result trains +run_\w+\/0\/0\nmade +@12 +tool trains +.*\nchanged +@23 +middleware shorten-results@1\.2\.0 \(request, frame 0\.0\.0\) .* \(now\)\n/,
  );
  const id = /run_\w+\/0\/0/.exec(stdout)?.[0] ?? "";
  expect((await run(cwd, `blame @last ${id}`)).stdout).toBe(stdout);
});

test("blame lists who took out what is no longer there", async () => {
  const { stdout } = await run(demoStore().path, "blame @last");
  expect(stdout).toMatch(
    /No longer in the Turn\n +system +ask-first@1\.0\.0 @38 +removed by ask-first@1\.0\.0 @41 .* Name the price and ask before you pay\.\n/,
  );
});

test("diff shows what was modified with its old and new text, and is 0 where nothing was", async () => {
  const { path: cwd } = demoStore();
  const outcome = await run(cwd, "diff @last@58..-1");
  expect(outcome).toMatchObject({ code: 1, stderr: "1 block added, 0 removed, 1 modified, 0 moved\n" });
  expect(outcome.stdout).toContain(
    "modified block 0, system  by speak-french@2.0.1\n- You plan journeys. Be brief.\n+ Réponds en français.\n",
  );
  expect(await run(cwd, "diff @last@58 @last@59")).toMatchObject({ code: 0 });
});

test("every view of a message shows its image, and diff shows that a layer removed or replaced it", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation("cnv_seen");
  const seen = (data: string) => [text("What is this?"), image(`data:image/png;base64,${data}`)];
  await conversation.append(user(seen("AAAA")));
  for (const content of [seen("AAAB"), [text("What is this?")]]) {
    const swap = defineMiddleware({ name: "swap", version: "1.0.0" }, (next) => (turn) => {
      const first = turn.blocks.slice(0, 1);
      return next(turn.replaceEach(first, (block) => block.withPayload({ role: "user", content })));
    });
    await conversation.append("Sure?");
    await conversation.run(createEngine({ provider: scripted(["A cat."]), middleware: [swap] }));
  }
  await store.close();
  const told = "[image: image/png, 26 characters]";
  expect((await run(cwd, "show cnv_seen@1")).stdout).toContain(`What is this? ${told}`);
  expect((await run(cwd, "show cnv_seen@1 --full")).stdout).toContain(`What is this?\n      ${told}`);
  expect((await run(cwd, "blame cnv_seen@1 0")).stdout).toContain(told);
  expect((await run(cwd, "log cnv_seen")).stdout).toContain(`What is this? ${told}`);
  expect((await run(cwd, "log cnv_seen --transcript")).stdout).toContain(`What is this?\n${told}`);
  expect((await run(cwd, "diff cnv_seen@1..-1")).stdout).toContain(`- ${told}`);
  expect((await run(cwd, "log cnv_seen --patch")).stdout).toMatch(
    /modified block 0.*\n.*2 lines as before\n.*other fields differ\n/,
  );
});

test("diff across a layer's pass shows its edit and who made it, in the middle of a run", async () => {
  const { path: cwd } = demoStore();
  const shortened = await run(cwd, "diff @last@22..23");
  expect(shortened).toMatchObject({ code: 1, stderr: "0 blocks added, 0 removed, 1 modified, 0 moved\n" });
  expect(shortened.stdout).toMatch(
    /^modified block 5, tool_result trains {2}by shorten-results@1\.2\.0\n {2}\d line.* as before\n(- .*\n)+\+ .*\[shortened\]\n/m,
  );
  expect((await run(cwd, "diff @last@40 @last@41")).stdout).toMatch(
    /^removed block 13, system {2}by ask-first@1\.0\.0\n- Name the price/m,
  );
  const restored = await run(cwd, "diff @last@41..42");
  expect(restored.stdout).toMatch(
    /^modified block 1, user {2}by redact-emails@1\.0\.0\n- I am \[email\].*\n\+ I am ada@/m,
  );
  const wholeRun = await run(cwd, "diff @last@36..43");
  expect(wholeRun.stdout).toMatch(/^added block 13, assistant {2}by openai-responses\n\+ That is 119 euros/m);
});

test("blame in the middle of a run is of the Turn that was handed on, and of what layers left out of it so far", async () => {
  const { path: cwd } = demoStore();
  const asked = await run(cwd, "blame @last@39");
  expect(asked.stdout).toMatch(/ 1 +user +user @3 +redact-emails@1\.0\.0 @6 +I am \[email\]/);
  expect(asked.stdout).toMatch(/ 13 +system +ask-first@1\.0\.0 @38 +Name the price/);
  expect(asked.stdout).not.toContain("No longer in the Turn");
  const restored = await run(cwd, "blame @last@41");
  expect(restored.stdout).toMatch(
    /No longer in the Turn\n +system +ask-first@1\.0\.0 @38 +removed by ask-first@1\.0\.0 @41/,
  );
  expect((await run(cwd, "blame @last@39 13")).stdout).toMatch(/^system .*\nmade +@38 .*\(now\)\n\nName the price/);
});

test("log -p shows what every event changed, and by whom", async () => {
  const { path: cwd } = demoStore();
  const { stdout } = await run(cwd, "log @last@20..29 -p");
  expect(stdout).toMatch(
    / 20 .*\n {6}added block 8, user {2}by user\n {6}\+ Is there a hotel near the station\?\n {2}21 /,
  );
  expect(stdout).toMatch(
    / 22 .*\n {6}modified block 1, user {2}by redact-emails@1\.0\.0\n {6}- I am ada.*\n {6}\+ I am \[email\].*\n {2}23 /,
  );
  expect(stdout).toMatch(/ 25 .*\n {6}added block 9, tool_call hotels {2}by openai-responses\n/);
  // Nothing changed: a line of its own and no more.
  expect(stdout).toMatch(/\n {2}27 .*\n {2}28 .*\n {2}29 .*\n {6}added block 10, tool_result hotels {2}by hotels\n/);
  expect(await run(cwd, "log @last -p --transcript")).toMatchObject({ code: 2 });
});

test("what log -p shows as added, less what it shows as removed, is the Turn", async () => {
  const { path: cwd, file } = temporaryFolder();
  await createSoundStore(file("turnlog.db"));
  const logged = readDocument(logDocument, await run(cwd, "log cnv_journey -p --json"));
  if (!("events" in logged)) throw new Error("a log without events");
  const blocks = new Set<string>();
  for (const { changes } of logged.events) {
    for (const { id } of changes?.added ?? []) {
      expect(blocks.has(id)).toBe(false);
      blocks.add(id);
    }
    for (const { id } of changes?.removed ?? []) blocks.delete(id);
  }
  const shown = readDocument(showDocument, await run(cwd, "show cnv_journey --json"));
  expect([...blocks].toSorted()).toEqual(shown.turn.map(({ id }) => id).toSorted());
});

test("on a terminal lines are cut at its edge, and otherwise say the same as in a pipe", async () => {
  const { path: cwd } = demoStore();
  for (const typed of ["ls", "log @last", "show @last@24", "show @last", "blame @last", "why @last"]) {
    const typedPlain = [...typed.split(" "), "--color", "never"];
    const fitted = (await turnlogHere(typedPlain, { cwd, terminal: { columns: 100 } })).stdout.split("\n");
    const whole = (await turnlogHere(typedPlain, { cwd })).stdout.split("\n");
    const cut = fitted.filter((line, index) => line !== whole[index]);
    expect(cut.length, typed).toBeGreaterThan(0);
    expect(
      fitted.filter((line) => Array.from(line).length > 100),
      typed,
    ).toEqual([]);
    expect(fitted.length).toBe(whole.length);
    for (const [index, line] of fitted.entries())
      expect(whole[index]?.startsWith(line.replace(/…$/, "")), line).toBe(true);
  }
});

test("log and ls show an event that cannot be read, and go on", async () => {
  const { path: cwd, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET version = 9 WHERE revision = 29");
  database.exec("UPDATE events SET data = '{' WHERE revision = 30");
  database.close();
  const log = await run(cwd, "log @last@28..31");
  expect(log).toMatchObject({ code: 0, stderr: "" });
  expect(log.stdout).toMatch(
    /29 .* TurnEdited cannot be read: .*\n.*30 .* TurnEdited cannot be read: .*\n.*31 .* asked chained/,
  );
  expect((await run(cwd, "ls")).stdout).toContain("[damaged] A journey");
  expect(await run(cwd, "show @last")).toMatchObject({ code: 4 });
  const verified = await run(cwd, "verify");
  expect(verified.code).toBe(4);
  expect(verified.stdout).toMatch(/damaged +cnv_\w+@29 /);
});

test.each(["{", "null", '"user"', '{"kind":"user","name":5}'])(
  "log and ls continue past an event whose actor became %s, and name no author for it",
  async (actor) => {
    const { path: cwd, file } = demoStore();
    const database = new DatabaseSync(file("turnlog.db"));
    database.prepare("UPDATE events SET actor = ? WHERE revision = 29").run(actor);
    database.close();
    const log = await run(cwd, "log @last@28..30");
    expect(log).toMatchObject({ code: 0, stderr: "" });
    expect(log.stdout).toMatch(/\n +29 +\S+ +\? +TurnEdited cannot be read: its actor is damaged\n +30 /);
    expect((await run(cwd, "log @last@29 --json")).stdout).toContain('"actor":null');
    expect((await run(cwd, "ls")).stdout).toContain("[damaged] A journey");
    expect(await run(cwd, "show @last@28")).toMatchObject({ code: 0 });
    for (const typed of ["show @last", "blame @last", "diff @last@28..-1"]) {
      const { code, stderr } = await run(cwd, typed);
      expect([code, stderr]).toEqual([4, expect.stringMatching(/revision 29 of \S+: its actor is damaged/)]);
    }
    const verified = await run(cwd, "verify");
    expect(verified.code).toBe(4);
    expect(verified.stdout).toMatch(/damaged +cnv_\w+@29 /);
  },
);

test("a transcript goes on beside what cannot be read, here or in a parent, and names it", async () => {
  const { path: cwd, file } = demoStore();
  await run(cwd, "fork @last@40 --id cnv_fork");
  const whole = await run(cwd, "log cnv_fork --transcript");
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET version = 9 WHERE stream = 1 AND revision = 3");
  database.close();
  const [, parent = ""] = /(cnv_\w+)@3 by user/.exec(whole.stdout) ?? [];
  const why = "version Invalid input: expected 1";
  const forked = await run(cwd, "log cnv_fork --transcript");
  expect(forked).toMatchObject({
    code: 0,
    stderr: `${parent}@3 cannot be read: cannot read BlockAppended version 9: ${why}\n`,
  });
  const lines = whole.stdout.split("\n");
  const at = lines.findIndex((line) => line.includes(`${parent}@3 by user`));
  expect(forked.stdout.split("\n")).toEqual(lines.toSpliced(at, 3));
  const original = await run(cwd, `log ${parent} --transcript --json`);
  expect(original).toMatchObject({
    code: 0,
    stderr: `@3 cannot be read: cannot read BlockAppended version 9: ${why}\n`,
  });
  expect(original.stdout).toContain('"utterances":[{');
});

test("a transcript of a fork whose parent is gone has what was said in the fork", async () => {
  const { path: cwd, file } = demoStore();
  await run(cwd, "fork @last@40 --id cnv_fork");
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("DELETE FROM events WHERE stream = 1; DELETE FROM streams WHERE number = 1");
  database.close();
  const { code, stdout, stderr } = await run(cwd, "log cnv_fork --transcript");
  expect([code, stdout]).toEqual([0, "cnv_fork\n"]);
  expect(stderr).toMatch(/^what it was forked from cannot be read: .*which this store does not have/);
});

test("verify saves heads, and finds with them what was cut off since", async () => {
  const { path: cwd, file } = demoStore();
  const heads = file("heads.json");
  expect(await run(cwd, `verify --save-heads ${heads}`)).toMatchObject({ code: 0 });
  expect(await run(cwd, `verify --heads ${heads}`)).toMatchObject({ code: 0 });
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("DELETE FROM events WHERE revision > 60");
  database.exec("UPDATE streams SET revision = 60, digest = (SELECT digest FROM events WHERE revision = 60)");
  database.close();
  expect(await run(cwd, "verify"), "with those beside the store").toMatchObject({ code: 4 });
  rmSync(file("turnlog.db.heads"));
  expect(await run(cwd, "verify")).toMatchObject({ code: 0 });
  const cut = await run(cwd, `verify --heads ${heads} --save-heads ${heads}`);
  expect(cut.code).toBe(4);
  expect(cut.stdout).toMatch(/damaged +cnv_\w+@61 +the tail is missing/);
  expect(cut.stderr).toContain("heads not saved");
  expect(await run(cwd, `verify --heads ${heads}`)).toMatchObject({ code: 4 });
});

test("fits the lines to the terminal, and colours them there", async () => {
  const { path: cwd } = demoStore();
  const { stdout } = await turnlogHere(["log", "@last@23..24"], { cwd, terminal: { columns: 60 } });
  expect(stdout).toContain("\u001b[33m");
  const widths = stripVTControlCharacters(stdout)
    .split("\n")
    .map((line) => Array.from(line).length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(60);
  expect(stdout).toContain("…");
});

test.each([
  ["on a terminal", [], {}, true, true],
  ["on a terminal, where --color says never", ["--color", "never"], {}, true, false],
  ["on a terminal, where NO_COLOR is set", [], { NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
  ["on a terminal that knows none", [], { TERM: "dumb" }, true, false],
  ["in a pipe", [], {}, false, false],
  ["in a pipe, where --color says always", ["--color", "always"], { NO_COLOR: "1" }, false, true],
  ["in a pipe, where FORCE_COLOR is set", [], { FORCE_COLOR: "1" }, false, true],
  ["in a pipe, where FORCE_COLOR is 0", [], { FORCE_COLOR: "0" }, false, false],
  ["in a document", ["--color", "always", "--json"], {}, false, false],
])("%s: colours or none", async (_, options, env, isTerminal, isColoured) => {
  const { path: cwd } = demoStore();
  const terminal = isTerminal ? { terminal: { columns: 60 } } : {};
  const { stdout } = await turnlogHere(["log", "@last@23..24", ...options], { cwd, ...terminal, env });
  expect(stdout.includes("\u001b[33m")).toBe(isColoured);
});

test("ends the body of a request with a line feed on a terminal, and adds nothing in a pipe", async () => {
  const { path: cwd } = demoStore();
  const onTerminal = await turnlogHere(["request", "@last"], { cwd, terminal: { columns: 60 } });
  const inPipe = await turnlogHere(["request", "@last"], { cwd });
  expect(onTerminal.stdout).toBe(`${inPipe.stdout}\n`);
  expect(JSON.stringify(JSON.parse(inPipe.stdout))).toBe(inPipe.stdout);
  expect(JSON.parse((await turnlogHere(["request", "@last", "--pretty"], { cwd })).stdout)).toEqual(
    JSON.parse(inPipe.stdout),
  );
});
