import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

test("search shows the place, the author and the line of what it found", async () => {
  const { path: cwd } = demoStore();
  const found = await turnlogHere(["search", "station", "HOTEL"], { cwd });
  expect(found).toMatchObject({ code: 0, stderr: "" });
  expect(found.stdout).toMatch(
    /^cnv_\w+@20 {2}\d{4}-\d\d-\d\d .* user, in “A journey to Rome \(turnlog demo\)”\n {2}Is there a hotel near the station\?\n$/,
  );
});

test("search says when nothing is found, and when there is more", async () => {
  const { path: cwd } = demoStore();
  const nothing = await turnlogHere(["search", "Atlantis"], { cwd });
  expect(nothing).toMatchObject({ code: 0, stdout: "", stderr: "no text in the store matches Atlantis\n" });
  const more = await turnlogHere(["search", "rome", "-n", "1"], { cwd });
  expect(more.stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(more.stderr).toContain("there are more");
});

test("search rejects an empty text and an invalid limit, and exits 2", async () => {
  const { path: cwd } = demoStore();
  for (const typed of [["search"], ["search", " "], ["search", "rome", "-n", "-1"]])
    expect(await turnlogHere(typed, { cwd }), typed.join(" ")).toMatchObject({ code: 2, stdout: "" });
});

test("search works on a store without its index, which is then made again", async () => {
  const { path: cwd, file } = demoStore();
  const first = await turnlogHere(["search", "hotel"], { cwd });
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("DROP TABLE view_rows; DROP TABLE view_builds");
  database.close();
  rmSync(file("turnlog.db.heads"), { force: true });
  expect(await turnlogHere(["search", "hotel"], { cwd })).toEqual(first);
});
