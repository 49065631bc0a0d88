import { expect, test } from "vitest";
import { aroundChange } from "../../../src/apps/cli/around-change.ts";

const filler = "word ".repeat(100);

test("a change in the middle of a long line is shown with what is around it", () => {
  const [then, now] = aroundChange(`${filler}one ${filler}`, `${filler}two ${filler}`);
  expect(then).toMatch(/^….{80}one .{156}…$/);
  expect(now).toBe(then.replace("one", "two"));
});

test("short lines are left as they are, and lines that are equal stay equal", () => {
  expect(aroundChange("a\nb", "a\nc\nd")).toEqual(["a\nb", "a\nc\nd"]);
  const [then, now] = aroundChange(`${filler}\none`, `${filler}\ntwo`);
  expect([then.split("\n")[0], then.endsWith("\none")]).toEqual([now.split("\n")[0], true]);
});

test("what only one of the texts has is shown from its beginning", () => {
  const [then, now] = aroundChange("", filler);
  expect(then).toBe("");
  expect([now.length, now.startsWith("word word"), now.endsWith("…")]).toEqual([241, true, true]);
});
