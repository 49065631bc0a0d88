import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../support/cli/command-process.ts";
import { outcomeOf, outputOf } from "../support/process.ts";

const root = resolve(import.meta.dirname, "../..");
const readme = await readFile(join(root, "README.md"), "utf8");
const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language = "", code = ""]) => ({
  language,
  code,
}));

/** Commands that the tests themselves are part of: CI runs them. */
const runByCi = new Set(["npm ci && npm start", "npm ci && npm test"]);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(root, "test", "docs", "readme-"));
  // A stranger's project next to an installed package: the sources stand in for it.
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
});
afterAll(() => rm(folder, { recursive: true }));

test("the README has code of every kind that is run here", () => {
  expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(["sh", "ts", "text"]));
});

for (const [index, { code }] of blocks.filter(({ language }) => language === "ts").entries()) {
  test(`the README's TypeScript block ${index + 1} runs as it stands`, async () => {
    const file = join(folder, `block-${index}.ts`);
    await writeFile(file, code.replaceAll('"turnlog"', JSON.stringify(join(root, "src/index.ts"))));
    const ended = await outcomeOf(process.execPath, [file], { cwd: folder });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    if (index === 0)
      expect(ended.stdout).toBe("It is sunny in Paris. [ 'full', 'chained' ]\n[ 'What is the weather in Paris?' ]\n");
  });
}

test("the README's commands run in the order in which they stand", async () => {
  const lines = blocks.filter(({ language }) => language === "sh").flatMap(({ code }) => code.trim().split("\n"));
  const own = lines.filter((line) => !runByCi.has(line));
  expect(lines.length - own.length).toBe(runByCi.size);
  for (const line of own) {
    const [command, ...words] = line.split(" ");
    expect(command).toBe("turnlog");
    expect(await outputOf([main, ...words], { cwd: folder }), line).not.toBe("");
  }
});
