import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { engineFaults } from "../support/planted/engine-faults.ts";

const root = join(import.meta.dirname, "../..");

/** `npm run test:faults` plants each of them, and sees its suite fail. */
test.each(engineFaults)("the place of a planted fault is there: $of", ({ file, find, suite }) => {
  const source = readFileSync(join(root, file), "utf8");
  expect(source.split(find).length - 1, `${find} stands in ${file} once: plant the fault where its code is now`).toBe(
    1,
  );
  expect(existsSync(join(root, "test", `${suite}.test.ts`)), `test/${suite}.test.ts is there`).toBe(true);
});
