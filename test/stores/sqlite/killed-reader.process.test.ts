import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { outcomeOf, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("a process that is killed while it reads the files of a store leaves no trace on stderr", async () => {
  const path = temporaryFolder().file("store.db");
  // More than a pipe holds, so that the rest is written when nobody reads any more.
  writeFileSync(path, "x".repeat(8 << 20));
  const { code, stderr } = await outcomeOf(process.execPath, [supportFile("stores/killed-reading-process.ts"), path]);
  expect([code, stderr]).toEqual([null, ""]);
});
