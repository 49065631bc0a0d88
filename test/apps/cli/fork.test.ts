import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { z } from "zod";
import { compareDocument } from "../../../src/apps/documents/differences.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

test("fork prints the id of a conversation that goes on from there; show and log tell of its parent", async () => {
  const { path: cwd } = demoStore();
  const [before] = await idsIn(cwd);
  const { code, stdout, stderr } = await turnlogHere(["fork", "@last@24"], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: `fork of ${before}@24\n` });
  const id = stdout.trim();
  expect((await idsIn(cwd)).toSorted()).toEqual([before, id].toSorted());
  const shown = await turnlogHere(["show", id], { cwd });
  expect(shown.stdout).toContain(`fork of ${before}@24\n`);
  expect(shown.stdout).toContain(`user ${before}@`);
  const log = await turnlogHere(["log", id], { cwd });
  expect(log.stdout).toContain(`conversation started as fork of ${before}@24`);
  const said = await turnlogHere(["log", id, "--transcript"], { cwd });
  expect(said.stdout).toContain(`${before}@`);
  expect(await turnlogHere(["blame", id], { cwd })).toMatchObject({ code: 0, stderr: "" });
  expect(await turnlogHere(["verify"], { cwd })).toMatchObject({ code: 0 });
});

test("verify of a fork names what was changed in its parent, which the fork shows as its own", async () => {
  const { path: cwd, file } = demoStore();
  const [parent] = await idsIn(cwd);
  await turnlogHere(["fork", "@last@24", "--id", "cnv_fork"], { cwd });
  expect((await turnlogHere(["verify", "cnv_fork"], { cwd })).stdout).toMatch(
    /^2 streams, 26 events and .* all sound\n$/,
  );
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET data = replace(data, 'Rome', 'Oslo') WHERE stream = 1 AND revision = 3");
  database.close();
  const { code, stdout } = await turnlogHere(["verify", "cnv_fork"], { cwd });
  expect([code, stdout]).toEqual([
    4,
    expect.stringMatching(`^damaged +${parent}@3 +its data is not what was written\n`),
  ]);
  const { data } = verifiedContract.parse(documentOf(await turnlogHere(["verify", "cnv_fork", "--json"], { cwd })));
  expect(data.problems).toMatchObject([{ stream: `conversation-${parent}`, conversation: parent, revision: 3 }]);
});

const verifiedContract = z.looseObject({ data: z.looseObject({ problems: z.array(z.unknown()) }) });

test("fork takes an id, and gives it to nothing else", async () => {
  const { path: cwd } = demoStore();
  const forked = await turnlogHere(["fork", "@last@24", "--id", "cnv_other", "--json"], { cwd });
  const contract = z.strictObject({
    version: z.literal(1),
    data: z.strictObject({
      conversation: z.literal("cnv_other"),
      parent: z.string().regex(/^cnv_/),
      revision: z.literal(24),
    }),
  });
  const { data } = contract.parse(documentOf(forked));
  const again = await turnlogHere(["fork", `${data.parent}@24`, "--id", "cnv_other"], { cwd });
  expect(again).toMatchObject({ code: 0, stdout: "cnv_other\n" });
  const other = await turnlogHere(["fork", `${data.parent}@23`, "--id", "cnv_other"], { cwd });
  expect(other).toMatchObject({ code: 2, stdout: "" });
  expect(other.stderr).toBe("turnlog: cnv_other already exists: choose another id, or leave it out\n");
});

test.each([
  ["a revision that is not there", ["fork", "@last@1000"], 3, "it has the revisions 0 to 65"],
  ["a conversation that is not there", ["fork", "cnv_nobody"], 3, "`turnlog ls` lists them"],
  ["a range", ["fork", "@last@1..2"], 2, "expected one revision, got the range '@last@1..2'"],
  ["an id that cannot be one", ["fork", "@last", "--id", "x y"], 2, "a conversation id is 1 to 128"],
  ["a revision to compare that is not there", ["compare", "@last", "@last@1000"], 3, "it has the revisions 0 to 65"],
])("%s is told in one line, and changes nothing", async (_, args, code, words) => {
  const { path: cwd } = demoStore();
  const before = await idsIn(cwd);
  const outcome = await turnlogHere(args, { cwd });
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toContain(words);
  expect(outcome.stderr.split("\n")).toHaveLength(2);
  expect(await idsIn(cwd)).toEqual(before);
});

test("compare shows where two conversations part, and what each has there", async () => {
  const { path: cwd } = demoStore();
  const [parent] = await idsIn(cwd);
  await turnlogHere(["fork", "@last@24", "--id", "cnv_other"], { cwd });
  const outcome = await turnlogHere(["compare", `${parent}`, "cnv_other"], { cwd });
  expect(outcome).toMatchObject({ code: 1, stderr: "" });
  expect(outcome.stdout).toContain(`both continue from ${parent}@24\n`);
  expect(outcome.stdout).toContain("their Turns differ from the first block on\n");
  expect(outcome.stdout).toMatch(/cnv_other@0 +system +demo cnv_\w+@2 /);
  const same = await turnlogHere(["compare", "cnv_other", "cnv_other"], { cwd });
  expect(same).toMatchObject({ code: 0, stderr: "" });
  expect(same.stdout).toMatch(/^both continue from cnv_other@0\ntheir first \d+ blocks are equal\n$/);

  const contract = z.strictObject({ version: z.literal(1), data: compareDocument });
  const { data } = contract.parse(
    documentOf(await turnlogHere(["compare", `${parent}`, "cnv_other", "--json"], { cwd })),
  );
  expect(data).toMatchObject({ event: { revision: 24 }, blocks: 0 });
});

test("diff knows the blocks that a fork has from its parent by their ids", async () => {
  const { path: cwd } = demoStore();
  const [parent] = await idsIn(cwd);
  await turnlogHere(["fork", "@last", "--id", "cnv_other"], { cwd });
  const outcome = await turnlogHere(["diff", `${parent}`, "cnv_other"], { cwd });
  expect(outcome.code).toBe(0);
  expect(outcome.stderr).toContain("0 blocks added, 0 removed, 0 modified, 0 moved");
});

async function idsIn(cwd: string): Promise<readonly string[]> {
  const contract = z.looseObject({
    data: z.looseObject({ conversations: z.array(z.looseObject({ id: z.string() })) }),
  });
  const { data } = contract.parse(documentOf(await turnlogHere(["ls", "--json"], { cwd })));
  return data.conversations.map(({ id }) => id);
}
