import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { regressedConversation } from "../../../src/apps/documents/regression.ts";
import { greeted, stackThat } from "../../support/cli/greeted.ts";

const containing = (text: string): unknown => expect.stringContaining(text);

test("passes where nothing changes, and names the culprit where something does, in as many threads as are asked for", async () => {
  const { run, same, other } = await greeted();
  expect(await run(`--all --with ${same}`)).toMatchObject({
    ...{ code: 0, stdout: "3 of 3 requests compared, and none changes\n" },
    stderr: containing("a module may print"),
  });
  const changed = await run(`--all --with ${other} --jobs 2`);
  expect(changed).toMatchObject({ code: 5 });
  expect(changed.stdout.split("\n")).toEqual([
    "3 of 3 requests in 3 of 3 conversations change; first culprit: greet@2.0.0, block 0",
    ...["cnv_a", "cnv_b", "cnv_c"].map((name) => `${name}  1 request  greet@2.0.0`),
    "",
  ]);
});

test("writes a test case for each conversation, lines of JSON, and a text for a pull request", async () => {
  const { run, other, file } = await greeted();
  await run(
    `--all --with ${other} --junit ${file("junit.xml")} --markdown ${file("text.md")} --report ${file("report")}`,
  );
  const junit = readFileSync(file("junit.xml"), "utf8");
  expect(junit.match(/<testcase /g)).toHaveLength(3);
  expect(junit.match(/<failure message="1 of 1 request change: greet@2.0.0">/g)).toHaveLength(3);
  const [, ...lines] = readFileSync(file("report"), "utf8").trim().split("\n");
  const results = lines.slice(0, 3).map((line) => regressedConversation.parse(JSON.parse(line)));
  expect(results.map(({ differences }) => differences.length)).toEqual([1, 1, 1]);
  expect(readFileSync(file("text.md"), "utf8")).toContain("| `greet@2.0.0` | 3 | 3 |");
});

test("ends a thread that a layer blocks, says which, and compares the rest in a new one", async () => {
  const { run, module } = await greeted();
  const loops = 'ctx.conversationId === "cnv_b" ? (() => { for (;;); })() : "Hello."';
  const blocking = module("blocking.ts", stackThat(loops, "{ layerTimeoutMs: 100 }"));
  expect(await run(`--all --with ${blocking}`)).toMatchObject({
    ...{ code: 0, stderr: containing("cnv_b: the layer greet blocked its thread for longer than 100 ms") },
    stdout: "2 of 3 requests compared, and none changes\nunknown from here: 1 (blocked)\n",
  });
});
