import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { engineFaults } from "../support/planted/engine-faults.ts";
import { outcomeOf, outsideOfVitest } from "../support/process.ts";

const root = join(import.meta.dirname, "../..");
/** A copy of the repository, for one fault after another. */
let copy = "";

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "turnlog-planted-"));
  for (const name of ["src", "packages", "test", "docs", "tools", "package.json", "tsconfig.json", "vitest.config.ts"])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(realpathSync(join(root, "node_modules")), join(copy, "node_modules"));
});
afterAll(() => {
  rmSync(copy, { recursive: true, force: true });
});

const reportSchema = z.object({
  numFailedTests: z.int(),
  testResults: z.array(z.object({ name: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
});

/** How many tests of some suites fail in the copy; a suite that does not load, or has no tests, is an error. */
async function failuresIn(suites: readonly string[]): Promise<number> {
  const report = join(copy, "report.json");
  const words = [
    "run",
    ...suites.map((suite) => `test/${suite}.test.ts`),
    "--project",
    "unit",
    "--testTimeout",
    "20000",
  ];
  const reporting = ["--reporter", "json", "--outputFile", report, "--fsModuleCachePath", join(copy, ".cache")];
  await outcomeOf(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...words, ...reporting], {
    cwd: copy,
    env: outsideOfVitest,
  });
  const { numFailedTests, testResults } = reportSchema.parse(JSON.parse(readFileSync(report, "utf8")));
  rmSync(report);
  const loaded = testResults.filter(({ assertionResults }) => assertionResults.length > 0);
  expect(loaded, "every suite loads and has tests").toHaveLength(suites.length);
  return numFailedTests;
}

test("without a fault every suite passes", { timeout: 1_200_000 }, async () => {
  expect(await failuresIn([...new Set(engineFaults.map(({ suite }) => suite))])).toBe(0);
});

test.each(engineFaults)("$of: $suite fails", { timeout: 600_000 }, async ({ file, find, put, suite }) => {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  expect(source.split(find)).toHaveLength(2);
  writeFileSync(
    path,
    source.replace(find, () => put),
  );
  try {
    expect(await failuresIn([suite])).toBeGreaterThan(0);
  } finally {
    writeFileSync(path, source);
  }
});
