import { expect, test } from "vitest";
import { outputOf, supportFile } from "../../support/process.ts";

test("a layer that never returns is named, though nothing else keeps the process alive", async () => {
  expect(await outputOf([supportFile("run/hanging-layer-process.ts")])).toContain(
    "hanging did not return within 50 ms of its own work",
  );
});
