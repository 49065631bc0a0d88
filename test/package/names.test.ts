import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../src");

/** The judge shares no code with the accused, so it has words of its own; entries only pass names on. */
const files = globSync("**/*.ts", { cwd: source })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !file.startsWith("reference-server/") && !file.startsWith("entries/") && file !== "index.ts");

/** The types and classes that a file declares and exports. */
function typesOf(code: string): readonly string[] {
  const { statements } = ts.createSourceFile("file.ts", code, ts.ScriptTarget.Latest, true);
  return statements.flatMap((statement) => {
    const isType =
      ts.isTypeAliasDeclaration(statement) || ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement);
    const isExported = isType && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    return isExported && statement.name !== undefined ? [statement.name.text] : [];
  });
}

test("the types that a file exports are found", () => {
  expect(typesOf("export type A = 1; type B = 2; export class C {} export interface D {} export const e = 1;")).toEqual(
    [...["A", "C", "D"]],
  );
});

test("no exported type has two meanings", () => {
  const places = new Map<string, string[]>();
  for (const file of files)
    for (const name of typesOf(readFileSync(join(source, file), "utf8")))
      places.set(name, [...(places.get(name) ?? []), file]);
  expect(places.size).toBeGreaterThan(300);
  const shared = [...places].filter(([, declared]) => declared.length > 1);
  expect(shared.map(([name, declared]) => `${name}: ${declared.join(", ")}`)).toEqual([]);
});
