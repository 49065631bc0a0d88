import { chmodSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commandGroups, commandsByName } from "../../../src/apps/cli/command-list.ts";
import { globalOptions } from "../../../src/apps/cli/global-options.ts";
import { shells } from "../../../src/apps/documents/running.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { commandFile, outcomeOf } from "../../support/process.ts";

const demoStore = useDemoStore();

const shellsHere = new Set<string>();
for (const shell of shells)
  await outcomeOf(shell, ["-c", "true"]).then(
    ({ code }) => code === 0 && shellsHere.add(shell),
    () => undefined,
  );
const isHere = (shell: string): boolean => shellsHere.has(shell);

/** A folder with a demo's store and the program, as scripts find it by the first word of a line; and a shell's script. */
async function programAnd(shell: string) {
  const { path: cwd, file } = demoStore();
  const { stdout: script } = await turnlogHere(["completion", shell], { cwd });
  writeFileSync(file(`completion.${shell}`), script);
  writeFileSync(file("turnlog"), `#!/bin/sh\nexec "${process.execPath}" "${commandFile}" "$@"\n`);
  chmodSync(file("turnlog"), 0o755);
  return { cwd, file, script };
}

/** Completes lines in bash, each at its end, where the words that are given stand for what was typed. */
async function completed(lines: readonly (readonly string[])[]): Promise<readonly (readonly string[])[]> {
  const { cwd, script } = await programAnd("bash");
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

const typed = [
  ["turnlog sho", /^turnlog show $/],
  ["turnlog projections reb", /^turnlog projections rebuild $/],
  ["turnlog log --rev", /^turnlog log --reverse $/],
  ["turnlog append --as sys", /^turnlog append --as system $/],
  ["turnlog show cnv_", /^turnlog show cnv_\w+ $/],
  ["turnlog completion z", /^turnlog completion zsh $/],
] as const;

test.skipIf(!isHere("zsh"))("zsh completes what is typed at its prompt (skipped where there is no zsh)", async () => {
  const { cwd, file } = await programAnd("zsh");
  // A zsh that somebody types in, at a terminal of its own: tab completes, and the next key tells the line.
  const setUp =
    "PS1= RPS1=; autoload -U compinit && compinit -D -u; source ./completion.zsh; tell() { print -r -- \\<\\<$BUFFER\\>\\>; BUFFER=; }; zle -N tell; bindkey '^X' tell; print re''ady";
  writeFileSync(
    file("drive.zsh"),
    `zmodload zsh/zpty
zpty typed env HOME="$PWD" ZDOTDIR="$PWD" PATH="$PWD:$PATH" TERM=dumb zsh -f -i
zpty -w typed ${JSON.stringify(setUp).replaceAll("$", "\\$")}
zpty -r -m typed line '*ready*'
for words in "$@"; do
  zpty -w -n typed "$words"$'\\t\\x18'
  zpty -r -m typed line '*<<*>>*'
  print -r -- "\${\${line##*<<}%%>>*}"
done
zpty -d typed
`,
  );
  const ended = await outcomeOf("zsh", ["-f", "drive.zsh", ...typed.map(([words]) => words)], { cwd });
  const lines = ended.stdout.split("\n");
  for (const [index, [, line]] of typed.entries()) expect(lines[index]).toMatch(line);
});

test.skipIf(!isHere("fish"))("fish completes what is typed (skipped where there is no fish)", async () => {
  const { cwd } = await programAnd("fish");
  const asked = typed.map(([words]) => `complete -C '${words}' | string split -f 1 \\t; echo end`);
  const command = `set -x PATH $PWD $PATH; source completion.fish; ${asked.join("; ")}`;
  const ended = await outcomeOf("fish", ["--no-config", "-c", command], { cwd });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const answers = ended.stdout.split("end\n").slice(0, -1);
  expect(answers).toHaveLength(typed.length);
  for (const [index, [words, line]] of typed.entries())
    expect(`${words.slice(0, words.lastIndexOf(" "))} ${answers[index]?.trim()} `).toMatch(line);
});

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
