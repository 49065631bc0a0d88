import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("a demo in memory ends with how to keep one, and with no command that would find nothing", async () => {
  const { code, stdout } = await turnlogHere(["demo", "--store", "memory:"], { cwd: temporaryFolder().path });
  expect(code).toBe(0);
  expect(stdout).not.toMatch(/ (log|why) cnv_/);
  expect(stdout).toMatch(/demo --store sqlite:\.\/turnlog\.db\n$/);
});
