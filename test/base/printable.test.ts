import { expect, test } from "vitest";
import { excerpt } from "../../src/base/printable.ts";

test("cuts an excerpt between characters and says that it was cut", () => {
  expect(excerpt("one  two\nthree", 40)).toBe("one two three");
  expect(excerpt("🚆🚆🚆🚆", 3)).toBe("🚆🚆…");
  expect(excerpt("x".repeat(1_000), 5)).toBe("xxxx…");
});
