import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { startTurnlog, turnlog } from "../../support/cli/command-process.ts";
import { commandFile, startTyped, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { eventsOf, typesOf } from "../../support/workshop.ts";

const config = supportFile("cli/asking-stack.ts");

/** A command over a store of its own, with the engines of `asking-stack.ts`. */
function asking() {
  const { path: cwd, file } = temporaryFolder();
  const env = { TURNLOG_CONFIG: config, TURNLOG_STORE: `sqlite:${file("turnlog.db")}` };
  return {
    ...{ cwd, env },
    types: async (id: string) => {
      await using store = await openStore(env.TURNLOG_STORE);
      return typesOf(await eventsOf(store.conversation(id)));
    },
  };
}

test("ctrl-C, as a signal, cancels a run; it exits 130, and the conversation is sound", async () => {
  const { cwd, env, types } = asking();
  const started = startTurnlog(["run", "@new", "A story.", "--id", "cnv_a", "--stack", "slow"], { cwd, env });
  await new Promise((resolve) => started.child.stdout?.once("data", resolve));
  started.child.kill("SIGINT");
  expect(await started.ended).toMatchObject({ code: 130, stdout: "Once upon\n" });
  expect((await types("cnv_a")).slice(-2)).toEqual(["InferenceFailed", "RunCancelled"]);
  expect(await turnlog(["verify"], { cwd, env })).toMatchObject({ code: 0 });
});

test("a run whose process was killed is taken up by the next chat before its first line", async () => {
  const { cwd, env, types } = asking();
  const started = startTurnlog(["run", "@new", "A story.", "--id", "cnv_a", "--stack", "slow"], { cwd, env });
  await new Promise((resolve) => started.child.stdout?.once("data", resolve));
  started.child.kill("SIGKILL");
  await started.ended;
  // It waits there again, in a process of its own, and the end of its input ends it only after the answer.
  const next = startTurnlog(["chat", "cnv_a", "--stack", "slow"], { cwd, env });
  await new Promise((resolve) => next.child.stdout?.once("data", resolve));
  next.child.kill("SIGTERM");
  const { code, stderr } = await next.ended;
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: expect.stringMatching(/run run_\S+ has not ended: it goes on/) as string,
  });
  expect(await types("cnv_a")).toContain("RunCancelled");
});

const folders = process.platform === "linux" ? (process.env["PATH"] ?? "").split(":") : [];
const hasScript = folders.some((folder) => existsSync(join(folder, "script")));
if (!hasScript) console.log("1 test is skipped: there is no `script` of util-linux, which makes a terminal");

test.skipIf(!hasScript)("in a real terminal it prompts, echoes and takes ctrl-C as a key", async () => {
  const { cwd, env, types } = asking();
  const command = [process.execPath, commandFile, "chat", "--id", "cnv_a", "--stack", "slow"].join(" ");
  const terminal = startTyped("script", ["-qec", command, "/dev/null"], {
    ...{ cwd, env: { ...env, PATH: process.env["PATH"], TERM: "xterm" } },
  });
  await terminal.readTo(/you> /);
  terminal.type("A story.\r");
  await terminal.readTo(/A story\..*Once upon/s);
  terminal.type("\u0003");
  await terminal.readTo(/cancelled.*you> /s);
  terminal.type("Shorter.\r");
  await terminal.readTo(/Quick\..*you> /s);
  terminal.type("\u0004");
  expect(await terminal.ended).toBe(0);
  expect(await types("cnv_a")).toEqual(expect.arrayContaining(["RunCancelled", "RunCompleted"]));
});
