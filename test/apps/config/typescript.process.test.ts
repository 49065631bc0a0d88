import { existsSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { turnlog } from "../../support/cli/command-process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** As Node 22.13 to 22.17 are by default. */
const withoutTypes = ["--no-experimental-strip-types"];

test("a Node that does not load TypeScript says what to do about a configuration and a stack", async () => {
  const { path: cwd, file } = temporaryFolder();
  const typed = "const store: string = 'memory:';\nexport default { store };\n";
  writeFileSync(file("turnlog.config.ts"), typed);
  writeFileSync(file("agent.ts"), typed);
  const advice = `cannot be loaded: Node ${process.versions.node} does not load TypeScript as it was started: use Node 22.18 or newer, set NODE_OPTIONS=--experimental-strip-types, or write the file as .mjs without types\n`;
  const configured = await turnlog(["append", "@new", "hi"], { cwd, nodeArguments: withoutTypes });
  expect(configured).toEqual({ code: 2, stdout: "", stderr: `turnlog: turnlog.config.ts ${advice}` });
  const stacked = await turnlog(["resume", "@last", "--stack", "./agent.ts"], {
    cwd,
    nodeArguments: withoutTypes,
    env: { TURNLOG_STORE: "memory:" },
  });
  expect(stacked).toEqual({ code: 2, stdout: "", stderr: `turnlog: ./agent.ts ${advice}` });
  expect(await turnlog(["append", "@new", "hi"], { cwd })).toMatchObject({ code: 0, stderr: "" });
  expect(existsSync(file("turnlog.db")), "the store is that of the configuration").toBe(false);
});
