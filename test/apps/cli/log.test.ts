import { expect, test } from "vitest";
import * as z from "zod";
import { timeBefore } from "../../../src/apps/cli/option-values.ts";
import { logDocument } from "../../../src/apps/documents/conversations.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

const logged = z.strictObject({ version: z.literal(1), data: logDocument });

/** The events, or what was said, that a line shows of a demo. */
async function shown(typed: string) {
  const { path: cwd } = demoStore();
  const outcome = await turnlogHere(["log", "@last", "--json", ...typed.split(" ").filter((word) => word !== "")], {
    cwd,
  });
  expect(outcome.code, outcome.stderr).toBe(0);
  const { data } = logged.parse(documentOf(outcome));
  return "events" in data ? data.events : "utterances" in data ? data.utterances : [data.event];
}

const revisions = async (typed: string) => (await shown(typed)).map(({ revision }) => revision);

test("shows the newest, the oldest of them first, or the other way round", async () => {
  expect(await revisions("-n 3")).toEqual([63, 64, 65]);
  expect(await revisions("-n 3 --reverse")).toEqual([65, 64, 63]);
  expect(await revisions("-n 0")).toHaveLength(66);
  expect((await revisions("--reverse"))[0]).toBe(65);
});

test("shows what happened since a time", async () => {
  const { at } = (await shown("-n 7"))[0] ?? { at: "" };
  expect((await shown(`--since ${at}`)).every((event) => event.at >= at)).toBe(true);
  expect((await revisions(`--since ${at}`)).slice(-7)).toEqual(await revisions("-n 7"));
  expect(await revisions("--since 1d")).toHaveLength(66);
});

test("finds a text that the line of its event does not show, and what the line alone says", async () => {
  const { path: cwd } = demoStore();
  const run = async (typed: string) => (await turnlogHere(["log", "@last", ...typed.split(" ")], { cwd })).stdout;
  expect(await run("--grep seats.29,")).not.toContain("seats 29,");
  expect(await revisions("--grep seats.29,")).toEqual([12]);
  expect(await revisions("--grep ^hotels.began")).toEqual([27]);
});

test("greps by a regular expression, in small letters and capitals where that is asked for", async () => {
  expect(await revisions("--grep rome$")).toEqual([]);
  expect((await revisions("--grep rome -i")).length).toBeGreaterThan(2);
  expect(await revisions("--grep Mer.i")).toEqual([58]);
});

test("shows events of types, and of actors by kind, name or name with version", async () => {
  expect(await revisions("--type toolstarted --type RunStarted")).toEqual([5, 10, 11, 21, 27, 36, 45, 50, 59]);
  expect(await revisions("--type tool --grep hotels.began|Aurora")).toEqual([27, 28]);
  expect(await revisions("--actor ask-first")).toEqual([38, 41]);
  expect(await revisions("--actor ask-first@1.0.0")).toEqual([38, 41]);
  expect(await revisions("--actor user --actor demo")).toEqual([2, 3, 20, 35, 44, 58]);
  expect(await revisions("--actor middleware --grep system -n 1")).toEqual([61]);
});

test("what is wanted of the events is wanted of what was said", async () => {
  expect((await shown("--transcript --actor user -n 2 --reverse")).map(({ revision }) => revision)).toEqual([58, 44]);
  expect((await shown("--transcript --grep Aurora")).map(({ revision }) => revision)).toEqual([28, 32]);
});

test("says where nothing is of that kind", async () => {
  const { path: cwd } = demoStore();
  const outcome = await turnlogHere(["log", "@last", "--grep", "Atlantis"], { cwd });
  expect(outcome.code).toBe(0);
  expect(outcome.stderr).toMatch(/^no event of cnv_\w+ matches\n$/);
});

test.each([
  ["--grep (", /--grep: '\(' is not a valid regular expression \(unterminated group\)/],
  ["--type ToolBegan", /there is no event type 'ToolBegan': /],
  ["--type x --transcript", /'--type <type>' cannot be used with option '--transcript'/],
  ["--since yesterday", /Expected a time such as 2026-09-01 or .* how long ago: 30m, 2h, 3d/],
  ["-n some", /Expected a whole number of at least 0/],
])("refuses %s with what to type instead, and exits 2", async (typed, message) => {
  const { path: cwd } = demoStore();
  const outcome = await turnlogHere(["log", "@last", ...typed.split(" ")], { cwd });
  expect(outcome).toMatchObject({ code: 2, stdout: "" });
  expect(outcome.stderr).toMatch(message);
  expect(outcome.stderr).toMatch(/^turnlog: [^\n]+\n$/);
});

test("reads times in UTC unless they say otherwise, and spans as so long before now", () => {
  const now = Date.parse("2026-09-03T12:00:00Z");
  const time = timeBefore(() => now);
  expect(["2h", "3d", "30m", "1w", "45s"].map(time)).toEqual([
    "2026-09-03T10:00:00.000Z",
    "2026-08-31T12:00:00.000Z",
    "2026-09-03T11:30:00.000Z",
    "2026-08-27T12:00:00.000Z",
    "2026-09-03T11:59:15.000Z",
  ]);
  expect(["2026-09-01", "2026-09-01 12:30", "2026-09-01T12:30:15.5Z", "2026-09-01T12:30+02:00"].map(time)).toEqual([
    "2026-09-01T00:00:00.000Z",
    "2026-09-01T12:30:00.000Z",
    "2026-09-01T12:30:15.500Z",
    "2026-09-01T10:30:00.000Z",
  ]);
  for (const text of ["", "2", "2y", "-2h", "2026-13-01", "2026-09-01T25:00", "1 Sep"])
    expect(() => time(text), text).toThrow("Expected a time");
});

test("a pattern that would try for years is stopped, and the command says how to write it", async () => {
  const { path: cwd, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  await store.conversation("cnv_long").append(`${"a".repeat(60)}b`);
  const { code, stderr } = await turnlogHere(["log", "cnv_long", "--grep", "^(a+)+$"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toBe(
    "turnlog: --grep: '^(a+)+$' takes longer than 1 s on the texts of one event: avoid a repetition inside a repetition\n",
  );
  const sound = await turnlogHere(["log", "cnv_long", "--grep", "^a+b$", "--json"], { cwd });
  expect(sound.stdout).toContain('"revision":1');
});
