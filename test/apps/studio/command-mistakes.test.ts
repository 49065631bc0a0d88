import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

test.each([
  [["FOLDER/nothing.bundle"], 3],
  [["sqlite:FOLDER/none.db"], 3],
  [["--host", "0.0.0.0"], 2],
  [["--prices", "FOLDER/none.json", "--port", "70000"], 2],
  [["--prices", "FOLDER/none.json"], 3],
  [["--write"], 2],
  [["--write", "--stack", "FOLDER/none.ts", "--as", "ann"], 3],
  [["--as", "ann"], 2],
  [["--report", "FOLDER/none.jsonl"], 3],
  [["--report", "FOLDER/turnlog.db"], 2],
  [["--with", "FOLDER/none.ts"], 3],
  [["--wirte"], 2],
])("studio %j exits with %i and one sentence", async (words, code) => {
  const { path: cwd } = demoStore();
  const typed = words.map((word) => word.replace("FOLDER", cwd));
  const outcome = await turnlogHere(["studio", ...typed, "--no-open"], { cwd });
  expect(outcome.code).toBe(code);
  expect(outcome.stderr.trim().split("\n")).toHaveLength(1);
});

test("a bundle that is not there is missing, and no store", async () => {
  const { path: cwd } = demoStore();
  const outcome = await turnlogHere(["studio", "gone.bundle", "--no-open"], { cwd });
  expect(outcome.stderr.trim()).toBe("turnlog: there is no file gone.bundle: `turnlog export` writes bundles");
});
