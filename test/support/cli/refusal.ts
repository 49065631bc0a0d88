import { expect } from "vitest";
import type { Outcome } from "../outcome.ts";

/** One line that begins with the program's name, on stderr alone. */
export function expectRefusal({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
  expect({ code, stdout, stderr }).toMatchObject({ code: expected, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^turnlog: [^\n]+\n$/);
}
