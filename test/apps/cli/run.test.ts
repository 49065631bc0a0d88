import { join } from "node:path";
import { expect, test } from "vitest";
import { runDocument } from "../../../src/apps/documents/asking.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { turnlogAtTerminal } from "../../support/cli/fake-terminal.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const config = join(import.meta.dirname, "../../support/cli/asking-stack.ts");

/** Runs commands over one store, with the engines of `asking-stack.ts`. */
function asking() {
  const { path: cwd } = temporaryFolder();
  const turnlog = (words: readonly string[], stdin = "") =>
    turnlogHere(words, { cwd, stdin, env: { TURNLOG_CONFIG: config } });
  return {
    turnlog,
    run: (line: string, stdin = "") => turnlog(["run", ...line.split(" ")], stdin),
    document: async (line: string) => readDocument(runDocument, await turnlog(["run", "--json", ...line.split(" ")])),
    typed: (line: string) => turnlogAtTerminal(["run", ...line.split(" ")], { cwd, config }),
  };
}

test("a new conversation is begun with @new, continued by its name, and its answer is all of stdout", async () => {
  const { run, turnlog } = asking();
  const begun = await run("@new Hi --id cnv_a");
  expect(begun).toMatchObject({ code: 0, stdout: "Hello.\n" });
  expect(begun.stderr).toContain("conversation cnv_a\n");
  expect(await run("cnv_a -", "Thanks\n")).toEqual({ code: 0, stdout: "You are welcome.\n", stderr: "" });
  expect((await turnlog(["show", "cnv_a"])).stdout).toContain("Thanks");
});

test("without a message it answers what is unanswered, and says when nothing is", async () => {
  const { run, turnlog } = asking();
  await turnlog(["append", "@new", "Hi", "--id", "cnv_a"]);
  expect(await run("cnv_a")).toEqual({ code: 0, stdout: "Hello.\n", stderr: "" });
  expect(await run("cnv_a")).toEqual({
    ...{ code: 0, stdout: "Hello.\n", stderr: "no message was unanswered: this is the recorded answer\n" },
  });
});

test("a message with a key is appended and answered once", async () => {
  const { document } = asking();
  const first = await document("@new Hi --id cnv_a --key m1");
  expect(await document("cnv_a Hi --key m1")).toEqual({ ...first, isNew: false });
});

test("it exits 1 where there is no answer: failed, waiting for approval, waiting for a result", async () => {
  const { run, document } = asking();
  const failed = await run("@new Hi --id cnv_f --stack none");
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toContain("failed");
  expect(await document("cnv_f --stack none")).toMatchObject({ status: "failed", error: { code: "run-failed" } });
  const waits = await run("@new Refund --id cnv_w --stack refund");
  expect(waits.code).toBe(1);
  expect(waits.stdout).toMatch(
    /refund \{"amount":250\}\n {4}waits for approval: refunds are checked\n.*approve cnv_w run_/,
  );
  expect(await document("cnv_w --stack refund")).toMatchObject({
    ...{ status: "parked", waitingFor: [{ kind: "approval", name: "refund", input: { amount: 250 } }] },
  });
  const elsewhere = await run("@new Where --id cnv_e --stack external");
  expect(elsewhere).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("waits for a result from outside") as string,
  });
  const [, settle = ""] = /(--settle \S+=result):TEXT/.exec(elsewhere.stdout) ?? [];
  expect(settle).not.toBe("");
});

test("at a terminal the person is asked, and ctrl-C there cancels the run with exit code 130", async () => {
  const { typed } = asking();
  const asked = typed("@new Refund --id cnv_a --stack refund");
  await asked.readTo(/approve\?.*: /);
  asked.type("y\n");
  await asked.readTo(/Done\./);
  expect(await asked.code).toBe(0);
  const left = typed("@new Refund --id cnv_b --stack refund");
  await left.readTo(/approve\?.*: /);
  left.type("\u0003");
  expect(await left.code).toBe(130);
  expect(left.text()).toContain("was cancelled");
});

test.each([
  ["cnv_none Hi", 3, "there is no conversation 'cnv_none'"],
  ["@new", 2, "give the text"],
  ["@new -", 2, "the text is empty"],
  ["cnv_none Hi --id cnv_x", 2, "--id names a new conversation: write @new instead of 'cnv_none'"],
  ["cnv_none --key k", 2, "--key names a message: give one"],
  ["@new Hi --stack plainn", 2, "the name of the engine is 'plainn': did you mean 'plain'?"],
])("run %s exits %i", async (line, code, message) => {
  const { run, turnlog } = asking();
  await turnlog(["append", "@new", "Hi"]);
  const outcome = await run(line);
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toContain(message);
});

test("without a configuration it says how to name a model", async () => {
  const { path: cwd } = temporaryFolder();
  const { code, stderr } = await turnlogHere(["run", "@new", "Hi"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain(
    'write turnlog.config.json with {"providers":{"main":{"wire":"responses","model":"gpt-5.4"}}}',
  );
});
