import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { commandGroups, commandsByName } from "../../../src/apps/cli/command-list.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { turnlog } from "../../support/cli/command-process.ts";
import { built, outcomeOf, outputOf } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"));

/** Makes Node tell on stderr which of the heavy files it loads: ws, the parts of the bundle with zod (tools/build.ts), and those with rxjs. */
const tellHeavyFiles = `
  import { registerHooks } from "node:module";
  const tell = (name) => process.stderr.write("loaded " + name + "\\n");
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const found = /node_modules.(ws).|chunks.(list-turnlog|list|turnlog)-/.exec(resolved.url);
      if (found) tell(found[1] ?? found[2]);
      return resolved;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      for (const name of ["rxjs", "zod"]) if (String(loaded.source).includes("node_modules/" + name + "/")) tell(name);
      return loaded;
    },
  });`;
const importing = (code: string): readonly string[] => ["--import", `data:text/javascript,${encodeURIComponent(code)}`];

test("prints its version", async () => {
  const { code, stdout, stderr } = await turnlog(["--version"], { cwd: temporaryFolder().path });
  expect({ code, stdout: stdout.trim(), stderr }).toMatchObject({ code: 0, stderr: "" });
  expect(manifest).toMatchObject({ version: stdout.trim() });
});

test.each([["--version"], ["--help"], ["rehearse --help"]])("%s loads neither zod nor ws nor rxjs", async (typed) => {
  const options = { cwd: temporaryFolder().path, nodeArguments: importing(tellHeavyFiles) };
  const { code, stderr } = await turnlog(typed.split(" "), options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("a command that needs them loads them, so the test above can fail", async () => {
  const options = { cwd: temporaryFolder().path, nodeArguments: importing(tellHeavyFiles) };
  const { stderr } = await turnlog(["demo", "-q"], options);
  for (const file of ["list-turnlog", "turnlog", "ws", "zod"]) expect(stderr).toContain(`loaded ${file}\n`);
});

test("a program that imports turnlog gets what its sources export, and loads no database and nothing that starts processes", async () => {
  const index = pathToFileURL(join(built, "index.js")).href;
  const code = `
    const turnlog = await import(${JSON.stringify(index)});
    const has = (name) => process.moduleLoadList.includes("NativeModule " + name);
    console.log(JSON.stringify({ names: Object.keys(turnlog), loaded: ["sqlite", "child_process", "fs"].filter(has) }));`;
  const said = await outputOf(["--input-type=module", "-e", code]);
  const names = Object.keys(await import("../../../src/index.ts"));
  expect(JSON.parse(said)).toEqual({ names: names.toSorted(), loaded: ["fs"] });
});

/** Which of the heavy files a program loads that imports an entry. */
async function loadedBy(entry: string): Promise<readonly string[]> {
  const url = JSON.stringify(pathToFileURL(join(built, entry)).href);
  const words = [...importing(tellHeavyFiles), "--input-type=module", "-e", `import ${url};`];
  const { code, stderr } = await outcomeOf(process.execPath, words);
  expect(code).toBe(0);
  return stderr.split("\n").flatMap((line) => /^loaded (.*)$/.exec(line)?.[1] ?? []);
}

test("a program loads rxjs with live views only, and not with turnlog itself", async () => {
  const root = await loadedBy("index.js");
  expect(root).toContain("turnlog");
  expect(root).not.toContain("rxjs");
  expect(await loadedBy("entries/projections.js")).toContain("rxjs");
});

test("under a too old Node it says so in one line, and exits 6", async () => {
  const old = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } })`;
  const { code, stdout, stderr } = await turnlog(["demo"], {
    cwd: temporaryFolder().path,
    nodeArguments: importing(old),
  });
  expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
  expect(stderr).toMatch(/^turnlog: needs Node 22\.13 or newer, but this is 20\.20\.2: .*\n$/);
});

test("help names every command, and goes to stdout", async () => {
  const { code, stdout, stderr } = await turnlog(["--help"], { cwd: temporaryFolder().path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const { heading, commands } of commandGroups) {
    expect(stdout).toContain(`\n${heading}\n`);
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  }
  for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(100);
});

test.each([...commandsByName])(
  "help of %s shows its own options, the global ones and an example of it",
  async (name, command) => {
    const { code, stdout } = await turnlogHere([...name.split(" "), "--help"], { cwd: temporaryFolder().path });
    expect(code).toBe(0);
    const options = (command.options ?? []).map(({ flags }) => flags);
    for (const flags of [...options, "--store <url>", "--json", "--debug"]) expect(stdout).toContain(`  ${flags} `);
    expect(command.example.startsWith(name)).toBe(true);
    expect(stdout).toContain(`\nExample: turnlog ${command.example}\n`);
  },
);

test("without a command it shows the help on stderr, and exits 2", async () => {
  const { code, stdout, stderr } = await turnlog([], { cwd: temporaryFolder().path });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("Usage: turnlog");
});
