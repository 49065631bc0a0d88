import { expect, onTestFinished, test } from "vitest";
import { message, type ScriptedAnswer, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { openStore } from "../../src/conversation/open-store.ts";
import { turnlogHere } from "../support/cli/command.ts";
import { startTurnlog } from "../support/cli/command-process.ts";
import { start, supportFile } from "../support/process.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";
import { eventsOf, typesOf } from "../support/workshop.ts";

const stack = supportFile("cli/background-stack.ts");

/** A process that waits for what its server still makes, and what another one sees and does meanwhile. */
async function waiting(transport: "json" | "sse") {
  const made = Promise.withResolvers<ScriptedAnswer>();
  const server = await startReferenceServer({ answer: () => made.promise });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const folder = temporaryFolder();
  const url = `sqlite:${folder.file("turnlog.db")}`;
  const asks = { BASE_URL: server.baseUrl, TRANSPORT: transport };
  const env = { ...process.env, ...asks };
  const first = start(process.execPath, [supportFile("cli/background-process.ts"), url], { env });
  const store = await openStore(url);
  onTestFinished(() => store.close());
  const conversation = store.conversation("cnv_background");
  const types = async () => typesOf(await eventsOf(conversation));
  await expect.poll(types, { timeout: 30_000 }).toContain("ResponseStarted");
  return {
    ...{ server, first, store, types },
    answer: () => made.resolve({ output: [message("Forty-two.")] }),
    look: (...words: readonly string[]) => turnlogHere(words, { cwd: folder.path }),
    resume: () => startTurnlog(["resume", "cnv_background", "--stack", stack], { cwd: folder.path, env: asks }),
    asked: () => server.requests.map(({ method, path }) => `${method} ${path.replace(/resp_\w+/, "id")}`),
  };
}

const begun = ["ConversationStarted", "BlockAppended", "SettingsDeclared", "RunStarted", "InferenceRequested"];

test.each(["json", "sse"] as const)(
  "a response that is made in the background is waited for by the process that takes the run up, by %s",
  { timeout: 120_000 },
  async (transport) => {
    const { server, first, store, types, answer, look, resume, asked } = await waiting(transport);
    first.child.kill("SIGKILL");
    await first.ended;
    expect((await look("show", "cnv_background")).stdout).toMatch(/ is dead: `turnlog resume` continues the run\n/);
    const before = server.requests.length;
    const second = resume();
    await expect.poll(() => server.requests.length, { timeout: 30_000 }).toBeGreaterThan(before);
    expect(await types()).toEqual([...begun, "ResponseStarted", "RunResumed"]);
    expect((await look("show", "cnv_background")).stdout).toMatch(
      / {2}waits for resp_\w+, which openai-responses http:\S+ is making\n/,
    );
    answer();
    const resumed = await second.ended;
    expect(resumed).toMatchObject({ code: 0, stderr: "" });
    expect(resumed.stdout).toMatch(/^run_\S+ {2}completed: 1 response fetched\nForty-two\.\n$/);
    expect(await types()).toEqual([...begun, "ResponseStarted", "RunResumed", "ResponseReceived", "RunCompleted"]);
    expect(asked().filter((each) => !each.startsWith("GET "))).toEqual(["POST /v1/responses"]);
    const continued = asked().filter((each) => each.includes("starting_after"));
    if (transport === "sse") expect(continued).toEqual([expect.stringContaining("GET /v1/responses/id?stream=true")]);
    else expect(continued).toEqual([]);
    expect((await store.verify()).problems).toEqual([]);
  },
);

test.each(["json", "sse"] as const)(
  "who looks on while a process waits disturbs nothing, and may not take its run, by %s",
  { timeout: 120_000 },
  async (transport) => {
    const { first, types, answer, look, resume, asked } = await waiting(transport);
    const shown = await look("show", "cnv_background");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/resp_\w+ goes on at the server\n/);
    expect(shown.stdout).toMatch(/its process \d+ on \S+ is alive\n/);
    expect((await look("log", "cnv_background")).stdout).toMatch(/resp_\w+ goes on at the server\n$/);
    expect((await look("ls")).stdout).toContain("[running]");
    const refused = await resume().ended;
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^turnlog: run run_\S+ is in progress by process \d+ on /);
    answer();
    expect(await first.ended).toEqual({ code: 0, stdout: "Forty-two.\n", stderr: "" });
    expect(await types()).toEqual([...begun, "ResponseStarted", "ResponseReceived", "RunCompleted"]);
    expect(asked().filter((each) => !each.startsWith("GET "))).toEqual(["POST /v1/responses"]);
  },
);
