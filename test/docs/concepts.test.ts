import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("CONCEPTS begins with what surprises most: edits of layers persist", () => {
  const [, first = ""] = textOf("docs/CONCEPTS.md").split("\n\n");
  expect(first).toMatch(/^\*\*Edits of layers persist\.\*\* A block that a layer changes before `next`/);
});

test("no link calls an example a redaction, which the log would have to forget the text for", () => {
  expect(textOf("README.md")).not.toMatch(/\[redaction\]/i);
});
