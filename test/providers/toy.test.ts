import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { countTokens, parsed } from "../../tools/count-tokens.ts";

/** A codec and a transport as somebody else would write them. */
const folder = join(import.meta.dirname, "../support/toy/dialect");
const files = readdirSync(folder).map((name) => {
  const path = join(folder, name);
  return parsed(path, readFileSync(path, "utf8"));
});

test("a whole dialect takes less than 1,500 tokens", () => {
  const tokens = files.reduce((count, file) => count + countTokens(file), 0);
  expect(tokens).toBeGreaterThan(500);
  expect(tokens).toBeLessThan(1_500);
});

test("and imports turnlog/provider only", () => {
  const imported = files.flatMap(({ statements }) =>
    statements.filter(ts.isImportDeclaration).map(({ moduleSpecifier }) => moduleSpecifier.getText()),
  );
  const own = files.map(({ fileName }) => `"./${fileName.split("/").at(-1)}"`);
  expect(imported.length).toBeGreaterThan(1);
  expect(imported.filter((name) => !own.includes(name) && name !== '"../../../../src/entries/provider.ts"')).toEqual(
    [],
  );
});
