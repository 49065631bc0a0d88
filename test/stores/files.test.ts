import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { namedFile } from "../../src/stores/files.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";

test("a link in a linked folder is followed from where it stands", () => {
  const folder = realpathSync(temporaryFolder().path);
  const at = (...names: readonly string[]): string => join(folder, ...names);
  mkdirSync(at("named"));
  mkdirSync(at("real", "inner"), { recursive: true });
  symlinkSync(join("..", "real", "inner"), at("named", "link"));
  symlinkSync(join("..", "out.db"), at("real", "inner", "name"));
  writeFileSync(at("named", "out.db"), "somebody else's");
  const path = at("named", "link", "name");
  expect(namedFile(path)).toBe(at("real", "out.db"));
  writeFileSync(path, "");
  expect(namedFile(path)).toBe(at("real", "out.db"));
});
