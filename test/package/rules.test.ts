import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import floors from "../../tools/floors.json" with { type: "json" };
import { outcomeOf } from "../support/process.ts";

const root = join(import.meta.dirname, "..", "..");

/** Every folder of a floor, and how far up it stands. */
const folders = floors.flatMap((names, height) =>
  names.filter((name) => !name.endsWith(".ts")).map((name) => ({ name, height })),
);
const configSchema = z.object({ default: z.object({ forbidden: z.array(z.object({ name: z.string() })) }) });
const config: unknown = await import(join(root, ".dependency-cruiser.js"));
const rules = configSchema.parse(config).default.forbidden.map(({ name }) => name);
const fromSrc = (name: string): string => "../".repeat(name.split("/").length);
const ruleOf = (name: string): string => `${name.replaceAll("/", "-")}-imports-down-only`;

type Planted = readonly [rule: string, file: string, code: string];

/** The folders that a folder may not import from: those above it, and those beside it. */
const notBelow = ({ name, height }: (typeof folders)[number]): readonly string[] =>
  folders.filter((other) => other.height >= height && other.name !== name).map((other) => other.name);

/** In each folder a file that imports from all of those. */
const upward: readonly Planted[] = folders.flatMap((folder) => {
  const { name } = folder;
  const imports = notBelow(folder).map((other) => `import "${fromSrc(name)}${other}/plain.ts";`);
  return imports.length === 0 ? [] : [[ruleOf(name), `src/${name}/upward.ts`, imports.join("\n")]];
});

/** A file for each other way to break the rules: the rule that has to report it, where it stands, what it says. */
const planted: readonly Planted[] = [
  ["apps-cli-imports-down-only", "src/apps/cli/top.ts", 'import "../../index.ts";'],
  ["index-ts-imports-down-only", "src/index.ts", 'import "./entries/plain.ts";'],
  ["entries-imports-down-only", "src/entries/top.ts", 'import "../index.ts";'],
  ["testing-contracts-imports-down-only", "src/testing/contracts/up.ts", 'import "../../apps/cli/plain.ts";'],
  ["every-file-has-a-floor", "src/engine/stray.ts", 'import "../base/plain.ts";'],
  [
    "packages-stand-alone",
    "packages/reference-server/src/judge.ts",
    'export type { Plain } from "../../../src/base/plain.ts";',
  ],
  ["judge-serves-tests", "src/engine/run/judged.ts", 'import "../../../packages/reference-server/src/plain.ts";'],
  ["truth-shares-nothing", "src/testing/rehearsal/expected.ts", 'import "../../domain/plain.ts";'],
  ["pure-floors", "src/domain/node.ts", 'import "node:fs";'],
  ["pure-floors", "src/engine/tracing/spans/node.ts", 'import "node:fs";'],
  ["pure-floors", "src/analysis/costs/prices/node.ts", 'import "node:fs";'],
  ["pure-floors-know-zod-only", "src/projections/npm.ts", 'import "rxjs";'],
  ["no-cycles", "src/engine/run/back.ts", 'import type { Plain } from "./cycle.ts"; export type Cycle = Plain;'],
  ["shipped-code-stands-alone", "src/log/test.ts", 'import "../../test/plain.ts";'],
  ["shipped-code-has-its-dependencies", "src/log/development.ts", 'import "fast-check";'],
  ["postgres-client-in-one-file", "src/stores/postgres-client.ts", 'import "pg";'],
  ["eventstoredb-client-in-one-file", "src/stores/client.ts", 'import "@eventstore/db-client";'],
  ["wires-stay-with-providers", "src/middleware/wire.ts", 'import "../providers/http/plain.ts";'],
  ["wires-stay-with-providers", "src/engine/recorded/wire.ts", 'import "../../providers/http/plain.ts";'],
  ["wires-stay-with-providers", "src/analysis/lists/wire.ts", 'import "../../providers/http/plain.ts";'],
  ["providers-know-the-port", "src/providers/http/insides.ts", 'import "../../engine/run/plain.ts";'],
  ["layers-know-the-port", "src/middleware/insides.ts", 'import "../engine/session/plain.ts";'],
  ["analysis-writes-nothing", "src/analysis/explain/writing.ts", 'import "../../log/writer/plain.ts";'],
  ["analysis-writes-nothing", "src/analysis/costs/running.ts", 'import "../../engine/run/plain.ts";'],
  ["replay-touches-nothing", "src/replay/outside.ts", 'import "../engine/session/far.ts";'],
  ["replay-touches-nothing", "src/replay/lasting.ts", 'import "../stores/sqlite/kept.ts";'],
  ["replay-writes-nothing", "src/replay/writing.ts", 'import "../engine/run/begin.ts";'],
  ["conversations-have-one-reader", "src/conversation/raw.ts", 'import "../log/codec/raw-reader.ts";'],
  ["conversations-have-one-reader", "src/analysis/lists/raw.ts", 'import "../../log/codec/raw-reader.ts";'],
  ["tests-start-programs-in-one-way", "test/other-way.ts", 'import "node:child_process";'],
  ["unit-tests-start-no-process", "test/started.test.ts", 'import "./support/process.ts";'],
  ["no-unresolvable", "src/log/nowhere.ts", 'import "./missing.ts";'],
];
/** The rest of a cycle, which is reported once, the top of the package, and what a replay must not get to. */
const around = [
  ["src/engine/run/cycle.ts", 'import type { Cycle } from "./back.ts"; export type Plain = Cycle;'],
  ["src/engine/run/begin.ts", "export {};"],
  ["src/log/codec/raw-reader.ts", "export {};"],
  ["src/stores/sqlite/kept.ts", "export {};"],
  ["src/engine/session/far.ts", 'import "./farther.ts";'],
  ["src/engine/session/farther.ts", 'import "node:net";'],
  ["test/support/process.ts", "export {};"],
] as const;
const plain = [...folders.map(({ name }) => `src/${name}`), "packages/reference-server/src", "test"].map(
  (at) => `${at}/plain.ts`,
);

const reportSchema = z.object({
  summary: z.object({
    violations: z.array(z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) })),
  }),
});

let folder = "";
let violations: z.infer<typeof reportSchema>["summary"]["violations"] = [];
let reported: readonly string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-rules-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await symlink(join(root, "package.json"), join(folder, "package.json"));
  await symlink(join(root, "tsconfig.json"), join(folder, "tsconfig.json"));
  const files = [...[...planted, ...upward].map(([, file, code]) => [file, code] as const), ...around];
  for (const [file, code] of [...files, ...plain.map((file) => [file, "export type Plain = 1;"] as const)]) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), code);
  }
  const command = join(root, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");
  const words = [
    command,
    "--config",
    join(root, ".dependency-cruiser.js"),
    "--output-type",
    "json",
    "src",
    "packages",
    "test",
  ];
  const { stdout } = await outcomeOf(process.execPath, words, { cwd: folder });
  ({ violations } = reportSchema.parse(JSON.parse(stdout)).summary);
  reported = violations.map(({ from, rule }) => `${rule.name} ${from}`);
});
afterAll(() => rm(folder, { recursive: true }));

test.each(folders.filter((folder) => notBelow(folder).length > 0))(
  "the checks report every import that points up or aside from $name",
  (folder) => {
    const found = violations.filter(
      ({ from, rule }) => from === `src/${folder.name}/upward.ts` && rule.name === ruleOf(folder.name),
    );
    expect(found.map(({ to }) => to).toSorted()).toEqual(
      notBelow(folder)
        .map((name) => `src/${name}/plain.ts`)
        .toSorted(),
    );
  },
);

test.each(planted)("the checks report %s, broken in %s", (rule, file) => {
  expect(reported).toContain(`${rule} ${file}`);
});

test("every rule of the checks is broken somewhere", () => {
  const broken = new Set(reported.map((each) => each.split(" ")[0]));
  expect(rules.filter((name) => !broken.has(name))).toEqual([]);
});

test("the checks report nothing else: only planted files break a rule", () => {
  const files = new Set(reported.map((each) => each.split(" ")[1]));
  const every = [...planted, ...upward].map(([, file]) => file);
  expect([...files].toSorted()).toEqual(every.toSorted());
});
