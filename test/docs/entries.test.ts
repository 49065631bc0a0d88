import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { entryNames, sourceOfEntry } from "../support/package/entries.ts";

const text = readFileSync(join(import.meta.dirname, "../../docs/API.md"), "utf8");
const rows = new Map(
  [...text.matchAll(/^\| `(turnlog[\w/-]*)` \|[^|]*\|([^|]*)\|$/gm)].map(([, entry = "", values = ""]) => [
    entry,
    [...values.matchAll(/`([\w$]+)`/g)].map(([, name = ""]) => name),
  ]),
);

test("the document of entries has a row for every entry of the package, and for no other", () => {
  expect([...rows.keys()].toSorted()).toEqual([...entryNames].toSorted());
});

test.each([...entryNames])("the row of %s names every value that it exports", async (entry) => {
  const exported: unknown = await import(pathToFileURL(sourceOfEntry(entry)).href);
  expect(rows.get(entry)?.toSorted()).toEqual(Object.keys(exported ?? {}).toSorted());
});
