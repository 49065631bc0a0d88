import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { lingerMs } from "../../../src/apps/cli/program.ts";
import { resumeDocument } from "../../../src/apps/documents/running.ts";
import { objectOf, omitMembers } from "../../../src/base/json.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { startTurnlog, turnlog } from "../../support/cli/command-process.ts";
import { changedData } from "../../support/log/changed-data.ts";
import type { Outcome } from "../../support/outcome.ts";
import { built, startAside, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { eventsOf, typesOf } from "../../support/workshop.ts";

/** For the command in this process, and for one of its own: each has a copy of turnlog. */
const stack = join(import.meta.dirname, "../../support/cli/cut-off-stack.ts");
const builtStack = supportFile("cli/cut-off-stack.ts");

type Kind = "inference" | "tool" | "none";
type Phase = "before" | "after";

/** What a process that was killed at an effect has left, once for each of them. */
const templates = mkdtempSync(join(tmpdir(), "turnlog-"));
afterAll(() => {
  rmSync(templates, { recursive: true, force: true });
});

async function templateOf(kind: Kind, phase: Phase): Promise<string> {
  const template = join(templates, `${kind} ${phase}`);
  if (existsSync(template)) return template;
  mkdirSync(template);
  const store = `sqlite:${join(template, "turnlog.db")}`;
  const { child, closed } = startAside("cli/cut-off-process.ts", [store, kind, phase]);
  await closed;
  expect(child.signalCode).toBe(kind === "none" ? null : "SIGKILL");
  return template;
}

/** A store with one conversation, whose run was killed at an effect. */
async function cutOff(kind: Kind, phase: Phase) {
  const folder = temporaryFolder();
  const path = folder.file("turnlog.db");
  cpSync(await templateOf(kind, phase), folder.path, { recursive: true });
  return {
    folder: folder.path,
    store: `sqlite:${path}`,
    resume: (args: readonly string[]) => turnlogHere(["resume", "cnv_cutoff", ...args], { cwd: folder.path }),
    resumeAside: (args: readonly string[]) => turnlog(["resume", "cnv_cutoff", ...args], { cwd: folder.path }),
    show: (args: readonly string[] = []) => turnlogHere(["show", "cnv_cutoff", ...args], { cwd: folder.path }),
    async types() {
      const store = await openStore(`sqlite:${path}`);
      const types = typesOf(await eventsOf(store.conversation("cnv_cutoff")));
      await store.close();
      return types;
    },
  };
}

const resumedSchema = z.strictObject({ version: z.literal(1), data: resumeDocument });

const oneLine = (text: string): boolean => /^turnlog: [^\n]+\n$/.test(text);

test("finishes a run that was cut off, and says what it did; again there is nothing to do", async () => {
  const world = await cutOff("inference", "after");
  const outcome = await world.resumeAside(["--stack", builtStack]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toMatch(/^run_\w+ {2}completed: 2 requests, 1 tool\nDone: "took 5 euros"\n$/);
  const types = await world.types();
  expect(types.at(-1)).toBe("RunCompleted");
  const again = await world.resume(["--stack", stack]);
  expect(again).toEqual({ code: 0, stdout: "", stderr: "no run of cnv_cutoff was cut off: nothing to do\n" });
  expect(await world.types()).toEqual(types);
});

/** A module whose engine comes with a server that listens as long as its process lives. */
function listeningStack(folder: string, more = ""): string {
  const path = join(folder, "listening.ts");
  writeFileSync(
    path,
    `import { createServer } from "node:net";
     export { engine } from "${builtStack}";
     createServer().listen(0, "127.0.0.1");
     ${more}`,
  );
  return path;
}

test("ends also where the module keeps a server open, after an answer and after an error", async () => {
  const world = await cutOff("inference", "after");
  const listening = listeningStack(world.folder);
  expect(await world.resumeAside(["--stack", listening])).toMatchObject({ code: 0, stderr: "" });
  const refused = await turnlog(["resume", "cnv_nobody", "--stack", listening], { cwd: world.folder });
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect(oneLine(refused.stderr)).toBe(true);
});

test("a reader that is slow gets all of the answer where the module keeps a server open", async () => {
  const world = await cutOff("inference", "after");
  // The module's time is over at once, and it says so.
  const impatient = `const later = globalThis.setTimeout;
    globalThis.setTimeout = (run, ms) =>
      ms === ${lingerMs} ? later(() => { run(); later(() => process.stderr.write("waited\\n"), 0); }, 0) : later(run, ms);`;
  const typed = ["resume", "cnv_cutoff", "--stack", listeningStack(world.folder, impatient)];
  const letters = 1_000_000;
  const { child, ended } = startTurnlog(typed, { cwd: world.folder, env: { TAIL: String(letters) } });
  child.stdout?.pause();
  child.stderr?.once("data", () => child.stdout?.resume());
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "waited\n" });
  expect(stdout.endsWith(`${"!".repeat(letters)}\n`)).toBe(true);
});

test("gives a run up by hand: what it did stays, every call is answered, and the next run begins anew", async () => {
  const world = await cutOff("tool", "after");
  const both = await world.resume(["--abandon", "--stack", stack]);
  expect(both).toMatchObject({ code: 2 });
  expect(both.stderr).toMatch(/'--abandon' cannot be used with option '--stack <stack>'/);
  const outcome = await world.resume(["--abandon", "--json"]);
  const { status, runId } = resumedSchema.parse(documentOf(outcome)).data;
  expect(status).toBe("abandoned");
  expect(runId).toMatch(/^run_/);
  expect((await world.types()).slice(-2)).toEqual(["ToolFinished", "RunFailed"]);
  const again = await world.resume(["--abandon"]);
  expect(again).toEqual({ code: 0, stdout: "", stderr: "no run of cnv_cutoff was cut off: nothing to do\n" });
});

const shownSchema = z.object({
  data: z.object({
    run: z
      .object({
        state: z.string(),
        owner: z
          .strictObject({ host: z.string(), pid: z.int(), life: z.enum(["alive", "dead", "unknown"]).nullable() })
          .nullable(),
        lastEventAt: z.iso.datetime(),
        openCalls: z.array(z.strictObject({ blockId: z.string(), name: z.string(), isStarted: z.boolean() })),
        inDoubt: z.array(z.strictObject({ blockId: z.string(), name: z.string() })),
      })
      .nullable(),
    serverContexts: z.array(z.object({ relation: z.string() })),
  }),
});
const shownOf = (outcome: Outcome) => shownSchema.parse(documentOf(outcome)).data;

test("show names the owner of a run that was cut off, what it was doing, and what it continues from", async () => {
  const world = await cutOff("tool", "after");
  const cut = (await world.show()).stdout;
  expect(cut).toMatch(/Run run_\w+, open since @\d+: works on 2 blocks, the first 1 as above\n/);
  expect(cut).toMatch(/\n {2}its process \d+ on \S+ is dead: `turnlog resume` continues the run\n/);
  expect(cut).toMatch(/\n {2}started, not answered: charge, run_\w+\/0\.0\/0\n/);
  expect(cut).toMatch(/resp_\w+ .* 2 blocks +a prefix of the Turn\n/);
  const { run, serverContexts } = shownOf(await world.show(["--json"]));
  expect(run).toMatchObject({ state: "open", owner: { host: hostname(), life: "dead" }, inDoubt: [] });
  expect(run?.openCalls).toMatchObject([{ name: "charge", isStarted: true }]);
  expect(serverContexts.map(({ relation }) => relation)).toEqual(["turn"]);

  await world.resume(["--stack", stack]);
  const parked = shownOf(await world.show(["--json"]));
  expect(parked.run).toMatchObject({ state: "parked", owner: null, inDoubt: [{ name: "charge" }] });
  expect(parked.serverContexts.map(({ relation }) => relation)).toEqual(["turn"]);
  const told = (await world.show()).stdout;
  expect(told).toMatch(/a prefix of the Turn\n/);
  // Said once, with what to type.
  expect(told).not.toContain("not answered");
});

test("ls tells a run that was cut off, one that waits for people, and one that may go on", async () => {
  const world = await cutOff("tool", "before");
  const list = async () => (await turnlogHere(["ls"], { cwd: world.folder })).stdout;
  expect(await list()).toContain("[run cut off] ");
  await world.resume(["--stack", stack]);
  expect(await list()).toContain("[run is parked: 1 call to settle] ");
  await world.resume(["--settle", "charge=rerun"]);
  expect(await list()).toContain("[run is decided: `turnlog resume` goes on with it] ");
  await world.resume(["--stack", stack]);
  expect(await list()).not.toContain("run ");
});

test("show says nothing of what became of a process where it looks at the past", async () => {
  const world = await cutOff("tool", "after");
  await world.resume(["--stack", stack]);
  const revision = (await world.types()).indexOf("ToolStarted");
  const past = await turnlogHere(["show", `cnv_cutoff@${revision}`], { cwd: world.folder });
  expect(past.stdout).toMatch(/\n {2}its process was \d+ on \S+\n/);
});

test("show says when a process on another machine last showed a sign of life", async () => {
  const world = await cutOff("tool", "after");
  const database = new DatabaseSync(`${world.folder}/turnlog.db`);
  const started = database.prepare("SELECT data FROM events WHERE type = 'RunStarted'").get();
  const { data } = changedData(
    { encoding: "lines", type: "RunStarted", version: 1, data: String(started?.["data"]) },
    (told) => ({
      ...told,
      owner: { ...omitMembers(objectOf(told["owner"]), new Set(["lease"])), bootId: "another", host: "elsewhere" },
    }),
  );
  database.prepare("UPDATE events SET data = ? WHERE type = 'RunStarted'").run(data);
  database.close();
  expect((await turnlogHere(["ls"], { cwd: world.folder })).stdout).toContain("[run open on another machine] ");
  expect((await world.show()).stdout).toMatch(
    /\n {2}its process \d+ on elsewhere has shown no sign of life since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\n/,
  );
});

test("a call in doubt parks the run; the output says what to type, and that settles it", async () => {
  const world = await cutOff("tool", "after");
  const parked = await world.resume(["--stack", stack]);
  expect(parked.code).toBe(1);
  const [, blockId = ""] = /--settle (\S+)=rerun/.exec(parked.stdout) ?? [];
  expect(parked.stdout).toContain('charge {"euros":5}');
  for (const how of ["rerun", "abandon", "result:TEXT"])
    expect(parked.stdout).toContain(`--settle ${blockId}=${how}\n`);
  expect((await world.show()).stdout).toContain(`, parked since @`);
  expect((await world.show()).stdout).toContain(`in doubt: charge, settled by --settle ${blockId}=`);

  const settled = await world.resume(["--settle", `${blockId}=result:took 5 euros, says the bank`]);
  expect(settled).toMatchObject({ code: 0, stderr: `settled: ${blockId}\n` });
  expect(settled.stdout).toContain("can continue: resume it with --stack FILE");
  const finished = await world.resume(["--stack", stack, "--json"]);
  expect(resumedSchema.parse(documentOf(finished))).toMatchObject({
    version: 1,
    data: {
      conversation: "cnv_cutoff",
      status: "completed",
      text: 'Done: "took 5 euros, says the bank"',
      // The script of this process does not know the response of the other: it is asked for all.
      did: { requests: 2, tools: 0 },
      inDoubt: [],
    },
  });
  expect((await world.show(["--json"])).code).toBe(0);
});

test("settles and finishes at once, and repeats the call with --settle rerun", async () => {
  const world = await cutOff("tool", "before");
  const parked = documentOf(await world.resume(["--stack", stack, "--json"]));
  const blockId = resumedSchema.parse(parked).data.inDoubt[0]?.blockId ?? "";
  const outcome = await world.resume(["--stack", stack, "--settle", `${blockId}=rerun`]);
  expect(outcome.stdout).toContain('Done: "took 5 euros"');
  expect((await world.types()).filter((type) => type === "ToolStarted")).toHaveLength(2);
});

test.each([
  ["rerun", 'Done: "took 5 euros"', 1],
  ["result:took 5 euros, says the bank", 'Done: "took 5 euros, says the bank"', 0],
] as const)(
  "a call that had begun in a process that is dead is settled without a resume before: %s",
  async (how, text, tools) => {
    const world = await cutOff("tool", "before");
    const outcome = await world.resume(["--stack", stack, "--settle", `charge=${how}`, "--json"]);
    expect(resumedSchema.parse(documentOf({ ...outcome, stderr: "" })).data).toMatchObject({
      ...{ status: "completed", text, inDoubt: [], did: { tools } },
    });
    expect((await world.types()).filter((type) => type === "ToolParked")).toHaveLength(1);
    expect((await turnlogHere(["verify"], { cwd: world.folder })).stdout).toContain("all sound");
    expect(await turnlogHere(["replay", "cnv_cutoff", "--stack", stack], { cwd: world.folder })).toMatchObject({
      code: 0,
    });
  },
);

test("a settlement is reported even if the run cannot continue afterwards", async () => {
  const world = await cutOff("tool", "before");
  vi.stubEnv("WITH_LAYER", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const outcome = await world.resume(["--stack", stack, "--settle", "charge=abandon"]);
  expect(outcome.stderr).toMatch(/^settled: run_\w+\/0\.0\/0\nturnlog: run run_\w+ cannot continue: [^\n]+\n$/);
  expect((await world.types()).at(-1)).toBe("ToolSettled");
});

test("a call is settled by the name of its tool, and not by both of its names", async () => {
  const world = await cutOff("tool", "before");
  const parked = documentOf(await world.resume(["--stack", stack, "--json"]));
  const blockId = resumedSchema.parse(parked).data.inDoubt[0]?.blockId ?? "";
  const twice = await world.resume(["--settle", `${blockId}=rerun`, "--settle", "charge=rerun"]);
  const message = `turnlog: --settle names ${blockId} twice, once as charge: name it once\n`;
  expect(twice).toEqual({ code: 2, stdout: "", stderr: message });
  const settled = await world.resume(["--settle", "charge=rerun"]);
  expect(settled).toMatchObject({ code: 0, stderr: `settled: ${blockId}\n` });
});

test("a call that is settled twice is refused before anything is written", async () => {
  const world = await cutOff("tool", "before");
  const parked = documentOf(await world.resume(["--stack", stack, "--json"]));
  const blockId = resumedSchema.parse(parked).data.inDoubt[0]?.blockId ?? "";
  const before = await world.types();
  for (const second of ["abandon", "rerun"]) {
    const outcome = await world.resume(["--settle", `${blockId}=rerun`, "--settle", `${blockId}=${second}`]);
    expect(outcome).toEqual({
      code: 2,
      stdout: "",
      stderr: `turnlog: --settle names ${blockId} twice: name it once\n`,
    });
  }
  expect(await world.types()).toEqual(before);
});

test("a call in doubt is waited for with another stack too", async () => {
  const world = await cutOff("tool", "after");
  vi.stubEnv("WITH_LAYER", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const parked = await world.resume(["--stack", stack, "--json"]);
  expect(resumedSchema.parse(documentOf(parked)).data).toMatchObject({
    ...{ status: "parked", inDoubt: [{ name: "charge" }], waitingFor: [{ kind: "doubt", name: "charge" }] },
  });
});

test.each([
  // While a call is in doubt nobody looks at the stack.
  ["another stack", "inference", { WITH_LAYER: "1" }, 1, /run_\w+ cannot continue: /],
  [
    "a tool that is gone",
    "tool",
    { WITHOUT_TOOL: "1" },
    1,
    /charge, but this engine has no such tool; add the tool, or abandon/,
  ],
] as const)("%s is told in one line, and changes nothing", async (_, kind, env, code, told) => {
  const world = await cutOff(kind, "after");
  const before = await world.types();
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const outcome = await world.resume(["--stack", stack]);
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toMatch(told);
  expect(oneLine(outcome.stderr)).toBe(true);
  expect(await world.types()).toEqual(before);
});

test("a run whose process lives is left to it, unless it is to be taken over", async () => {
  const folder = temporaryFolder();
  const store = await openStore(`sqlite:${folder.file("turnlog.db")}`);
  const conversation = store.conversation("cnv_cutoff");
  await conversation.append("Charge me.");
  const held = Promise.withResolvers<null>();
  const begun = Promise.withResolvers<undefined>();
  const provider = scripted(["too late"]);
  const gate: Interceptor = async ({ kind }) => {
    if (kind !== "inference") return null;
    begun.resolve(undefined);
    return held.promise;
  };
  const ended = conversation.run(createEngine({ provider }), interceptedBy(gate, {})).catch((error: unknown) => error);
  await begun.promise;
  const plain = folder.file("plain.ts");
  writeFileSync(
    plain,
    `import { createEngine } from "${built}/index.js";
     import { scripted } from "${built}/entries/testing.js";
     export default createEngine({ provider: scripted(["in time"]) });`,
  );
  const typed = ["resume", "cnv_cutoff", "--stack", plain];
  const refused = await turnlog(typed, { cwd: folder.path });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`is in progress by process ${process.pid} on `);
  expect(oneLine(refused.stderr)).toBe(true);
  const shown = await turnlog(["show", "cnv_cutoff"], { cwd: folder.path });
  expect(shown.stdout).toContain(`\n  its process ${process.pid} on ${hostname()} is alive\n`);
  expect((await turnlog(["ls"], { cwd: folder.path })).stdout).toContain("[running] ");
  const taken = await turnlog([...typed, "--takeover"], { cwd: folder.path });
  expect(taken).toMatchObject({ code: 0, stderr: "" });
  expect(taken.stdout).toContain("in time");
  held.resolve(null);
  expect(await ended).toMatchObject({ code: "run-taken-over" });
  await store.close();
});

test.each(["resume cnv_cutoff --stack", "replay cnv_cutoff --with"])(
  "%s refuses an engine that another copy of turnlog made, and says what to do",
  async (command) => {
    const world = await cutOff("inference", "after");
    const before = await world.types();
    const outcome = await turnlog([...command.split(" "), otherCopy()], {
      cwd: world.folder,
      env: { TURNLOG_STORE: world.store },
    });
    expect(outcome).toMatchObject({ code: 2, stdout: "" });
    expect(outcome.stderr).toMatch(/another copy of turnlog .* npx turnlog/);
    expect(oneLine(outcome.stderr)).toBe(true);
    expect(await world.types()).toEqual(before);
  },
);

/** The same stack, on a copy of turnlog of its own, as a project has one beside a global command. */
function otherCopy(): string {
  const project = temporaryFolder();
  cpSync(built, project.file("copy"), { recursive: true });
  writeFileSync(project.file("package.json"), JSON.stringify({ type: "module" }));
  return join(project.file("copy"), relative(built, builtStack));
}

test.each([
  ["nothing to go on with", [], 2, /name the run's engine with --stack FILE/],
  [
    "a settlement without sense",
    ["--settle", "blk=perhaps"],
    2,
    /Expected CALL=rerun, CALL=abandon or CALL=result:TEXT/,
  ],
  ["a block that is not in doubt", ["--settle", "blk_1=rerun"], 3, /'blk_1' is not in doubt/],
  ["a file that is not there", ["--stack", "nowhere.ts"], 3, /nowhere\.ts/],
  ["a file that exports no engine", ["--stack", join(built, "index.js")], 2, /exports no engine/],
] as const)("%s is told in one line, with what to do", async (_, args, code, told) => {
  const world = await cutOff("none", "before");
  const before = await world.types();
  const outcome = await world.resume(args);
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toMatch(told);
  expect(oneLine(outcome.stderr)).toBe(true);
  expect(await world.types()).toEqual(before);
});

test("without --stack, resume takes the engine of the configuration, as run does", async () => {
  const world = await cutOff("inference", "before");
  const configure = (config: object): void =>
    writeFileSync(join(world.folder, "turnlog.config.json"), JSON.stringify(config));
  const other = { wire: "responses", model: "m" };
  configure({ engines: { support: stack }, providers: { other }, engine: "othr" });
  expect(await world.resume([])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("othr") as unknown,
  });
  configure({ engines: { support: stack, spare: { provider: "other" } }, providers: { other } });
  expect((await world.resume([])).stderr).toMatch(/which of support, spare, other.*--stack, or as "engine"/);
  expect((await world.resume(["--stack", "suport"])).stderr).toContain("suport");
  configure({ engines: { support: stack }, providers: { other } });
  const resumed = await world.resume([]);
  expect(resumed).toMatchObject({ code: 0, stderr: "" });
  expect(resumed.stdout).toContain("completed");
  expect((await turnlogHere(["resume", "--all"], { cwd: world.folder })).stderr).toContain("nothing to do");
});

test("--settle alone goes on with nothing, also if the configuration has an engine", async () => {
  const world = await cutOff("tool", "before");
  writeFileSync(join(world.folder, "turnlog.config.json"), JSON.stringify({ engines: { support: stack } }));
  expect((await world.resume(["--settle", "charge=rerun"])).stdout).toContain("can continue");
  expect((await world.types()).at(-1)).toBe("ToolSettled");
});

test("--all finishes the run of every conversation that was cut off, and says so of each", async () => {
  const world = await cutOff("inference", "before");
  const all = (args: readonly string[] = []) => turnlogHere(["resume", "--all", ...args], { cwd: world.folder });
  expect(await all()).toMatchObject({ code: 2 });
  expect(await turnlogHere(["resume", "cnv_cutoff", "--all", "--stack", stack], { cwd: world.folder })).toMatchObject({
    code: 2,
  });
  const resumed = await all(["--stack", stack, "--json"]);
  expect(resumed.code).toBe(0);
  expect(resumedSchema.parse(documentOf(resumed))).toMatchObject({
    data: { conversation: "cnv_cutoff", status: "completed" },
  });
  expect(await all(["--stack", stack])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "no run was cut off: nothing to do\n",
  });
});
