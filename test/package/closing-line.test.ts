import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Outcome } from "../support/outcome.ts";
import { outcomeOf, outsideOfVitest } from "../support/process.ts";

const root = join(import.meta.dirname, "..", "..");

const files = {
  passing: 'test("passes", () => {}); test.skip("is skipped", () => {});',
  failing: 'test("fails", () => { throw new Error("wrong"); });',
  unloadable: 'import "./missing.ts"; test("is never reached", () => {});',
  stray: 'test("leaves a rejection behind", () => { void Promise.reject(new Error("stray")); });',
  hook: 'describe("with a hook", () => { beforeAll(() => { throw new Error("hook"); }); test("waits", () => {}); });',
} as const;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-closing-line-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const reporters = JSON.stringify([join(root, "test/support/closing-line.ts")]);
  await writeFile(join(folder, "vitest.config.js"), `export default { test: { reporters: ${reporters} } };`);
  const imports = 'import { beforeAll, describe, test } from "vitest";\n';
  for (const [name, code] of Object.entries(files)) await writeFile(join(folder, `${name}.test.ts`), imports + code);
});
afterAll(() => rm(folder, { recursive: true }));

test("a run that passes ends with 0 and its counts", async () => {
  const { code, stdout } = await vitest("passing");
  expect({ code, last: lastLine(stdout) }).toEqual({ code: 0, last: "1 passed, 0 failed, 1 skipped" });
});

test("a test, a file that does not load, an unhandled rejection and a hook each count as a failure", async () => {
  const { code, stdout } = await vitest();
  expect({ code, last: lastLine(stdout) }).toEqual({ code: 1, last: "2 passed, 4 failed, 2 skipped" });
});

test("a run that fails for another reason does not read as if all were well", async () => {
  const { code, stdout } = await vitest("nowhere");
  expect({ code, last: lastLine(stdout) }).toEqual({ code: 1, last: "0 passed, 1 failed, 0 skipped" });
});

const lastLine = (text: string): string | undefined => text.trimEnd().split("\n").at(-1);

const vitest = (...names: readonly string[]): Promise<Outcome> =>
  outcomeOf(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...names], {
    cwd: folder,
    env: outsideOfVitest,
  });
