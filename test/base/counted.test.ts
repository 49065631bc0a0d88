import { expect, test } from "vitest";
import { counted, grouped } from "../../src/base/counted.ts";

test("counts in words", () => {
  expect([grouped(0), grouped(1_234_567), counted(1, "block"), counted(2_000, "block")]).toEqual([
    "0",
    "1,234,567",
    "1 block",
    "2,000 blocks",
  ]);
});
