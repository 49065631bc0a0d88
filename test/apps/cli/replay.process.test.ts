import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import * as z from "zod";
import { counterfactualDocument, replayedDocument } from "../../../src/apps/documents/running.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { turnlog } from "../../support/cli/command-process.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import type { Outcome } from "../../support/outcome.ts";
import { supportFile } from "../../support/process.ts";

const demoStore = useDemoStore();
/** For the command in this process, and for one of its own: each has a copy of turnlog. */
const stack = join(import.meta.dirname, "../../support/cli/demo-stack.ts");
const builtStack = supportFile("cli/demo-stack.ts");
const spoilt = (kind: "chance" | "gone" | "throws") => ({ env: { SPOILT_LAYER: kind } });

const run = (cwd: string, typed: string): Promise<Outcome> => turnlogHere(typed.split(" "), { cwd });

/** What `--json` prints is a contract: members may be added in a new version only. */
const replayedSchema = z.strictObject({ version: z.literal(1), data: replayedDocument });
const whatIfSchema = z.strictObject({ version: z.literal(1), data: counterfactualDocument });

test("replay compares all that can be computed again, and with --stack what the layers do", async () => {
  const { path: cwd } = demoStore();
  const folded = await run(cwd, "replay @last");
  expect(folded).toMatchObject({ code: 0, stderr: "" });
  expect(folded.stdout).toMatch(/^66 events, \d+ Turns and \d+ requests replayed: no difference\n$/);
  const executed = await run(cwd, `replay @last --stack ${stack}`);
  expect(executed).toMatchObject({ code: 0, stderr: "" });
  expect(executed.stdout).toMatch(/replayed; 5 runs and \d+ steps executed: no difference\n$/);
  const outcome = await run(cwd, `replay @last --stack ${stack} --to 30 --json`);
  const { data } = replayedSchema.parse(documentOf(outcome));
  expect(data).toMatchObject({ to: 30, events: 31, layers: { runs: 2 }, difference: null });
});

test("replay names the layer that goes behind the engine's back, and ends with 5", async () => {
  const { path: cwd } = demoStore();
  const outcome = await turnlog(["replay", "@last", "--stack", builtStack], { cwd, ...spoilt("chance") });
  expect(outcome).toMatchObject({ code: 5, stderr: "" });
  expect(outcome.stdout).toMatch(/^differs {2}(@\d+ {2})?.*layer shorten-results {2}after\n/);
  const asJson = await turnlog(["replay", "@last", "--stack", builtStack, "--json"], { cwd, ...spoilt("chance") });
  expect(replayedSchema.parse(documentOf(asJson)).data.difference).toMatchObject({
    layer: "shorten-results",
    field: "after",
  });
});

test("replay names the place where an event was changed, and verify refuses it", async () => {
  const { path: cwd, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET data = replace(data, 'Aurora', 'Bellini') WHERE revision = 28");
  database.close();
  const outcome = await run(cwd, "replay @last --json");
  expect(outcome.code).toBe(5);
  expect(replayedSchema.parse(documentOf(outcome)).data.difference).toMatchObject({ revision: 28 });
  expect((await run(cwd, "replay @last")).stdout).toMatch(/^differs {2}@28 {2}/);
  expect((await run(cwd, "replay @last --to 27")).code).toBe(0);
  expect((await run(cwd, "verify")).code).toBe(4);
});

test("replay tells what would have been without a layer, and keeps it", async () => {
  const { path: cwd } = demoStore();
  const before = (await run(cwd, "log @last --json")).stdout;
  const name = /"conversation":"(cnv_\w+)"/.exec(before)?.[1];
  const outcome = await run(cwd, `replay ${name} --stack ${stack} --without ask-first --id cnv_kept --json`);
  expect(outcome).toMatchObject({ code: 5, stderr: "" });
  const { data } = whatIfSchema.parse(documentOf(outcome));
  expect(data.otherwise.broken).toBeLessThan(data.recorded.broken);
  expect(data).toMatchObject({ savedAs: "cnv_kept", unknown: null });
  const first = data.steps[data.firstDifference ?? -1];
  expect(first?.recorded?.edits.map(({ layer }) => layer)).toContain("ask-first");
  expect(first?.otherwise?.edits.map(({ layer }) => layer)).not.toContain("ask-first");
  const kept = await run(cwd, "compare cnv_kept cnv_kept --json");
  // Another conversation records the same blocks under other names.
  expect(kept.stdout).toContain(`"blocks":${data.result.blocks}`);
  expect((await run(cwd, `log ${name} --json`)).stdout).toBe(before);
  expect((await run(cwd, "verify")).code).toBe(0);
  const again = await run(cwd, `replay ${name} --stack ${stack} --without ask-first --id cnv_kept`);
  expect(again).toMatchObject({
    code: 2,
    stderr: "turnlog: the conversation cnv_kept already exists: choose another --id\n",
  });
  const shown = await run(cwd, `replay ${name} --stack ${stack} --without ask-first`);
  expect(shown.stdout).toMatch(
    /\d+ of \d+ steps different, the first of them step \d+\n {2}layers did before: .*ask-first insert.*\n {2}layers did then: (?!.*ask-first).*\nbroken chains: \d+ before, \d+ then\n/,
  );
});

test("replay names the runs that another stack would have failed, and the layer that threw", async () => {
  const { path: cwd } = demoStore();
  const words = ["replay", "@last", "--with", builtStack];
  const outcome = await turnlog(words, { cwd, ...spoilt("throws") });
  expect(outcome).toMatchObject({ code: 5, stderr: "" });
  const lines = outcome.stdout.match(/^run_\w+ fails by layer shorten-results \(layer-failed\): there is no result$/gm);
  expect(lines).toHaveLength(5);
  const asJson = await turnlog([...words, "--json"], { cwd, ...spoilt("throws") });
  const { failures } = whatIfSchema.parse(documentOf(asJson)).data;
  expect(failures).toHaveLength(5);
  expect(failures[0]).toMatchObject({
    kind: "layer-failed",
    message: "there is no result",
    layer: "shorten-results",
  });
});

test("replay with the same stack tells no difference", async () => {
  const { path: cwd } = demoStore();
  const outcome = await run(cwd, `replay @last --with ${stack}`);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toContain("0 of ");
});

test("replay shows the body that a step would have sent", async () => {
  const { path: cwd } = demoStore();
  const asked = JSON.parse((await run(cwd, "why @last@62 --json")).stdout) as unknown;
  const { revision } = z.object({ data: z.object({ revision: z.int() }) }).parse(asked).data;
  const { steps } = whatIfSchema.parse(documentOf(await run(cwd, `replay @last --with ${stack} --json`))).data;
  const number = steps.findIndex(({ recorded }) => recorded?.revision === revision) + 1;
  const sent = (await run(cwd, "request @last@62")).stdout;
  expect(await run(cwd, `replay @last --with ${stack} --body ${number}`)).toMatchObject({ code: 0, stdout: sent });
  const otherwise = await run(cwd, `replay @last --stack ${stack} --without speak-french --body ${number}`);
  expect(otherwise).toMatchObject({ code: 5, stderr: "" });
  expect(sent).toContain("Réponds en français.");
  expect(otherwise.stdout).toContain("previous_response_id");
  expect(otherwise.stdout).not.toContain("Réponds en français.");
});

const wrong: readonly (readonly [typed: string, code: number, message: RegExp])[] = [
  ["replay cnv_nobody", 3, /there is no conversation/],
  ["replay @last --to 999", 3, /there is no revision 999/],
  ["replay @last --stack /nowhere.ts", 3, /nowhere\.ts/],
  ["replay @last --without ask-first", 2, /--without needs --stack/],
  [`replay @last --with ${stack} --stack ${stack}`, 2, /'--with <stack>' cannot be used with option '--stack <stack>'/],
  [`replay @last --stack ${stack} --without nobody`, 3, /there is no layer nobody .* it has tool-loop, redact-emails/],
  [`replay @last --stack ${stack} --without ask-first --save --id de.mo`, 2, /cannot be an id/],
  ["replay @last --save", 2, /give --without or --with too/],
  ["replay @last --body 1", 2, /give --without or --with too/],
  [`replay @last --with ${stack} --body 99`, 3, /there is no step 99: the run has \d+ steps/],
];

test.each(wrong)("%s ends with %i, and says what can be done", async (typed, code, message) => {
  const { path: cwd } = demoStore();
  const outcome = await run(cwd, typed);
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toMatch(message);
  expect(outcome.stderr).toMatch(/^turnlog: [^\n]+\n$/);
});

test("replay refuses a stack that is not the recorded one, and names what is missing", async () => {
  const { path: cwd } = demoStore();
  const outcome = await turnlog(["replay", "@last", "--stack", builtStack], { cwd, ...spoilt("gone") });
  expect(outcome).toMatchObject({ code: 1, stdout: "" });
  expect(outcome.stderr).toMatch(/cannot be replayed: its stack had ask-first@1, and this one has not; give the stack/);
});
