import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { outcomeOf } from "../support/process.ts";

const check = join(import.meta.dirname, "../../tools/check-prose.cjs");

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-prose-"));
  await write("README.md", "# A project\n");
});
afterEach(() => rm(folder, { recursive: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(folder, dirname(path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

async function findings(): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
  const { code, stderr } = await outcomeOf(process.execPath, [check], { cwd: folder });
  return {
    code,
    lines: stderr
      .split("\n")
      .flatMap((line) => line.split(": name the actor")[0] ?? [])
      .filter(Boolean),
  };
}

test("the check reads neither packages nor the folders that other tests make and remove meanwhile", async () => {
  await write("test/docs/code-Ab12Cd/node_modules/openai/index.ts", "// Which is none.\n");
  await write("test/docs/node_modules/openai/index.ts", "// Which is none.\n");
  await write("test/docs/kept.ts", "// Which is none.\n");
  const { lines } = await findings();
  expect(lines).toEqual([expect.stringContaining("test/docs/kept.ts:1")]);
});

test.each([
  ["nobody knows", "# A project\n\nNobody knows\nwhether it happened.\n"],
  ["that is none", "# A project\n\nThrows for an option that is none.\n"],
  ["are none of", "# A project\n\nThese are none of its blocks.\n"],
])(
  "the checks report the phrase '%s' of a document, with its line, also where it is broken over two",
  async (phrase, text) => {
    await write("README.md", text);
    await write("docs/PAGE.md", text);
    const { code, lines } = await findings();
    expect(code).toBe(1);
    expect(lines.map((line) => line.toLowerCase())).toEqual(
      ["readme.md", "docs/page.md"].map((path) => `${path}:3 says "${phrase}"`),
    );
  },
);

test("the checks report a phrase of a comment, also where it is broken over two lines", async () => {
  await write("src/base/file.ts", "/**\n * An option, which\n * is none.\n */\n// Its own word.\n");
  expect(await findings()).toEqual({
    code: 1,
    lines: ['src/base/file.ts:2 says "which is none"', 'src/base/file.ts:5 says "Its own word"'],
  });
});

test("the checks report no decision, no string of the code, and no plain sentence", async () => {
  await write("docs/decisions/0001-a-choice.md", "Nobody knows.\n");
  await write("src/base/file.ts", 'export const message = "its own word";\n');
  await write("docs/PAGE.md", "There are none of these left. The understanding is beside the point.\n");
  expect(await findings()).toEqual({ code: 0, lines: [] });
});

test("the documents and comments of this repository pass the check", async () => {
  const { code, stderr } = await outcomeOf(process.execPath, [check], { cwd: join(import.meta.dirname, "../..") });
  expect(stderr).toBe("");
  expect(code).toBe(0);
});
