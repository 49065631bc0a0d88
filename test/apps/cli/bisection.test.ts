import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("a bisection skips a commit for a misspelt option or a broken configuration, which git would take for a bad commit", async () => {
  const { path: cwd, file } = temporaryFolder();
  const codeOf = async (line: string): Promise<unknown> => (await turnlogHere(line.split(" "), { cwd })).code;
  expect(await codeOf("regress --all --wth new.ts")).toBe(2);
  expect(await codeOf("regress --all --bisect --wth new.ts")).toBe(125);
  expect(await codeOf("regress --all --with new.ts --bisect --sample none")).toBe(125);
  expect(await codeOf("regress --bisect --help")).toBe(0);
  expect(await codeOf("ls --bisect")).toBe(2);
  writeFileSync(file("turnlog.config.json"), "{ broken");
  expect(await codeOf("regress --all --with new.ts")).toBe(2);
  expect(await codeOf("regress --all --with new.ts --bisect")).toBe(125);
});
