import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isKept } from "../../bench/row.ts";
import { benchStrategies } from "../../bench/strategies.ts";
import { isLong } from "../support/cases.ts";

const documents = isLong ? 60 : 2;

test("the modes are coherent under the edits that the published designs do not see", async () => {
  const rows = await benchStrategies(documents);
  expect(rows.filter((row) => !isKept(row))).toEqual([]);
  // All conversations are what the table of the documents was made of.
  if (isLong) expect(rows.map(({ columns = {} }) => cellsOf(columns))).toEqual(tableOf("CHAINING.md"));
}, 300_000);

function cellsOf({ "ms a call": _, ...figures }: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.values(figures).map((figure) => figure.toLocaleString("en"));
}

function tableOf(name: string): readonly (readonly string[])[] {
  const text = readFileSync(join(import.meta.dirname, "../../docs", name), "utf8");
  const [, table = ""] = /^\| way \| strategy .*\n\| ---.*\n((?:\|.*\n)+)/m.exec(text) ?? [];
  return table
    .trim()
    .split("\n")
    .map((line) => line.slice(2, -2).split(" | "));
}
