import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { turnlog } from "../../support/cli/command-process.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import type { Outcome } from "../../support/outcome.ts";
import { commandFile, outcomeOf } from "../../support/process.ts";

const demoStore = useDemoStore();

/** The ways to write a text into a file. */
const writing = ["export @last -o", "verify --save-heads"] as const;

function place() {
  const { path: cwd, file } = demoStore();
  const run = (typed: string, path: string): Promise<Outcome> => turnlogHere([...typed.split(" "), path], { cwd });
  return { cwd, file, run };
}

test.each(writing)("%s replaces the file that a link names, also one that is not there yet", async (typed) => {
  const { cwd, file, run } = place();
  mkdirSync(file("kept"));
  writeFileSync(file("kept/old"), "");
  symlinkSync("kept/old", file("link"));
  symlinkSync("kept/new", file("dangling"));
  expect(await run(typed, file("plain"))).toMatchObject({ code: 0 });
  for (const [link, target] of [
    ["link", "kept/old"],
    ["dangling", "kept/new"],
  ] as const) {
    expect(await run(typed, file(link))).toMatchObject({ code: 0 });
    expect(readlinkSync(file(link))).toBe(target);
    expect(readFileSync(file(target), "utf8")).toBe(readFileSync(file("plain"), "utf8"));
  }
  expect([...readdirSync(cwd), ...readdirSync(file("kept"))].filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

const isWindows = process.platform === "win32";
test.skipIf(isWindows).each(writing)(
  "%s writes into a pipe, which stays one (skipped on Windows, which has none)",
  async (typed) => {
    const { file, run } = place();
    expect(await run(typed, file("plain"))).toMatchObject({ code: 0 });
    await makePipe(file("pipe"));
    const reading = outcomeOf("cat", [file("pipe")]);
    expect(await run(typed, file("pipe"))).toMatchObject({ code: 0 });
    expect(lstatSync(file("pipe")).isFIFO()).toBe(true);
    expect((await reading).stdout).toBe(readFileSync(file("plain"), "utf8"));
  },
);

test.skipIf(isWindows)(
  "export -o /dev/stdout, and -, write into the pipe at their end (skipped on Windows)",
  async () => {
    const { cwd, file, run } = place();
    expect(await run("export @last -o", file("plain"))).toMatchObject({ code: 0 });
    const bundle = readFileSync(file("plain"), "utf8");
    for (const output of ["/dev/stdout", "-"]) {
      const outcome = await turnlog(["export", "@last", "-o", output], { cwd });
      expect(outcome).toMatchObject({ code: 0, stderr: "" });
      expect(outcome.stdout).toBe(bundle);
    }
    // A pipe of a shell, whose name leads to no path.
    const piped = `"${process.execPath}" "${commandFile}" verify --save-heads /dev/stderr 2>&1 | cat`;
    expect((await outcomeOf("sh", ["-c", piped], { cwd })).stdout).toMatch(/conversation-cnv_\w+/);
  },
);

test.skipIf(isWindows)(
  "store backup refuses a pipe, which stays one (skipped on Windows, which has none)",
  async () => {
    const { file, run } = place();
    await makePipe(file("pipe"));
    for (const typed of ["store backup", "store backup --force"]) {
      const outcome = await run(typed, file("pipe"));
      expect(outcome).toMatchObject({ code: 2, stdout: "" });
      expect(outcome.stderr).toMatch(
        /^turnlog: \S+pipe is a pipe or a device, but a store needs a file: name a file\n$/,
      );
    }
    expect(lstatSync(file("pipe")).isFIFO()).toBe(true);
  },
);

test.each([...writing, "store backup", "store backup --force", "store restore --force"])(
  "%s refuses a folder, exits 2, and leaves nothing behind",
  async (typed) => {
    const { cwd, file, run } = place();
    mkdirSync(file("folder"));
    const isRestore = typed.startsWith("store restore");
    const outcome = isRestore
      ? await run(`${typed} --store sqlite:${file("folder")}`, file("turnlog.db"))
      : await run(typed, file("folder"));
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(/^turnlog: \S+folder is a folder: name a file in it\n$/);
    expect(readdirSync(cwd).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(readdirSync(file("folder"))).toEqual([]);
  },
);

async function makePipe(path: string): Promise<void> {
  expect(await outcomeOf("mkfifo", [path])).toMatchObject({ code: 0 });
}
