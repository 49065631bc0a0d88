import { expect, test } from "vitest";
import { stackDifference } from "../../../src/engine/ports/middleware.ts";

const layer = (text: string) => {
  const [name = "", version = ""] = text.split("@");
  return { name, version };
};

test.each([
  [["note@1.0.0", "log@1.2.0"], ["note@1.9.1", "log@1.2.0"], null],
  [["note@1.0.0"], ["note@2.0.0"], "its stack had note@1, and this one has note@2"],
  [["note@1.0.0", "log@1.0.0"], ["log@1.0.0"], "its stack had note@1, and this one has not"],
  [["log@1.0.0"], ["log@1.0.0", "note@3.1.0"], "its stack did not have note@3"],
  [["log@1.0.0", "note@1.0.0"], ["note@1.0.0", "log@1.0.0"], "its layers stood in another order: log@1 > note@1"],
])("a run that began with %j and is given %j: %s", (recorded, given, difference) => {
  expect(stackDifference(recorded.map(layer), given.map(layer))).toBe(difference);
});
