import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { z } from "zod";
import { documentOf, turnlogHere } from "./command.ts";
import { useDemoStore } from "./demo-store.ts";

const demoStore = useDemoStore();

/** A demo's store whose event of that revision is from an unknown future. */
function damagedAt(revision: number): string {
  const { path, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.prepare("UPDATE events SET version = 9 WHERE revision = ?").run(revision);
  database.close();
  return path;
}

test("skip goes on without a damaged event, and the reason is in the log", async () => {
  const cwd = damagedAt(65);
  expect(await turnlogHere(["show", "@last"], { cwd })).toMatchObject({ code: 4 });
  const skipped = await turnlogHere(["skip", "@last@65", "--reason", "a newer one wrote it"], { cwd });
  expect(skipped).toMatchObject({ code: 0, stderr: "" });
  expect(skipped.stdout).toMatch(/^cnv_\w+@65 is skipped\nthe conversation can go on\n$/);
  expect(await turnlogHere(["show", "@last"], { cwd })).toMatchObject({ code: 0 });
  expect((await turnlogHere(["log", "@last"], { cwd })).stdout).toContain("a newer one wrote it");
  expect((await turnlogHere(["verify"], { cwd })).stdout).toMatch(/damaged +cnv_\w+@65 /);
});

test("skip says where the damage goes on, and what to do instead", async () => {
  const cwd = damagedAt(29);
  const skipped = await turnlogHere(["skip", "@last@29", "--reason", "unreadable"], { cwd });
  expect(skipped.code).toBe(4);
  expect(skipped.stdout).toMatch(/@29 is skipped\nthe damage goes on at revision 30 of /);
  const [, fork = ""] = /`turnlog (fork cnv_\w+@28)`/.exec(skipped.stderr) ?? [];
  const forked = await turnlogHere(fork.split(" "), { cwd });
  expect(forked.code).toBe(0);
  expect(await turnlogHere(["show", forked.stdout.trim()], { cwd })).toMatchObject({ code: 0, stderr: "" });
});

test("skip --json is one document", async () => {
  const cwd = damagedAt(29);
  const contract = z.strictObject({
    version: z.literal(1),
    data: z.strictObject({
      conversation: z.string().regex(/^cnv_/),
      revision: z.literal(29),
      damage: z.strictObject({ stream: z.string(), revision: z.literal(30), message: z.string() }).nullable(),
    }),
  });
  contract.parse(documentOf(await turnlogHere(["skip", "@last@29", "--reason", "unreadable", "--json"], { cwd })));
});

test.each([
  ["an event that is sound", ["skip", "@last@28", "--reason", "a guess"], 1, "skip that event, or none"],
  ["an event without a reason", ["skip", "@last@29"], 2, "say with --reason what you found"],
  ["a whole conversation", ["skip", "@last", "--reason", "all of it"], 2, "names no event"],
  ["an event that is not there", ["skip", "@last@1000", "--reason", "none"], 3, "it has the revisions 0 to 65"],
])("skip refuses %s in one line, and writes nothing", async (_, args, code, words) => {
  const cwd = damagedAt(29);
  const outcome = await turnlogHere(args, { cwd });
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toContain(words);
  expect(outcome.stderr.split("\n")).toHaveLength(2);
  expect(await turnlogHere(["skip", "@last@66", "--reason", "none"], { cwd })).toMatchObject({ code: 3 });
});
