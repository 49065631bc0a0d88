import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import * as z from "zod";
import { regressionDocument } from "../../../src/apps/documents/regression.ts";
import { startTurnlog, turnlog } from "../../support/cli/command-process.ts";
import { greeted, stackThat } from "../../support/cli/greeted.ts";
import { built } from "../../support/process.ts";

const containing = (text: string): unknown => expect.stringContaining(text);

test.each(["same", "other"] as const)(
  "prints one document of its contract for all conversations: %s",
  async (stack) => {
    const place = await greeted();
    const { stdout } = await place.run(`--all --with ${place[stack]} --json`);
    const document = z.strictObject({ version: z.literal(1), data: regressionDocument }).parse(JSON.parse(stdout));
    expect(document.data).toMatchObject({ isComplete: true, conversations: 3 });
  },
);

test("names a layer that does not do the same twice", async () => {
  const { run, module } = await greeted();
  const { stdout, code } = await run(`cnv_a --with ${module("dicey.ts", stackThat("Math.random().toString()"))}`);
  expect({ stdout: stdout.split("\n")[0], code }).toEqual({
    ...{
      code: 5,
      stdout: "1 of 1 request in 1 of 1 conversation change; first culprit: nondeterminism:greet, block 0",
    },
  });
});

test("lets pass what an allowance lists, and says what it lists in vain", async () => {
  const { run, other, file } = await greeted();
  const listed = (conversation: string) => ({ conversation, culprit: "greet", reason: "intended" });
  const allow = file("allow.json");
  writeFileSync(allow, JSON.stringify({ version: 1, differences: [listed("*"), listed("cnv_gone")] }));
  const outcome = await run(`--label user=ann --with ${other} --allow ${allow}`);
  expect(outcome).toMatchObject({ code: 0, stdout: containing("in 2 of 2 conversations change") });
  expect(outcome.stdout).toContain("allows what no longer differs: greet in cnv_gone");
  writeFileSync(allow, "{}");
  expect(await run(`--all --with ${other} --allow ${allow}`)).toMatchObject({ code: 2 });
});

test("refuses what is no stack, and lets a bisection skip a commit whose stack cannot be loaded", async () => {
  const { run, module, same, other } = await greeted();
  const broken = module("broken.ts", "export const engine = {");
  const empty = module("empty.ts", "export const other = 1;");
  const exiting = module("exiting.ts", "process.exit(0);");
  expect(await run(`--all --with ${broken}`)).toMatchObject({
    code: 2,
    stderr: containing("cannot be loaded"),
  });
  expect(await run(`--all --with ${empty}`)).toMatchObject({
    code: 2,
    stderr: containing("exports no engine"),
  });
  expect(await run(`--all --with ${exiting}`)).toMatchObject({
    code: 2,
    stderr: containing("process.exit"),
  });
  expect(await run(`--all --with ${file(same, "gone.ts")}`)).toMatchObject({ code: 3 });
  expect(await run(`--all --without greet`)).toMatchObject({
    code: 2,
    stderr: containing("needs --stack"),
  });
  expect(await run(`--all --without gret --stack ${same}`)).toMatchObject({ code: 3 });
  expect(await run(`--with ${same}`)).toMatchObject({ code: 2 });
  expect(await run(`--all --bisect --with ${broken}`)).toMatchObject({ code: 125 });
  expect(await run(`--all --bisect --with ${other}`)).toMatchObject({ code: 5 });
});

test("says so if a layer blocks the thread of the second execution, and keeps what the first one showed", async () => {
  const { run, module } = await greeted();
  // Only there it is a day later. A wait blocks the thread as a loop does, and takes no processor.
  const wait = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)";
  const later = `Date.now() > performance.timeOrigin + 43_200_000 ? ${wait} : "Hi."`;
  const outcome = await run(`cnv_a cnv_b --with ${module("later.ts", stackThat(later, "{ layerTimeoutMs: 100 }"))}`);
  expect(outcome).toMatchObject({
    ...{ code: 5, stdout: containing("2 of 2 requests in 2 of 2 conversations change; first culprit: greet@2.0.0") },
    stderr: containing("cnv_a: it was not executed a second time: the layer greet blocked its thread"),
  });
});

test("ends, though a module keeps a server open", async () => {
  const { run, module } = await greeted();
  const serving = `import { createServer } from "node:http";\ncreateServer().listen(0, "127.0.0.1");\n${stackThat('"Hello."')}`;
  expect(await run(`--all --with ${module("serving.ts", serving)}`)).toMatchObject({ code: 0 });
});

test("compares a store that is written to meanwhile, and says that it was", async () => {
  const { run, module, file: at } = await greeted();
  const writing = `
import { openStore } from ${JSON.stringify(join(built, "index.js"))};
await using other = await openStore(${JSON.stringify(`sqlite:${at("turnlog.db")}`)});
await other.conversation("cnv_a").append("And now?");
${stackThat('"Hello."')}`;
  expect(await run(`--all --with ${module("writing.ts", writing)}`)).toMatchObject({
    ...{ code: 0, stdout: "3 of 3 requests compared, and none changes\n" },
    stderr: containing("the store was written to meanwhile"),
  });
});

test("refuses the store of a newer turnlog, and says what to do", async () => {
  const { run, same, file: at } = await greeted();
  const database = new DatabaseSync(at("turnlog.db"));
  database.exec("UPDATE meta SET value = '99' WHERE name = 'schemaVersion'");
  database.close();
  expect(await run(`--all --with ${same}`)).toMatchObject({ code: 6, stderr: containing("update turnlog") });
  expect(await run(`--all --bisect --with ${same}`)).toMatchObject({ code: 125 });
});

const file = (path: string, name: string): string => join(path, "..", name);

test("an interruption ends it with what is known by then, marked as incomplete", async () => {
  const { path, module } = await greeted();
  const waiting = `${stackThat('"Hello."')}
engine.options.layers[0] = { ...engine.options.layers[0], handle: () => () => new Promise(() => undefined) };`;
  const line = ["regress", "--all", "--with", module("waiting.ts", waiting), "--json"];
  const { child, ended } = startTurnlog(line, { cwd: path });
  // What the module prints shows that it was loaded.
  child.stderr?.once("data", () => child.kill("SIGINT"));
  const { code, stdout } = await ended;
  const told: unknown = JSON.parse(stdout);
  expect({ code, told }).toMatchObject({ code: 130, told: { data: { isComplete: false, conversations: 0 } } });
});

test("the workflow of examples/ci compares a bundle", async () => {
  const { path: cwd, module } = await greeted();
  await turnlog(["export", "cnv_a", "cnv_b", "-o", "golden.jsonl"], { cwd });
  module("agent.ts", stackThat('"Hello."'));
  const workflow = readFileSync(join(import.meta.dirname, "../../../examples/ci/regress.yml"), "utf8");
  const [, line = ""] = /npx turnlog (regress .*)/.exec(workflow) ?? [];
  expect(await turnlog(line.split(" "), { cwd })).toMatchObject({
    ...{ code: 0, stdout: "2 of 2 requests compared, and none changes\n" },
  });
});
