import { chmodSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commandGroups, commandsByName } from "../../src/cli/command-list.ts";
import { shells } from "../../src/cli/completion.ts";
import { globalOptions } from "../../src/cli/global-options.ts";
import { turnlogHere } from "../support/cli/command.ts";
import { main } from "../support/cli/command-process.ts";
import { useDemoStore } from "../support/cli/demo-store.ts";
import { outcomeOf } from "../support/process.ts";

const demoStore = useDemoStore();

const shellsHere = new Set<string>();
for (const shell of shells)
  await outcomeOf(shell, ["-c", "true"]).then(
    ({ code }) => code === 0 && shellsHere.add(shell),
    () => undefined,
  );
const isHere = (shell: string): boolean => shellsHere.has(shell);

/** Completes lines in bash, each at its end, where the words that are given stand for what was typed. */
async function completed(lines: readonly (readonly string[])[]): Promise<readonly (readonly string[])[]> {
  const { path: cwd, file } = demoStore();
  const { stdout: script } = await turnlogHere(["completion", "bash"], { cwd });
  // The program, as the script finds it by the first word of a line.
  writeFileSync(file("turnlog"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(file("turnlog"), 0o755);
  const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
  const asked = lines.map(
    (words) =>
      `COMP_WORDS=(./turnlog ${words.map(quoted).join(" ")}); COMP_CWORD=${words.length}; _turnlog; echo "\${COMPREPLY[*]}"`,
  );
  const ended = await outcomeOf("bash", ["--norc", "-c", [script, ...asked].join("\n")], { cwd });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => line.split(" ").filter((word) => word !== ""));
}

const inBash = test.skipIf(!isHere("bash"));
const names = commandGroups.flatMap(({ commands }) => commands.map(({ name }) => name));

inBash("bash completes every command, subcommand and option (skipped where there is no bash)", async () => {
  const all = [...commandsByName];
  const [top, ...options] = await completed([[""], ...all.map(([name]) => [...name.split(" "), "-"])]);
  expect(top).toEqual([...names, "help"]);
  for (const [index, [name, definition]] of all.entries()) {
    const flags = [...(definition.options ?? []), ...globalOptions].flatMap(({ short, long }) =>
      [short, long].flatMap((flag) => flag ?? []),
    );
    expect(options[index], name).toEqual([...flags, "--help"]);
  }
});

inBash("bash completes what an option may be, files, subcommands and conversations", async () => {
  const [color, role, files, sub, shell, named, part, elsewhere, value] = await completed([
    ["log", "--color", "a"],
    ["append", "--as", "s"],
    ["verify", "--heads", "turnlog.d"],
    ["--json", "projections", "re"],
    ["completion", ""],
    ["show", ""],
    ["log", "--grep", "x", "-p", "cnv_"],
    ["--store", "sqlite:none.db", "log", ""],
    ["log", "--grep", ""],
  ]);
  expect(color).toEqual(["auto", "always"]);
  expect(role).toEqual(["system"]);
  expect(files).toContain("turnlog.db");
  expect(sub).toEqual(["rebuild", "retry"]);
  expect(shell).toEqual([...shells]);
  expect(named).toEqual([expect.stringMatching(/^cnv_\w+$/)]);
  expect(part).toEqual(named);
  expect(elsewhere).toEqual([]);
  expect(value).toEqual([]);
});

for (const shell of ["zsh", "fish"] as const) {
  const needs = `(skipped where there is no ${shell})`;
  test.skipIf(!isHere(shell))(`${shell} can read its script ${needs}`, async () => {
    const { path: cwd, file } = demoStore();
    const { stdout: script } = await turnlogHere(["completion", shell], { cwd });
    writeFileSync(file(`completion.${shell}`), script);
    const ended = await outcomeOf(shell, ["-n", file(`completion.${shell}`)]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });
}

test("every script names every command, and an unknown shell is refused with those that there are", async () => {
  const { path: cwd } = demoStore();
  for (const shell of shells) {
    const { stdout } = await turnlogHere(["completion", shell], { cwd });
    for (const name of names) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`));
  }
  const refused = await turnlogHere(["completion", "powershell"], { cwd });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toBe("turnlog: there is no completion for 'powershell': give 'bash', 'zsh' or 'fish'\n");
});
