import { closeSync, existsSync, openSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { constants } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { turnlog } from "../../support/cli/command-process.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { expectRefusal } from "../../support/cli/refusal.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

test.each([
  [
    "a link to itself",
    "loop.db",
    /is a link that leads back to itself: point the link at a file, or name another path$/m,
  ],
  ["a folder that is one", "loop/turnlog.db", /is a link that leads back to itself/],
  [
    "a link into a missing folder",
    "dangling.db",
    /dangling\.db is a link to \S+gone\/turnlog\.db, which cannot be created: create the folder \S+gone first$/m,
  ],
  [
    "a folder that is a link to nothing",
    "nothing/turnlog.db",
    /cannot be created: the folder nothing is a link to nothing; point it at a folder$/m,
  ],
])("says of %s what is wrong with it, and exits 6", async (_, path, message) => {
  const { path: cwd, file } = temporaryFolder();
  symlinkSync("loop.db", file("loop.db"));
  symlinkSync("loop", file("loop"));
  symlinkSync("gone/turnlog.db", file("dangling.db"));
  symlinkSync("gone", file("nothing"));
  expectRefusal(await turnlog(["demo", "--store", `sqlite:${path}`], { cwd }), 6, message);
});

test("says that a port is in use, and exits 6", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = typeof address === "object" && address !== null ? String(address.port) : "";
  const outcome = await turnlog(["reference-server", "--port", port], { cwd: temporaryFolder().path });
  expectRefusal(outcome, 6, /EADDRINUSE.*choose another --port, or stop the program that listens there/);
});

test("says that the provider is down, exits 6, and loses nothing", async () => {
  const { path: cwd } = temporaryFolder();
  const unused = createServer();
  await new Promise<void>((resolve) => void unused.listen(0, "127.0.0.1", resolve));
  const address = unused.address();
  await new Promise((resolve) => unused.close(resolve));
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  expectRefusal(
    await turnlog(["demo", "-q", "--server", url], { cwd }),
    6,
    /cannot reach the provider: .*: check that the server runs/,
  );
  expect(await turnlogHere(["verify"], { cwd })).toMatchObject({ code: 0 });
  const { stdout } = await turnlogHere(["log", "@last"], { cwd });
  expect(stdout).toContain("I am ada@example.org");
  expect(stdout).toContain("run failed (connection)");
});

test.skipIf(!existsSync("/dev/full"))(
  "says that the disk under its output is full, and exits 6 (skipped where there is no /dev/full)",
  async () => {
    const { path: cwd } = demoStore();
    const full = openSync("/dev/full", "w");
    onTestFinished(() => {
      closeSync(full);
    });
    for (const typed of ["log @last", "ls --json", "export @last", "--help"]) {
      const outcome = await turnlog(typed.split(" "), { cwd, output: full });
      expect(outcome, typed).toEqual({
        code: 6,
        stdout: "",
        stderr: "turnlog: the output cannot be written: no space left on device: free some space\n",
      });
    }
  },
);

test("says that its output cannot be written, and exits 6; a reader that has seen enough is no failure", async () => {
  const { path: cwd } = demoStore();
  const logInto = (code: "EIO" | "EPIPE"): Promise<Outcome> => {
    const error = `Object.assign(new Error("failed"), { code: "${code}", errno: ${-constants.errno[code]} })`;
    const failing = `process.stdout.write = () => process.stdout.destroy(${error})`;
    const nodeArguments = ["--import", `data:text/javascript,${encodeURIComponent(failing)}`];
    return turnlog(["log", "@last"], { cwd, nodeArguments });
  };
  expectRefusal(await logInto("EIO"), 6, /^turnlog: the output cannot be written: [^:]+$/);
  expect(await logInto("EPIPE")).toEqual({ code: 0, stdout: "", stderr: "" });
});
