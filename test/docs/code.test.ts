import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { turnlogHere } from "../support/cli/command.ts";
import { outcomeOf } from "../support/process.ts";

const root = resolve(import.meta.dirname, "../..");

/** Commands that the tests themselves are part of: CI runs them. */
const runByCi = new Set(["npm ci && npm start", "npm ci && npm test", "npm install turnlog zod"]);

const documents = ["README.md", ...readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"))].map(
  (name) => {
    const text = readFileSync(join(root, name === "README.md" ? name : `docs/${name}`), "utf8");
    const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```/gms)];
    return { name, blocks: blocks.map(([, language = "", code = ""]) => ({ language, code })) };
  },
);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(root, "test", "docs", "code-"));
  // A stranger's project next to an installed package: by the package's name Node finds what was built.
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
});
afterAll(() => rm(folder, { recursive: true }));

test("documents have code of such kinds as are run here, and pictures", () => {
  const languages = documents.flatMap(({ blocks }) => blocks.map(({ language }) => language));
  expect(new Set(languages)).toEqual(new Set(["sh", "ts", "text"]));
});

const programs = documents.map(({ name, blocks }) => ({
  name,
  files: blocks
    .filter(({ language }) => language === "ts")
    .map(({ code }, index) => ({ file: `${name}-${index + 1}.ts`, code })),
}));

// The programs share a process, one after the other: most of what each takes is the start.
test.each([
  ["README.md", programs.slice(0, 1)],
  ["the documents", programs.slice(1)],
] as const)("the TypeScript blocks of %s run unchanged, and leave nothing open", async (name, documents) => {
  const files = documents.flatMap((document) => document.files);
  for (const { file, code } of files) await writeFile(join(folder, file), code);
  const all = files.map(({ file }) => `await import("./${file}");\n`);
  await writeFile(join(folder, `${name}.ts`), all.join(""));
  const ended = await outcomeOf(process.execPath, [join(folder, `${name}.ts`)], { cwd: folder });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  if (name === "README.md")
    expect(ended.stdout).toBe("It is sunny in Paris. [ 'full', 'chained' ]\n[ 'What is the weather in Paris?' ]\n");
});

const [readme] = documents;
test("the README's commands run in their order", async () => {
  const commands = readme?.blocks.filter(({ language }) => language === "sh") ?? [];
  const own = commands.flatMap(({ code }) => code.trim().split("\n")).filter((line) => !runByCi.has(line));
  expect(own.length).toBeGreaterThan(5);
  for (const line of own) {
    const [command, ...words] = line.split(" ");
    expect(command).toBe("turnlog");
    const { code, stdout } = await turnlogHere(words, { cwd: folder });
    expect({ line, code, hasSaid: stdout !== "" }).toEqual({ line, code: 0, hasSaid: true });
  }
});
