import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import floors from "../../tools/floors.json" with { type: "json" };

const root = resolve(import.meta.dirname, "../..");
const text = await readFile(join(root, "docs/ARCHITECTURE.md"), "utf8");

/** Every folder with the number of its floor, in the order of the alphabet. */
const numbered = floors.flatMap((names, index) => names.map((name) => `${name} on ${index + 1}`)).toSorted();

test("the table of the architecture has the folders of the checked list, on their floors", () => {
  const rows = [...text.matchAll(/^\| (\d+) \| `([^`]+)` \|/gm)].map(([, floor, name]) => `${name} on ${floor}`);
  expect(rows.toSorted()).toEqual(numbered);
});

test("so has its picture", () => {
  const lines = [...text.matchAll(/^ {1,2}(\d+) {2}(.*)$/gm)];
  const drawn = lines.flatMap(([, floor, line = ""]) => {
    const names =
      line
        .split(/ {4,}|[─┐┘│]/)[0]
        ?.trim()
        .split(/ +/) ?? [];
    return names.map((name) => `${name} on ${floor}`);
  });
  expect(drawn.toSorted()).toEqual(numbered);
});

test("every file that it names is there", () => {
  const named = [...text.matchAll(/`((?:src|test|tools)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
