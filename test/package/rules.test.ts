import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { outcomeOf } from "./outcome.ts";

const root = join(import.meta.dirname, "..", "..");

/** A file for each way to break the layers: the rule that has to report it, where it stands, what it says. */
const planted: readonly (readonly [rule: string, file: string, code: string])[] = [
  ["base-imports-down-only", "src/base/up.ts", 'import "../domain/plain.ts";'],
  ["domain-imports-down-only", "src/domain/up.ts", 'export type { Plain } from "../engine/plain.ts";'],
  ["projections-imports-down-only", "src/projections/up.ts", 'import "../engine/plain.ts";'],
  ["engine-imports-down-only", "src/engine/up.ts", 'import "../providers/plain.ts";'],
  ["engine-imports-down-only", "src/engine/top.ts", 'import "../index.ts";'],
  ["stores-imports-down-only", "src/providers/up.ts", 'import "../cli/plain.ts";'],
  ["floor-5-siblings", "src/stores/sibling.ts", 'import "../providers/plain.ts";'],
  ["judge-shares-nothing", "src/reference-server/judge.ts", 'export type { Plain } from "../base/plain.ts";'],
  ["truth-shares-nothing", "src/rehearsal/expected.ts", 'import "../engine/plain.ts";'],
  ["pure-floors", "src/domain/node.ts", 'import "node:fs";'],
  ["pure-floors-know-zod-only", "src/projections/npm.ts", 'import "rxjs";'],
  ["no-cycles", "src/engine/back.ts", 'import type { Plain } from "./cycle.ts"; export type Cycle = Plain;'],
  ["shipped-code-stands-alone", "src/engine/test.ts", 'import "../../test/plain.ts";'],
  ["shipped-code-has-its-dependencies", "src/engine/development.ts", 'import "fast-check";'],
  ["replay-touches-nothing", "src/engine/replay/outside.ts", 'import "../far.ts";'],
  ["replay-writes-nothing", "src/engine/replay/writing.ts", 'import "../conversation.ts";'],
  ["no-unresolvable", "src/engine/nowhere.ts", 'import "./missing.ts";'],
];
/** The rest of a cycle, which is reported once, the top of the package, and what a replay must not get to. */
const around = [
  ["src/engine/cycle.ts", 'import type { Cycle } from "./back.ts"; export type Plain = Cycle;'],
  ["src/index.ts", "export {};"],
  ["src/engine/conversation.ts", "export {};"],
  ["src/engine/far.ts", 'import "./farther.ts";'],
  ["src/engine/farther.ts", 'import "node:net";'],
] as const;
const plain = ["src/base", "src/domain", "src/engine", "src/providers", "src/cli", "test"].map(
  (at) => `${at}/plain.ts`,
);

const reportSchema = z.object({
  summary: z.object({ violations: z.array(z.object({ from: z.string(), rule: z.object({ name: z.string() }) })) }),
});

let folder = "";
let reported: readonly string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-rules-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await symlink(join(root, "package.json"), join(folder, "package.json"));
  await symlink(join(root, "tsconfig.json"), join(folder, "tsconfig.json"));
  const files = [...planted.map(([, file, code]) => [file, code] as const), ...around];
  for (const [file, code] of [...files, ...plain.map((file) => [file, "export type Plain = 1;"] as const)]) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), code);
  }
  const command = join(root, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");
  const words = [command, "--config", join(root, ".dependency-cruiser.js"), "--output-type", "json", "src", "test"];
  const { stdout } = await outcomeOf(process.execPath, words, { cwd: folder });
  reported = reportSchema.parse(JSON.parse(stdout)).summary.violations.map(({ from, rule }) => `${rule.name} ${from}`);
});
afterAll(() => rm(folder, { recursive: true }));

test.each(planted)("the checks report %s, broken in %s", (rule, file) => {
  expect(reported).toContain(`${rule} ${file}`);
});

test("the checks report nothing else: every planted file breaks its own rule only", () => {
  expect([...new Set(reported)].toSorted()).toEqual(
    [...new Set(planted.map(([rule, file]) => `${rule} ${file}`))].toSorted(),
  );
});
