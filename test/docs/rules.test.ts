import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** The prose of a file: a document as it is, of code the comments. */
const proseOf = (file: string): string =>
  file.endsWith(".md") ? read(file) : [...read(file).matchAll(/\/\*\*[\s\S]*?\*\/|^ *\/\/.*$/gm)].join("\n");

const names = new Set([...read("docs/RULES.md").matchAll(/^\*\*([^*.]+)\.\*\*/gm)].map(([, name]) => name));

const files = ["src", "packages", "docs"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(ts|md)$/.test(file))
    .map((file) => `${folder}/${file}`),
);

test("every rule that code or documents refer to is one that RULES.md has", () => {
  const referred = files.flatMap((file) =>
    [...proseOf(file).matchAll(/\brules?: ([A-Z][\w ,]+?)(?:, \d|, essence version \d)?[):;]/g)].flatMap(
      ([, list = ""]) => list.split(", ").map((name) => ({ file, name })),
    ),
  );
  expect(referred.length).toBeGreaterThan(50);
  expect(referred.filter(({ name }) => !names.has(name))).toEqual([]);
});
