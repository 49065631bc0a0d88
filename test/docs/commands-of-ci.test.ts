import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const script = readFileSync(join(root, ".ci/run"), "utf8");

test("CI runs the suites that npm test leaves out", () => {
  const run = script.split("\n").filter((line) => line.startsWith("run_tests "));
  expect(run).toEqual(["test", "run test:slow", "run test:browser"].map((words) => `run_tests npm ${words}`));
});

test("no suite of npm run test:slow draws its cases, because the rounds of CI run npm test", () => {
  const [, pattern = ""] = /mapfile -t drawing < <\(grep -rlE \S+ '([^']+)' test\)/.exec(script) ?? [];
  const draws = (file: string): boolean => new RegExp(pattern, "m").test(readFileSync(join(root, file), "utf8"));
  const suites = globSync(["test/**/*.test.ts"], { cwd: root });
  const isSlow = (file: string): boolean => file.endsWith(".slow.test.ts") || file.startsWith("test/package/");
  expect(suites.filter(draws).length).toBeGreaterThan(50);
  expect(suites.filter((file) => isSlow(file) && draws(file))).toEqual([]);
});
